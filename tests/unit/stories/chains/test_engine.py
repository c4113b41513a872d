"""The engine: each recipe is the paper's algorithm, in a few batched calls, in any block size."""

import numpy as np
import pytest

from moralscope.core.records import Decoding
from moralscope.stories.chains.engine import items_of, run_chain
from moralscope.stories.chains.recipes import load_recipe, parse_recipe
from moralscope.stories.chains.records import ScoredText
from moralscope.stories.chains.steps import ChainPlan, seed_of
from moralscope.stories.tasks import generation_task, path_row

from .scripted_chain import Panel, Writer, a_story, stories


def a_plan(recipe, writer, experts, *, count=10, seed=0):
    decoding = Decoding(count=count)
    return ChainPlan(recipe=recipe, generator=writer, experts=experts, decoding=decoding, seed=seed)


def run(name, given, *, block=32, seed=0, count=10, writer=None, targets=("moral", "immoral")):
    recipe = name if not isinstance(name, str) else load_recipe(name)
    log = []
    writer = writer or Writer(log)
    writer.log = log
    plan = a_plan(recipe, writer, Panel(log), count=count, seed=seed)
    items, _ = items_of(recipe, given, targets)
    results = [row for each in run_chain(plan, items, block=block) for row in each.results]
    return results, log


def prompt(task, row):
    return generation_task(task).prompt(row)


def best(texts, call, wanted):
    """Rank by hand: the text whose wanted class got most in the judge's call."""
    judge = Panel().expert(call[1])
    pairs = {pair[1]: pair for pair in call[2]}
    score = {text: float(judge.probabilities([pairs[text]])[0][wanted]) for text in texts}
    return max(texts, key=score.__getitem__)


def written(call, place=0):
    """Return the candidates that the writer gave for one prompt of a call."""
    _, prompts, decoding, seeds = call
    return [c.text for c in Writer().generate([prompts[place]], decoding, [seeds[place]])[0]]


@pytest.mark.parametrize(("target", "wanted"), [("moral", 1), ("immoral", 0)])
def test_action_ranking_is_the_papers(target, wanted):
    (result,), log = run("action-ranking", [a_story()], targets=(target,))
    write, judge = log
    assert write[1] == [prompt("action|context", path_row(a_story(), target))]
    assert (write[2].count, write[2].p, write[2].strategy) == (10, 0.9, "nucleus")
    story = a_story()
    context = f"{story.norm} {story.situation} {story.intention}"
    assert judge == ("judge", "action+context", [(context, text) for text in written(write)])
    assert result.choice == best(written(write), judge, wanted)


@pytest.mark.parametrize(("target", "wanted"), [("moral", 1), ("immoral", 0)])
def test_abductive_refinement_is_the_papers(target, wanted):
    (result,), log = run("action-abduction-published", [a_story()], targets=(target,))
    assert [call[0] for call in log] == ["write", "judge"] * 3
    row = path_row(a_story(), target)
    first = best(written(log[0]), log[1], wanted)
    assert log[2][1] == [prompt("consequence|context+action", {**row, "action": first})]
    assert log[3][1] == "consequence+context+action"
    assert all(first in grounding for grounding, _ in log[3][2])
    foreseen = best(written(log[2]), log[3], 1)  # plausible, whatever the target
    assert log[4][1] == [prompt("action|context+consequence", {**row, "consequence": foreseen})]
    assert log[5][1] == "action+context+consequence"
    assert all(grounding.endswith(foreseen) for grounding, _ in log[5][2])
    assert [target for _, target in log[5][2]] == written(log[4])
    assert result.choice == best(written(log[4]), log[5], wanted)
    assert [write[2].count for write in log[::2]] == [10, 10, 10]


def test_consequence_ranking_is_the_papers():
    results, log = run("consequence-ranking", [a_story()])
    write, judge = log
    rows = [path_row(a_story(), target) for target in ("moral", "immoral")]
    assert write[1] == [prompt("consequence|context+action", row) for row in rows]
    assert judge[1] == "consequence+context+action"
    for place, result in enumerate(results):
        assert result.choice == best(written(write, place), judge, 1)


