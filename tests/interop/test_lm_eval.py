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
    assert {"acc,none", "first,none"} <= set(results["moralscope_dilemmas_low"])
    assert all(len(some) == EACH for some in samples.values())


def test_both_orders_of_a_dilemma_are_asked(run):
    _, samples = run
    for level in ("low", "high"):
        ab, ba = (samples[f"moralscope_dilemmas_{level}_{order}"] for order in ("ab", "ba"))
        assert [each["doc"]["id"] for each in ab] == [each["doc"]["id"] for each in ba]
        assert {each["doc"]["gold"] for each in ab} == {0}
        assert {each["doc"]["gold"] for each in ba} == {1}


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
        *("--device", "cpu", "--include_path", folder, "--tasks", "moralscope_dilemmas_low_ab"),
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
