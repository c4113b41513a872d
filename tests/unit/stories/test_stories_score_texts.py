"""Texts of saved runs: read with care, measured, judged by others, compared, beside the paper."""

import json

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import ModelRef
from moralscope.stats.text import bleu
from moralscope.stories.experts import prepare_experts
from moralscope.stories.story import MoralStory
from moralscope.stories.text_metrics import judge_texts, score_texts
from moralscope.stories.text_runs import TextItem, read_texts

STORIES = [
    MoralStory(
        str(number),
        f"It is wrong to leave without paying for {thing}.",
        f"Jo is in a shop with {thing}.",
        f"Jo wants to take {thing} home.",
        f"Jo pays for {thing} at the till and says thanks.",
        f"The owner of {thing} smiles at Jo.",
        f"Jo hides {thing} in a bag and runs.",
        f"Jo is caught with {thing} by the owner.",
    )
    for number, thing in enumerate(["bread", "two apples", "a lamp", "the red hat", "old books"])
]
SIDES = ("moral", "immoral")
KINDS = {"action": "action|context", "consequence": "consequence|action", "norm": "norm|actions"}


def result(of, target, choice, **more):
    return {"id": of.id, "target": target, "choice": choice, "candidates": [], **more}


def action_results(write):
    return [
        result(story, target, write(story, target), reference=story.action(target))
        for story in STORIES
        for target in SIDES
    ]


@pytest.fixture
def saved(tmp_path):
    def save(name, results, *, job="chain", models=(), **config):
        record = {"schema": "moralscope.run/1", "job": job, "config": config, "models": models}
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({**record, "results": results}))
        return path

    return save


class Judge:
    """Experts that find what they look for in the text: a word, or the norm's last word."""

    ref = ModelRef("held-out", "cc")
    tasks = ("action+context", "consequence+context+action", "action+norm")

    @property
    def card(self):
        return {"base": "minilm"}

    def expert(self, task):
        return _Finder(task)


class _Finder:
    def __init__(self, task):
        self.task = task

    def probabilities(self, pairs):
        if self.task == "action+norm":
            return np.array([self._norm(*pair) for pair in pairs])
        word = "pays" if self.task == "action+context" else "smiles"
        good = np.array([0.8 if word in target else 0.1 for _, target in pairs])
        rows = [1 - good, good] if self.task.startswith("consequence") else [0.9 - good, good, good]
        return np.stack(rows, axis=1)

    def _norm(self, norm, action):
        if "pay" not in norm:
            return (0.1, 0.1, 0.8)
        return (0.1, 0.8, 0.1) if "pays" in action else (0.8, 0.1, 0.1)


def total(record, metric, place=0):
    return record.results[place].metrics[metric]["total"]


def test_figures_come_with_intervals_sides_and_the_papers_rows(saved):
    steps = [{"name": "actions", "do": "propose", "task": "action|context"}]
    path = saved(
        "sample",
        action_results(lambda story, target: story.action(target).replace("Jo", "Sam")),
        recipe="action-sample",
        kind="action",
        steps=steps,
    )
    record = score_texts([path], STORIES)
    row = record.results[0]
    texts = [story.action(side).replace("Jo", "Sam") for story in STORIES for side in SIDES]
    references = [[story.action(side)] for story in STORIES for side in SIDES]
    assert total(record, "bleu").value == pytest.approx(bleu(texts, references))
    assert list(row.metrics["rougeL"]) == ["total", "moral", "immoral"]
    assert total(record, "rougeL").low <= total(record, "rougeL").value
    assert (row.n, total(record, "length").n) == (10, 10)
    assert [printed.model for printed in row.paper] == ["BART", "GPT2", "T5"]
    assert record.config["bleu"].startswith("nrefs:1|case:mixed")
    assert "stem:porter" in record.config["rouge"]


