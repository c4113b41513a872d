"""lm-eval validates and runs our tasks on smollm2; its log-likelihoods are ours."""

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.realdata]
TASKS = (
    "moralscope_stories_norm_distance",
    "moralscope_stories_lexical_bias",
    "moralscope_stories_minimal_pairs",
    "moralscope_stories_reversed",
    "moralscope_dilemmas_low",
    "moralscope_dilemmas_high",
    "moralscope_dos_and_donts",
)
RUN = (TASKS[0], TASKS[3], TASKS[4], TASKS[5], TASKS[6])
EACH = 3  # documents of a task


@pytest.fixture(scope="module")
def folder():
    command = [sys.executable, "-m", "moralscope", "interop", "lm-eval-path"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def run(tool, folder, smollm2, stories, tmp_path_factory):
    """One run of lm-eval: its results, and the samples of each task."""
    place = tmp_path_factory.mktemp("lm-eval")
    done = tool("lm-eval").run(
        *("lm-eval", "run", "--model", "hf", "--device", "cpu", "--batch_size", "8"),
        *("--model_args", f"pretrained={smollm2},dtype=float32"),
        *("--include_path", folder, "--tasks", ",".join(RUN), "--limit", EACH),
        *("--output_path", place, "--log_samples"),
        cwd=place,
        seconds=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (results,) = place.rglob("results_*.json")
    samples = {}
    for path in place.rglob("samples_*.jsonl"):
        name = path.name.removeprefix("samples_").rpartition("_")[0]
        samples[name] = [json.loads(line) for line in path.read_text().splitlines()]
    return json.loads(results.read_text())["results"], samples


def test_lm_eval_finds_our_tasks_valid(tool, folder, tmp_path):
    done = tool("lm-eval").run(
        *("lm-eval", "validate", "--include_path", folder, "--tasks", ",".join(TASKS)),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "All tasks found and valid" in done.stdout


def test_a_run_gives_each_tasks_figures(run):
    results, samples = run
    assert {"acc,none", "acc_norm,none"} <= set(results[TASKS[0]])
    figures = {"acc", "likelihood", "mean_probability", "order_bias", "label_bias", "mass"}
    assert {f"{name},none" for name in figures} <= set(results["moralscope_dilemmas_low"])
    assert all(len(some) == EACH for some in samples.values())


def test_a_dilemma_is_one_document_asked_in_every_order_under_every_label(run):
    _, samples = run
    for level in ("low", "high"):
        for sample in samples[f"moralscope_dilemmas_{level}"]:
            asked = [each["arg_0"] for each in sample["arguments"].values()]
            assert len(asked) == 8  # two orders, two labels, two letters
            listed = {tuple(text.splitlines()[-3:-1]) for text in asked}
            one, other = sample["doc"]["actions"]
            pairs = [(one, other), (other, one)]
            assert listed == {
                (f"{first}. {x}", f"{second}. {y}")
                for x, y in pairs
                for first, second in ("AB", "BA")
            }


ALWAYS_A = """
import json, sys
import lm_eval
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager
from moralscope.models.language.scripted import ScriptedModel

class Scripted(LM):
    model = ScriptedModel.of("scripted:label=12")

    def loglikelihood(self, requests, **_):
        rows = self.model.log_probabilities(
            [one.args[0] for one in requests], [[one.args[1]] for one in requests])
        return [(row.total, False) for (row,) in rows]

    loglikelihood_rolling = generate_until = None

Scripted.__abstractmethods__ = frozenset()
tasks = TaskManager(include_path=sys.argv[1], metadata={"dilemmas": "dilemmas.csv"})
name = "moralscope_dilemmas_low"
whole = lm_eval.simple_evaluate(Scripted(), tasks=[name], task_manager=tasks)
print(json.dumps(whole["results"][name]))
"""


def test_a_model_that_always_says_a_has_a_standard_error_over_dilemmas(tool, folder, tmp_path):
    rows = [f"low,You find wallet {n}.,I return it {n}.,I keep it {n}." for n in range(40)]
    (tmp_path / "dilemmas.csv").write_text(
        "\n".join(["ambiguity,situation,action1,action2", *rows])
    )
    done = tool("lm-eval").run("python", "-c", ALWAYS_A, folder, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.strip().splitlines()[-1])
    assert figures["sample_len"] == 40
    assert 0.25 < figures["acc,none"] < 0.75
    assert figures["acc_stderr,none"] == pytest.approx(0.08, abs=0.01)
    assert figures["label_bias,none"] == pytest.approx(12)
    assert figures["order_bias,none"] == pytest.approx(0, abs=1e-6)


def test_a_reversed_norm_turns_the_answer_round(run):
    _, samples = run
    plain = {each["doc"]["id"]: each["doc"] for each in samples[TASKS[0]]}
    turned = {each["doc"]["id"]: each["doc"] for each in samples[TASKS[3]]}
    shared = plain.keys() & turned.keys()
    assert shared
    for name in shared:
        assert plain[name]["choices"] == turned[name]["choices"]
        assert plain[name]["gold"] != turned[name]["gold"]
        assert plain[name]["question"] != turned[name]["question"]


def test_log_likelihoods_are_ours(run):
    from moralscope.models.language.loading import load_language_model

    asked, theirs = [], []
    for sample in [each for some in run[1].values() for each in some]:
        for each, response in zip(sample["arguments"].values(), sample["resps"], strict=True):
            asked.append((each["arg_0"], each["arg_1"]))
            theirs.append(float(response[0][0]))
    model = load_language_model("smollm2")
    found = model.log_probabilities([ask for ask, _ in asked], [[said] for _, said in asked])
    ours = [each.total for (each,) in found]
    assert len(ours) >= 2 * EACH * 7
    assert ours == pytest.approx(theirs, abs=1e-3)


def test_a_file_that_is_not_there_ends_with_our_line(tool, folder, smollm2, tmp_path):
    done = tool("lm-eval").run(
        *("lm-eval", "run", "--model", "hf", "--model_args", f"pretrained={smollm2}"),
        *("--device", "cpu", "--include_path", folder, "--tasks", "moralscope_dilemmas_low"),
        *("--metadata", '{"dilemmas": "nowhere.csv"}'),
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "nowhere.csv cannot be read" in done.stderr.strip().splitlines()[-1]


def test_better_actions_stand_in_either_place(stories):
    from moralscope.interop.choices import shuffled, story_choices

    for split in ("norm_distance", "lexical_bias", "minimal_pairs"):
        places = [choice.right for choice in shuffled(story_choices(stories, split))]
        assert len(places) == 1000  # the official test part
        assert 450 < sum(places) < 550
