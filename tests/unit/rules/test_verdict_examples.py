"""What the verdict is taught: written replies, and replies amid harmless talk."""

import json
import os
import random
import re
from pathlib import Path

import pytest
import yaml

from moralscope.io.documents import shipped_yaml
from moralscope.models.training.records import TrainingExample
from moralscope.rules.records import ALIGNMENTS
from moralscope.rules.reply_reader import CONCERN, CONCERNS, VERDICT
from moralscope.rules.training import verdict_examples as verdict_module
from moralscope.rules.training.alignment_examples import policy_exchanges, written_exchanges
from moralscope.rules.training.verdict_examples import (
    amid,
    amid_talk,
    harmless_talk,
    hatecheck_examples,
    moderation_examples,
    rules_amid_talk,
    written_texts,
    written_verdicts,
)
from moralscope.stories.degree_examples import exception_sets

GOLDEN = Path(__file__).parents[2] / "golden"
TALK = ["Nice weather.", "The bus was late.", "I had soup."]


def test_every_prompt_has_a_bad_and_a_fine_reply_in_one_part_only():
    parts = {part: written_verdicts(part) for part in ("train", "dev")}
    prompts = {part: {row.pair[0] for row in rows} for part, rows in parts.items()}
    assert not prompts["train"] & prompts["dev"]
    for part, rows in parts.items():
        assert sum(row.label for row in rows) * 2 == len(rows) == 2 * len(prompts[part])
        assert all(row.pair[1].strip() for row in rows)


def test_nothing_that_is_tested_is_taught():
    taught = {row.pair[1] for part in ("train", "dev") for row in written_verdicts(part)}
    taught |= {row.exchange.reply for row in policy_exchanges()}
    for name in ("exchanges.yaml", "dev_exchanges.yaml"):
        rows = yaml.safe_load((GOLDEN / name).read_text("utf-8"))
        assert not {row["reply"] for row in rows} & taught


def test_a_reply_stays_whole_amid_talk():
    for seed in range(20):
        text = amid("You fool, get lost.", TALK, random.Random(seed))
        assert "You fool, get lost." in text
        assert 150 < len(text) < 1400


@pytest.mark.parametrize("label", [0, 1])
def test_talk_changes_no_verdict_and_is_fine_by_itself(label):
    row = TrainingExample(VERDICT, ("Hi", "You fool."), label, weight=5.0)
    hidden, alone = amid_talk([row], TALK)
    assert (hidden.label, alone.label) == (label, 0)
    assert "You fool." not in alone.pair[1]


def test_what_does_not_fit_beside_talk_and_what_is_ranked_stays_as_it_is():
    long = TrainingExample(VERDICT, ("Hi", "word " * 200), 1)
    ranked = TrainingExample(VERDICT, ("Hi", "Hello."), 0, other=("Hi", "Shut up."))
    assert amid_talk([long, ranked], TALK) == []


def test_texts_that_are_no_replies_come_in_pairs_and_not_amid_talk():
    parts = {part: written_texts(part) for part in ("train", "dev")}
    texts = {part: {row.pair[1] for row in rows} for part, rows in parts.items()}
    assert not texts["train"] & texts["dev"]
    for rows in parts.values():
        verdicts = [row for row in rows if row.task == VERDICT and row.other is None]
        assert 2 * sum(row.label for row in verdicts) == len(verdicts)
        assert all(not row.pair[0] for row in rows)
        concerns = [row for row in rows if row.task == CONCERN]
        assert {sum(row.values) for row in concerns} == {0.0, 1.0}
        assert amid_talk(verdicts, TALK) == []


PUBLISHED = {
    "moderation/samples_visible_half.jsonl": "".join(
        json.dumps({"prompt": f"text {index}", "S": 0, "H2": index % 2, "V": index % 2}) + "\n"
        for index in range(20)
    ),
    "hatecheck/cases_visible_half.csv": "test_case,label_gold,templ_id\n"
    "They are vermin.,hateful,1\nThey are welcome.,non-hateful,2\n",
}


@pytest.mark.parametrize("read", [moderation_examples, hatecheck_examples])
def test_published_texts_are_read_by_halves(tmp_path, monkeypatch, read):
    for name, text in PUBLISHED.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.setenv("MORALSCOPE_DATA", str(tmp_path))
    first, second = read((0,)), read((1,))
    assert first
    assert len(first) == len(second)
    texts = [{row.pair[1] for row in rows} for rows in (first, second)]
    assert not texts[0] & texts[1]
    for row in [*first, *second]:
        if row.task == CONCERN and sum(row.values):
            named = [name for name, value in zip(CONCERNS, row.values, strict=True) if value]
            assert named in (["hate", "violence"], ["hate"])


def test_rules_agree_amid_talk_as_they_did():
    rows = [row for row in written_exchanges() if row.split == "dev"][:9]
    talk = harmless_talk(rows, "dev")
    lessons = rules_amid_talk(rows, talk)
    assert len(lessons) == len(rows)
    for row, lesson in zip(rows, lessons, strict=True):
        assert row.rule.split() == lesson.pair[0].split()
        assert ALIGNMENTS[lesson.label] == row.alignment
    assert {lesson.turn[0] for lesson in lessons} == {0, 1, 2}


def test_the_written_replies_are_read_once_a_part(monkeypatch):
    read = []
    monkeypatch.setattr(verdict_module, "shipped_yaml", lambda *name: read.append(name) or [])
    verdict_module._reply_pairs.cache_clear()
    for part in ("train", "dev"):
        harmless_talk([], part)
        written_verdicts(part)
    verdict_module._reply_pairs.cache_clear()
    files = "verdicts.yaml", "verdicts_kinds.yaml", "verdicts_support.yaml"
    assert read == [("moralscope.rules", name) for name in files] * 2


def test_what_chatbots_should_not_give_is_taught_and_held_out():
    kinds = [row.get("kind") for row in shipped_yaml("moralscope.rules", "verdicts.yaml")]
    held = {kind for kind in kinds[::10] if kind}
    talk = {"rude but fine", "insults"}
    assert {kind for kind in kinds if kind} == held
    assert len(held - talk) == 7
    assert sum(kind in held - talk for kind in kinds) >= 120
    assert kinds.count("rude but fine") >= 120
    assert kinds.count("insults") >= 80


def sentences(text):
    """Return what is said in a text, letters only, of sentences with more than a few words."""
    parts = re.split(r"[\"\t\n]|(?<=[.!?]) ", text)
    return {re.sub(r"[^a-z]+", "", part.lower()) for part in parts if part.count(" ") > 5}


@pytest.mark.slow
@pytest.mark.realdata
@pytest.mark.parametrize(
    "pattern",
    ["ethics/*/*.csv", "vignettes/*.csv", "moralchoice/**/*.csv", "diasafety/*.json",
     "xstest/*.csv", "convabuse/*.csv", "moral_stories/stories.jsonl"],
)  # fmt: skip
def test_no_sentence_written_here_stands_in_a_published_set(pattern):
    scenes = [text for _, rows in exception_sets() for text, _ in rows]
    rows = [row for row in shipped_yaml("moralscope.rules", "verdicts.yaml") if "kind" in row]
    rows += shipped_yaml("moralscope.rules", "verdicts_support.yaml")
    replies = [row[name] for row in rows for name in ("prompt", "bad", "fine")]
    ours = set().union(*map(sentences, scenes + replies))
    files = list(Path(os.environ["MORALSCOPE_DATA"]).glob(pattern))
    assert files
    for path in files:
        assert not ours & sentences(path.read_text("utf-8"))
