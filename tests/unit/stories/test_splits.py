"""The splits hold out what they say, in the sizes they say, and always the same."""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.models.encoders import load_encoder
from moralscope.stories.reading import read_stories
from moralscope.stories.split import audit_leaks
from moralscope.stories.splits import (
    bias_scores,
    biased_lemmas,
    build_split,
    cluster_norms,
    official_parts,
    overlap,
    pair_distances,
    part_of,
)
from moralscope.stories.story import MoralStory

THINGS = ("bike", "lamp", "plant", "key", "boat", "drum", "coat", "ring", "kite", "vase", "bell")


def story(number, **changes):
    thing = THINGS[number % len(THINGS)]
    made = MoralStory(
        f"S{number:03}",
        f"You should return the {thing} number {number}.",
        moral_action=f"Ana helps and brings the {thing} back to {number}.",
        immoral_action=f"Ana refuses and sells the {thing} of {number} "
        + "far away " * (number % 4),
    )
    return replace(made, **changes)


@pytest.fixture
def stories():
    return [story(number) for number in range(48)]


@pytest.mark.parametrize("split", ["norm_distance", "lexical_bias", "minimal_pairs"])
def test_sizes_are_one_in_twelve_and_order_does_not_matter(split, stories):
    encoder = load_encoder("scripted")
    built = build_split(stories, split, encoder=encoder)
    assert Counter(built.parts.values()) == {"train": 40, "dev": 4, "test": 4}
    turned = build_split(stories[::-1], split, encoder=encoder)
    assert turned.parts == built.parts
    means = built.means()
    if split == "norm_distance":
        assert means["test"] >= means["dev"] >= means["train"]
    else:
        assert means["test"] <= means["dev"] <= means["train"]


def test_minimal_pairs_count_words_and_transpositions():
    pairs = {
        "swap": ("Bo tells Al no", "Bo Al tells no", 1 / 4),
        "same": ("Bo waits.", "Bo waits!", 0.0),
        "other": ("Bo waits", "Ann runs off", 1.0),
    }
    made = [MoralStory(k, moral_action=a, immoral_action=b) for k, (a, b, _) in pairs.items()]
    assert pair_distances(made, "action") == {k: d for k, (_, _, d) in pairs.items()}


def test_a_biased_lemma_counts_once_and_on_its_own_side():
    made = [
        MoralStory(str(n), moral_action="Al helps and helps.", immoral_action="Al yelled.")
        for n in range(3)
    ]
    made.append(MoralStory("x", moral_action="Al yells.", immoral_action="Al helps."))
    made.append(MoralStory("half", moral_action="Al helps."))
    biased = biased_lemmas(made, "action")
    assert biased == {"help": (6, 1), "yell": (1, 3)}
    assert bias_scores(made, "action", biased) == {"0": 2.0, "1": 2.0, "2": 2.0, "x": 0.0}