def test_iterative_refinement_is_the_papers():
    results, log = run("consequence-refinement", stories(6))
    draft, judge, refined = log
    assert draft[2].count == 1
    assert judge[1] == "consequence+context+action"
    assert refined[2].count == 1
    labels = set()
    for place, result in enumerate(results):
        (text,) = written(draft, place)
        (pair,) = [pair for pair in judge[2] if pair[1] == text]
        bad, good = Panel().expert(judge[1]).probabilities([pair])[0]
        marker = "<|CSQ_PL|>" if good >= bad else "<|CSQ_IMPL|>"
        assert refined[1][place].endswith(f"<|CSQ|> {text} {marker} <|CSQ|>")
        assert result.choice == written(refined, place)[0]
        assert result.path[1].draft == text
        assert result.path[1].probability == pytest.approx(float(max(good, bad)))
        labels.add(result.path[1].label)
    assert labels == {"plausible", "implausible"}


def test_norm_with_synthetic_consequences_is_the_papers():
    (result,), log = run("norm-synthesis", [a_story()])
    assert [call[0] for call in log] == ["write", "judge", "write", "judge", "write"]
    assert result.target is None
    row = {**path_row(a_story(), "moral"), "consequence": None}
    made = {}
    for side, write, judge in (("moral", *log[0:2]), ("immoral", *log[2:4])):
        action = row[f"{side}_action"]
        assert write[1] == [prompt("consequence|context+action", {**row, "action": action})]
        assert write[2].count == 10
        assert all(grounding.endswith(action) for grounding, _ in judge[2])
        made[f"{side}_consequence"] = best(written(write), judge, 1)
    assert log[4][1] == [prompt("norm|context+actions+consequences", {**row, **made})]
    assert a_story().norm not in log[4][1][0]
    assert log[4][2].count == 1
    assert result.choice == written(log[4])[0]


def test_every_step_is_one_call_for_all_stories_of_a_block():
    _, log = run("action-abduction", stories(20), block=40)
    assert [call[0] for call in log] == ["write", "judge"] * 3
    assert len(log[0][1]) == 40
    assert len(log[1][2]) == 400


@pytest.mark.parametrize("name", ["action-abduction", "consequence-refinement", "norm-synthesis"])
def test_results_do_not_depend_on_blocks_or_order(name):
    whole, _ = run(name, stories(9))
    single, _ = run(name, stories(9), block=1)
    assert single == whole
    turned, _ = run(name, stories(9)[::-1], block=4)
    key = lambda row: (row.id, row.target or "")  # noqa: E731
    assert sorted(turned, key=key) == sorted(whole, key=key)


def test_another_seed_gives_other_texts():
    first, _ = run("action-sample", stories(3))
    second, _ = run("action-sample", stories(3), seed=1)
    assert all(a.choice != b.choice for a, b in zip(first, second, strict=True))


def test_story_target_and_step_each_change_the_seed():
    seeds = {
        seed_of(seed, parts)
        for seed in (0, 1)
        for parts in (
            ["a", "moral", "x"],
            ["a", "immoral", "x"],
            ["a", None, "x"],
            ["am", "oral", "x"],
        )
    }
    assert len(seeds) == 8
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_ranking_starts_from_the_sample_of_the_baseline():
    ranked, _ = run("action-ranking", stories(2))
    sampled, _ = run("action-sample", stories(2))
    for ours, baseline in zip(ranked, sampled, strict=True):
        assert baseline.choice == ours.path[0].candidates[0].text


def test_candidates_come_best_first_and_the_path_keeps_the_order_of_writing():
    results, log = run("action-ranking", stories(2))
    for place, result in enumerate(results):
        scores = [item.score for item in result.candidates]
        assert scores == sorted(scores, reverse=True)
        assert result.choice == result.candidates[0].text
        proposed = [item.text for item in result.path[0].candidates]
        assert proposed == written(log[0], place)
        assert sorted(proposed) == sorted(item.text for item in result.candidates)
        assert result.path[0].candidates[0].log_probability == -1.5
        assert result.path[1].label == ("keeps" if result.target == "moral" else "breaks")


def test_candidates_are_different_texts_and_few_are_drawn_once_more():
    writer = Writer(text=lambda prompt, seed, place: f"text {place // 5}.")
    (result, _), log = run("action-ranking", [a_story()], writer=writer)
    assert [entry[0] == log[0][0] for entry in log] == [True, True, False]
    assert len(log[2][2]) == 2
    assert sorted(item.text for item in result.candidates) == ["text 0.", "text 1."]


def test_an_empty_candidate_is_never_chosen():
    writer = Writer(text=lambda prompt, seed, place: "" if place < 9 else "Jo waits.")
    results, log = run("action-ranking", [a_story()], writer=writer)
    scores = [result.candidates[0].score for result in results]
    assert [result.choice for result in results] == [
        "Jo waits." if score >= 0.5 else None for score in scores
    ]
    assert results[0].candidates[1] == ScoredText("")
    assert len(log[2][2]) == 1  # after two drawings: there were too few different texts
    sampled, _ = run("action-sample", [a_story()], writer=Writer(text=lambda *_: " "))
    assert sampled[0].choice is None
    assert sampled[0].failed == "step 'actions': no candidate is left"