def test_identical_texts_reach_the_top_and_are_compared_with_the_others(saved):
    poor = saved(
        "poor", action_results(lambda story, target: "Sam waits."), recipe="a", kind="action"
    )
    best = saved(
        "best",
        action_results(lambda story, target: story.action(target)),
        recipe="b",
        kind="action",
    )
    record = score_texts([poor, best], STORIES)
    assert total(record, "bleu", 1).value == pytest.approx(100.0)
    found = {row.metric: row for row in record.statistics["comparisons"]}
    assert (found["rougeL"].first, found["rougeL"].second) == ("b", "a")
    assert found["rougeL"].difference == pytest.approx(
        total(record, "rougeL", 1).value - total(record, "rougeL").value
    )
    assert found["rougeL"].low > 0
    assert found["rougeL"].n == 10
    assert found["rougeL"].p_holm >= found["rougeL"].p
    assert {"bleu", "diversity", "length"} <= set(found)


def test_references_come_from_the_records_when_no_stories_are_given(saved):
    results = [
        result(story, None, "Pay.", story={"norm": story.norm, "moral_action": story.moral_action})
        for story in STORIES
    ]
    record = score_texts([saved("norms", results, recipe="norm-sample", kind="norm")])
    assert record.results[0].n == 5
    assert list(record.results[0].metrics["bleu"]) == ["total"]


def test_perplexity_is_that_of_the_choice_in_the_step_that_wrote_it(saved):
    candidates = [
        {"text": "Pay.", "score": None, "log_probability": -4 * float(np.log(3)), "tokens": 4},
        {"text": "Steal.", "score": None, "log_probability": -1.0, "tokens": 1},
    ]
    path = [
        {"step": "norms", "do": "propose", "candidates": candidates},
        {"step": "best", "do": "rank", "candidates": []},
    ]
    results = [result(story, None, "Pay.", path=path) for story in STORIES]
    record = score_texts([saved("norms", results, recipe="norm-sample", kind="norm")], STORIES)
    assert total(record, "perplexity").value == pytest.approx(3.0)
    plain = saved("plain", [result(story, None, "Pay.") for story in STORIES], task="norm|actions")
    assert "perplexity" not in score_texts([plain], STORIES).results[0].metrics


def test_the_judge_measures_norm_adherence_by_target(saved):
    path = saved(
        "moral", action_results(lambda story, target: story.moral_action), recipe="a", kind="action"
    )
    record = score_texts([path], STORIES, judge=Judge())
    adherence = record.results[0].metrics["norm_adherence"]
    assert adherence["moral"].value == pytest.approx(100 * 8 / 9)
    assert adherence["immoral"].value == pytest.approx(100 / 9)
    share = record.results[0].metrics["norm_adherence_share"]
    assert [share[side].value for side in ("total", "moral", "immoral")] == [50.0, 100.0, 0.0]
    assert record.models == [ModelRef("held-out", "cc")]


def test_the_judge_measures_plausibility_and_relevance():
    story = STORIES[0]
    row = {
        "norm": story.norm,
        "situation": story.situation,
        "intention": story.intention,
        "action": story.moral_action,
        "moral_action": story.moral_action,
        "immoral_action": story.immoral_action,
    }
    texts = ["The owner smiles.", "It rains."]
    items = [TextItem(id="1", target="moral", text=text, reference="x", row=row) for text in texts]
    found = judge_texts(items, "consequence", Judge())
    assert found["plausibility"] == pytest.approx([80.0, 10.0])
    assert found["plausibility_share"] == [100.0, 0.0]
    norms = [
        TextItem(id="1", target=None, text=text, reference="x", row=row)
        for text in ("Do pay.", "Be kind.")
    ]
    assert judge_texts(norms, "norm", Judge())["relevance_share"] == [100.0, 0.0]
    bare = [TextItem(id="1", target=None, text="Do pay.", reference="x", row={})]
    assert np.isnan(judge_texts(bare, "norm", Judge())["relevance_share"]).all()


def test_a_chain_cannot_grade_itself(saved):
    models = [{"name": "generator", "sha256": "aa"}, {"name": "ranker", "sha256": "cc"}]
    path = saved(
        "own",
        action_results(lambda story, target: "x"),
        recipe="action-ranking",
        kind="action",
        models=models,
        experts="ranker",
    )
    with pytest.raises(InputError, match="'held-out' ranked the texts of action-ranking"):
        score_texts([path], STORIES, judge=Judge())