class Circle:
    """Norms on a circle, so that isolation can be worked out by hand."""

    arithmetic = "float32"

    name, checksum, dimension = "circle", "0", 2

    def encode(self, texts):
        angles = np.radians([float(text) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_isolation_is_the_cosine_distance_to_the_nearest_other_centroid(monkeypatch):
    monkeypatch.setattr("moralscope.stories.splits.FEWEST_CLUSTERS", 3)
    made = [MoralStory(str(n), norm) for n, norm in enumerate(["0", "2", "40", "42", "170"])]
    found = cluster_norms(made, Circle())
    assert found.of["0"] == found.of["1"] != found.of["2"] == found.of["3"]
    assert found.scores["0"] == pytest.approx(1 - np.cos(np.radians(40)), abs=1e-6)
    assert found.scores["4"] == pytest.approx(1 - np.cos(np.radians(129)), abs=1e-6)


def test_a_norm_cluster_stays_in_one_part(stories):
    same = [replace(story, norm=f"Norm {n // 2}.") for n, story in enumerate(stories)]
    built = build_split(same, "norm_distance", encoder=load_encoder("scripted"))
    clusters = {}
    for number, item in enumerate(same):
        clusters.setdefault(number // 2, set()).add(built.parts[item.id])
    assert all(len(parts) == 1 for parts in clusters.values())
    assert Counter(built.parts.values())["test"] == 4


@pytest.mark.parametrize("norms", [1, 2, 3, 5])
def test_few_norms_are_never_cut_and_the_record_says_what_that_costs(stories, norms):
    few = [replace(story, norm=f"Norm {n % norms}.") for n, story in enumerate(stories)]
    encoder = load_encoder("scripted")
    built = build_split(few, "norm_distance", encoder=encoder)
    sides = {}
    for item in few:
        sides.setdefault(item.norm, set()).add(built.parts[item.id])
    assert all(len(parts) == 1 for parts in sides.values())
    assert "train" in built.parts.values()
    assert set(built.parts.values()) == set(("train", "test", "dev")[:norms])
    assert any("norms are held out whole" in note for note in built.notes)
    leaks = audit_leaks(few, "norm", {"mine": built.parts})
    assert sum(leak.exact for leak in leaks) == 0


def test_consequence_splits_leave_out_stories_without_consequences(stories):
    some = [
        replace(item, moral_consequence="All is well.", immoral_consequence="It hurts " * n)
        for n, item in enumerate(stories[:12], 1)
    ]
    built = build_split([*some, *stories[12:]], "minimal_pairs", "consequence")
    assert set(built.parts) == {item.id for item in some}
    assert Counter(built.parts.values()) == {"train": 6, "dev": 3, "test": 3}


def test_official_membership_comes_before_ours():
    given = [
        story(n, splits={"action": {"minimal_pairs": part}})
        for n, part in enumerate(["train", "test", "dev", None])
    ]
    assert part_of(given, "minimal_pairs") == {"S000": "train", "S001": "test", "S002": "dev"}


def test_the_rest_is_train_where_only_dev_and_test_are_known():
    given = [
        story(n, splits={"consequence": {"lexical_bias": part}})
        for n, part in enumerate([None, "test", "dev"])
    ]
    assert part_of(given, "lexical_bias", "consequence")["S000"] == "train"
    assert official_parts(given, "lexical_bias", "action") == {}


def test_norm_distance_is_shared_by_both_kinds():
    given = [story(0, splits={"action": {"norm_distance": "train"}})]
    assert part_of(given, "norm_distance", "consequence") == {"S000": "train"}


def test_without_membership_ours_is_built(stories):
    assert part_of(stories, "lexical_bias") == build_split(stories, "lexical_bias").parts
    with pytest.raises(InputError, match="stories split --membership"):
        part_of(stories, "norm_distance")


@pytest.mark.parametrize(("split", "kind"), [("norm_dist", "action"), ("lexical_bias", "acts")])
def test_unknown_splits_are_refused(split, kind, stories):
    with pytest.raises(InputError, match="there is no split"):
        part_of(stories, split, kind)


def test_too_few_stories_are_refused(stories):
    with pytest.raises(InputError, match="only 2 stories"):
        build_split(stories[:2], "minimal_pairs")
    with pytest.raises(InputError, match="only 0 stories have what minimal_pairs of consequences"):
        build_split(stories, "minimal_pairs", "consequence")


def test_overlap_counts_stories_in_the_same_part():
    ours = {"a": "train", "b": "test", "c": "dev"}
    assert overlap(ours, {"a": "train", "b": "dev"}) == {"train": 1, "dev": 0, "test": 0}


def test_leaks_count_held_out_stories_once():
    made = [
        MoralStory("1", "It is rude to shout at a waiter."),
        MoralStory("2", "it is rude to shout at a waiter"),
        MoralStory("3", "It is rude to shout at the waiter."),
        MoralStory("4", "Pay what you owe."),
        MoralStory("5"),
    ]
    parts = {"1": "train", "2": "test", "3": "test", "4": "dev", "5": "test"}
    found = {(leak.part, leak.into): leak for leak in audit_leaks(made, "norm", {"mine": parts})}
    crossing = found["test", "train"]
    assert (crossing.stories, crossing.exact, crossing.near) == (2, 1, 2)
    assert (found["dev", "train"].near, found["test", "dev"].near) == (0, 0)
    strict = audit_leaks(made, "norm", {"mine": parts}, threshold=1.0)[0]
    assert (strict.exact, strict.near) == (1, 1)


def test_leaks_find_twins_of_unequal_length_across_blocks(monkeypatch):
    monkeypatch.setattr("moralscope.stories.split._BLOCK", 2)
    words = [f"{thing} belongs to somebody number {n}" for n, thing in enumerate(THINGS)]
    made = [MoralStory(str(n), text) for n, text in enumerate(words)]
    made.append(MoralStory("twin", words[4] + " too"))
    parts = {item.id: "train" for item in made} | {"twin": "test"}
    assert audit_leaks(made, "norm", {"mine": parts})[0].near == 1


@pytest.fixture(scope="module")
def published():
    root = os.environ.get("MORALSCOPE_DATA")
    if not root:
        pytest.skip("MORALSCOPE_DATA is not set")
    return read_stories(Path(root, "moral_stories", "stories.jsonl")).stories


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("split", "kind", "means", "shared"),
    [
        ("minimal_pairs", "action", (0.85, 0.64, 0.46), 990),
        ("minimal_pairs", "consequence", (0.88, 0.70, 0.54), 950),
        ("lexical_bias", "action", (2.63, 0.78, 0.0), 700),
        ("lexical_bias", "consequence", (None, 1.0, None), 570),  # 5,088 stories lack theirs
    ],
)
def test_table_1_and_the_official_test_part_come_out_again(published, split, kind, means, shared):
    built = build_split(published, split, kind)
    for part, printed in zip(("train", "dev", "test"), means, strict=True):
        if printed is not None:
            assert built.means()[part] == pytest.approx(printed, abs=0.13)
    assert overlap(built.parts, official_parts(published, split, kind))["test"] >= shared


@pytest.mark.realdata
def test_official_consequence_and_action_norm_distance_agree(published):
    for item in published:
        consequence = item.official("consequence", "norm_distance")
        assert consequence in (None, item.official("action", "norm_distance"))