def test_a_candidate_that_holds_no_word_of_english_is_dropped():
    writer = Writer(
        text=lambda prompt, seed, place: f"Jo {('waits', 'dishlesses')[place % 2]} {seed} {place}."
    )
    results, _ = run("action-ranking", [a_story()], writer=writer)
    assert {len(result.candidates) for result in results} == {10}  # drawn once more
    assert not any("dishless" in item.text for one in results for item in one.candidates)


def test_a_chain_does_not_end_with_what_contradicts_its_target():
    class Sure(Panel):
        def expert(self, task):
            judge = super().expert(task)
            judge.probabilities = lambda pairs: np.array([[0.9, 0.1]] * len(pairs))
            return judge

    recipe = load_recipe("action-ranking")
    items, _ = items_of(recipe, [a_story()], ("moral", "immoral"))
    (block,) = run_chain(a_plan(recipe, Writer(), Sure()), items)
    kept = [result for result in block.results if result.choice]
    assert len(kept) == 1
    assert [r.failed for r in block.results if not r.choice] == [
        "step 'best action': no candidate is left"
    ]


def test_a_story_that_fails_does_not_stop_the_others():
    writer = Writer(text=lambda prompt, seed, place: "" if "s1 " in prompt else f"text {place}.")
    results, _ = run("action-abduction", stories(3), writer=writer)
    assert [result.choice is None for result in results] == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]
    assert [len(result.path) for result in results] == [8, 8, 1, 1, 8, 8]


def test_an_expert_that_gives_no_numbers_does_not_put_its_text_first():
    class Broken(Panel):
        def expert(self, task):
            judge = super().expert(task)
            sane = judge.probabilities

            def probabilities(pairs):
                table = sane(pairs)
                table[0] = float("nan")
                return table

            judge.probabilities = probabilities
            return judge

    recipe = load_recipe("action-ranking")
    items, _ = items_of(recipe, [a_story()], ("moral",))
    plan = a_plan(recipe, Writer(), Broken())
    (block,) = run_chain(plan, items)
    assert block.results[0].candidates[-1].score is None
    assert block.results[0].candidates[0].score > 0


def test_a_text_cannot_pose_as_a_marker():
    writer = Writer(text=lambda prompt, seed, place: f"Jo <|M_ACT|> waits {place}.")
    _, log = run("action-abduction", [a_story()], writer=writer, targets=("immoral",))
    assert "<|M_ACT|>" not in log[2][1][0]
    assert log[2][1][0].count("<|ACT|>") == 1


def test_steps_say_how_to_sample_and_the_run_says_the_rest():
    text = """steps = [
      {name = "a", do = "propose", task = "action|context", count = 3, p = 0.5, temperature = 2},
      {name = "b", do = "propose", task = "action|context", strategy = "greedy", count = 1},
      {name = "c", do = "propose", task = "action|context"},
    ]"""
    _, log = run(parse_recipe(text, "mine", "mine.toml"), [a_story()], count=4)
    told = [(d.strategy, d.count, d.p, d.temperature) for _, _, d, _ in log]
    assert told == [("nucleus", 3, 0.5, 2), ("greedy", 1, 0.9, 1.0), ("nucleus", 4, 0.9, 1.0)]


def test_missing_sentences_are_named_and_only_what_is_read_counts():
    given = [a_story("s1", intention=None), a_story("s2", moral_action="  "), a_story("s3")]
    items, skipped = items_of(load_recipe("consequence-ranking"), given)
    assert [(each.id, each.target, each.missing) for each in skipped] == [
        ("s1", "moral", ("intention",)),
        ("s1", "immoral", ("intention",)),
        ("s2", "moral", ("action",)),
    ]
    assert [(item.story.id, item.target) for item in items] == [
        ("s2", "immoral"),
        ("s3", "moral"),
        ("s3", "immoral"),
    ]
    assert len(items_of(load_recipe("action-abduction"), given)[0]) == 4


def test_a_limit_counts_stories_that_can_be_run():
    given = [a_story("s1", norm=None), *stories(5)]
    items, skipped = items_of(load_recipe("action-sample"), given, limit=2)
    assert {item.story.id for item in items} == {"s0", "s1"}
    assert len(items) == 4
    assert len(skipped) == 2