def test_experts_that_a_run_was_given_and_did_not_use_may_judge_it(saved):
    path = saved(
        "sample",
        action_results(lambda story, target: "x"),
        recipe="action-sample",
        kind="action",
        models=[{"name": "unused", "sha256": "cc"}],
        steps=[{"name": "actions", "do": "propose", "task": "action|context"}],
    )
    assert "norm_adherence" in score_texts([path], STORIES, judge=Judge()).results[0].metrics


def test_a_judge_on_the_rankers_base_is_warned_of(saved):
    path = saved(
        "near",
        action_results(lambda story, target: "x"),
        recipe="action-ranking",
        kind="action",
        models=[{"name": "stories-minilm", "sha256": "dd"}],
        experts="stories-minilm",
    )
    record = score_texts([path], STORIES, judge=Judge())
    assert any("same base (minilm) as the ranker" in line for line in record.warnings)


@pytest.mark.parametrize("kind", KINDS)
def test_scripted_experts_judge_every_kind(saved, kind):
    target = None if kind == "norm" else "moral"
    results = [result(story, target, "Jo waits.") for story in STORIES]
    record = score_texts(
        [saved("run", results, task=KINDS[kind], job="generate")],
        STORIES,
        judge=prepare_experts("scripted"),
    )
    assert any(name.endswith("_share") for name in record.results[0].metrics)


def test_runs_of_one_recipe_go_by_their_files(saved):
    results = action_results(lambda story, target: "x")
    paths = [saved(name, results, recipe="r", kind="action") for name in ("one", "two")]
    assert [run.strategy for run in read_texts(paths, STORIES)] == ["r [one]", "r [two]"]


def test_what_is_left_out_is_said(saved):
    results = action_results(lambda story, target: None if story.id == "0" else "x")
    bare = MoralStory("1", "Pay.", moral_action="Jo pays.")
    stories = [bare if story.id == "1" else story for story in STORIES]
    record = score_texts([saved("run", results, recipe="r", kind="action")], stories)
    assert record.results[0].n == 7
    assert any("2 results without a text left out" in line for line in record.warnings)
    assert any("1 texts without a reference left out" in line for line in record.warnings)


def test_runs_on_other_stories_are_compared_on_what_they_share(saved):
    first = saved("one", action_results(lambda s, t: "x")[:6], recipe="a", kind="action")
    second = saved("two", action_results(lambda s, t: "y")[2:], recipe="b", kind="action")
    record = score_texts([first, second], STORIES)
    assert {row.n for row in record.statistics["comparisons"]} == {4}
    assert any("not on the same stories" in line for line in record.warnings)


@pytest.mark.parametrize(
    ("results", "config", "said"),
    [
        ([result(STORIES[0], "moral", "x")], {"kind": "poem"}, "does not say what its texts are"),
        ([{"target": "moral", "choice": "x"}], {"kind": "action"}, "row 1 has no 'id'"),
        ([result(STORIES[0], "good", "x")], {"kind": "action"}, "result 1 has target 'good'"),
        ([result(STORIES[0], "moral", 3)], {"kind": "action"}, "choice is '3', not a text"),
        ([result(STORIES[0], "moral", "x")] * 2, {"kind": "action"}, "has two results"),
        ([result(STORIES[0], "moral", None)], {"kind": "action"}, "holds no text"),
        ([], {"kind": "action"}, "holds no text"),
        (
            [{"id": "77", "target": "moral", "choice": "x"}],
            {"kind": "action"},
            "story '77', which is not among the stories",
        ),
    ],
)
def test_strange_runs_are_refused(saved, results, config, said):
    with pytest.raises(InputError, match=said):
        score_texts([saved("run", results, **config)], STORIES)


def test_other_jobs_and_stories_without_references_are_refused(saved):
    with pytest.raises(InputError, match="is not a run that generated texts"):
        score_texts([saved("run", [], job="score")], STORIES)
    results = [result(STORIES[0], "moral", "x")]
    with pytest.raises(InputError, match="no text of r has a reference"):
        score_texts([saved("run", results, recipe="r", kind="action")], [MoralStory("0", "Pay.")])
    with pytest.raises(InputError, match="no run is given"):
        score_texts([], STORIES)
