"""Chains as jobs: records, skipped stories, journals that survive a kill, runs set beside."""

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import Candidate, Decoding, ModelRef, Usage, to_plain
from moralscope.io.files import record_lines, write_record
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.pages import read_record
from moralscope.pages.chain import path_page
from moralscope.stories.chains.run import (
    ChainModels,
    ChainOptions,
    chain,
    choose_part,
    finish,
    is_finished,
)
from moralscope.stories.generate import generate
from moralscope.stories.reading import StoryFile
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import classification_tasks, generation_tasks
from moralscope.stories.text_runs import read_beside, set_beside

SCRIPT = Path(__file__).with_name("killed_chain.py")


class Writer:
    """Texts from the prompt and the seed; counts what it was asked for."""

    refs, warnings, usage = (), (), None

    name, checksum = "writer", "c0ffee"

    def __init__(self):
        self.prompts = 0

    def generate(self, prompts, decoding, seeds):
        self.prompts += len(prompts)
        return [
            [Candidate(f"{seed % 9973} {n} {len(prompt)}.") for n in range(decoding.count)]
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]


def experts():
    return ScriptedExperts({row.name: row.labels for row in classification_tasks().values()})


@pytest.fixture
def models():
    return ChainModels(Writer(), experts())


def stories(count):
    return [
        MoralStory(
            f"s{n}",
            "You should share food.",
            f"Ada has {n} apples.",
            "Ada wants to eat.",
            "Ada gives half away.",
            "Her friend is glad.",
            "Ada hides them.",
            "Her friend goes hungry.",
        )
        for n in range(count)
    ]


def test_one_result_a_story_and_target_with_every_candidate_and_choice(models):
    record = chain("action-ranking", stories(3), models)
    plain = json.loads("".join(record_lines(record)))
    assert plain["job"] == "chain"
    assert [(row["id"], row["target"]) for row in plain["results"]] == [
        (f"s{n}", target) for n in range(3) for target in ("moral", "immoral")
    ]
    for row in plain["results"]:
        assert len(row["candidates"]) == 10
        assert row["choice"] in (row["candidates"][0]["text"], None)
        assert [step["step"] for step in row["path"]] == ["actions", "best action"]
        assert row["reference"].startswith("Ada ")
    assert any(row["choice"] for row in plain["results"])
    assert plain["models"] == [to_plain(ModelRef("writer", "c0ffee")), to_plain(models.experts.ref)]
    assert [step["candidates"] for step in plain["statistics"]["steps"]] == [60, 60]
    assert plain["config"]["recipe"] == "action-ranking"


def test_norms_have_one_result_a_story_and_say_that_the_norm_was_read(models):
    record = chain("norm-synthesis", stories(2), models)
    assert [row.target for row in record.results] == [None, None]
    assert any("reads the story's own norm" in line for line in record.warnings)
    blind = chain("norm-synthesis-blind", stories(2), models)
    assert not any("own norm" in line for line in blind.warnings)


def test_targets_limit_and_sampling_are_obeyed(models):
    options = ChainOptions("immoral", Decoding(count=3, p=0.5, temperature=0.7), limit=2)
    record = chain("action-ranking", stories(5), models, options)
    assert [(row.id, row.target) for row in record.results] == [
        ("s0", "immoral"),
        ("s1", "immoral"),
    ]
    assert len(record.results[0].candidates) == 3
    assert (record.config["p"], record.config["temperature"]) == (0.5, 0.7)
    with pytest.raises(InputError, match="no target 'good'"):
        chain("action-ranking", stories(1), models, ChainOptions("good"))


def test_skipped_stories_are_counted_and_named(models):
    given = [*stories(2), replace(stories(1)[0], id="x", situation=None)]
    record = chain("action-sample", given, models)
    assert len(record.results) == 4
    (line,) = [line for line in record.warnings if "skipped" in line]
    assert line.startswith("2 of 6 stories and targets were skipped")
    assert "'x' (moral) lacks situation" in line
    assert record.statistics.skipped[0].missing == ("situation",)


def test_nothing_to_run_is_one_line(models):
    with pytest.raises(InputError, match=r"no story has what action-sample reads \('x'"):
        chain("action-sample", [MoralStory("x", "Be kind.")], models)
    with pytest.raises(InputError, match="there are no stories"):
        chain("action-sample", [], models)
    with pytest.raises(InputError, match="there is no story 'y'; the first one is 's0'"):
        chain("action-sample", stories(1), models, ChainOptions(only="y"))


def test_an_expert_that_is_missing_is_refused_before_anything_is_written():
    few = ScriptedExperts({"action": ("immoral", "moral")})
    writer = Writer()
    with pytest.raises(InputError, match=r"no expert for 'action\+context'"):
        chain("action-ranking", stories(1), ChainModels(writer, few))
    with pytest.raises(InputError, match="needs experts"):
        chain("action-ranking", stories(1), ChainModels(writer))
    assert writer.prompts == 0


def test_an_expert_with_other_classes_is_refused():
    odd = ScriptedExperts({"action+context": ("no", "yes")})
    with pytest.raises(InputError, match="has the labels no, yes; 'best action' needs breaks"):
        chain("action-ranking", stories(1), ChainModels(Writer(), odd))
    two = ScriptedExperts({"action+context": ("breaks", "keeps")})
    assert len(chain("action-ranking", stories(1), ChainModels(Writer(), two)).results) == 2


class Cuts(Writer):
    """Says that a prompt did not fit, and names base and adapter."""

    refs = (ModelRef("base", "b"), ModelRef("adapter", "a"))
    usage = Usage(requests=4, input_tokens=100)

    def __init__(self):
        super().__init__()
        self.warnings = ["an old line"]

    def generate(self, prompts, decoding, seeds):
        self.warnings.append(f"prompt {len(self.warnings)} was cut")
        return super().generate(prompts, decoding, seeds)


def test_what_the_generator_says_is_in_the_record():
    record = chain("action-sample", stories(4), ChainModels(Cuts()), ChainOptions(block=2))
    assert "prompt 1 was cut (and 3 more such lines)" in record.warnings
    assert [ref.name for ref in record.models] == ["base", "adapter"]
    assert to_plain(record)["statistics"]["usage"]["input_tokens"] == 100


class Stops(Writer):
    """Is interrupted after some calls."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def generate(self, prompts, decoding, seeds):
        if self.calls == 0:
            raise KeyboardInterrupt
        self.calls -= 1
        return super().generate(prompts, decoding, seeds)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, models):
    out = tmp_path / "run.json"
    options = ChainOptions(block=4, out=out)
    whole = chain("action-ranking", stories(8), models, replace(options, out=None))
    with pytest.raises(KeyboardInterrupt):
        chain("action-ranking", stories(8), ChainModels(Stops(2), experts()), options)
    writer = Writer()
    record = chain("action-ranking", stories(8), ChainModels(writer, experts()), options)
    assert writer.prompts == 8  # of 16: two blocks of four were kept
    assert list(record.results) == list(whole.results)
    assert [step.candidates for step in record.statistics.steps] == [160, 160]
    write_record(record, out)
    finish(record)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    assert json.loads(out.read_text())["results"] == to_plain(whole.results)


@pytest.mark.parametrize(
    "changes",
    [{"seed": 1}, {"decoding": Decoding(count=9)}, {"target": "moral"}, {"limit": 2}],
)
def test_an_interrupted_run_refuses_other_settings_and_is_not_harmed(tmp_path, models, changes):
    options = ChainOptions(block=2, out=tmp_path / "run.json")
    with pytest.raises(KeyboardInterrupt):
        chain("action-ranking", stories(4), ChainModels(Stops(1), experts()), options)
    with pytest.raises(InputError, match="other settings"):
        chain("action-ranking", stories(4), models, replace(options, **changes))
    changed = [replace(stories(1)[0], norm="Never share."), *stories(4)[1:]]
    with pytest.raises(InputError, match=r"other settings \(source"):
        chain("action-ranking", changed, models, options)
    writer = Writer()
    chain("action-ranking", stories(4), ChainModels(writer, experts()), options)
    assert writer.prompts == 6


def test_starting_anew_forgets_the_journal(tmp_path, models):
    options = ChainOptions(block=2, out=tmp_path / "run.json")
    with pytest.raises(KeyboardInterrupt):
        chain("action-sample", stories(4), ChainModels(Stops(1)), options)
    writer = Writer()
    anew = replace(options, seed=5, resume=False)
    assert len(chain("action-sample", stories(4), ChainModels(writer), anew).results) == 8
    assert writer.prompts == 8


def killed_run(out):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(out)], env=environment, stdout=subprocess.PIPE
    )


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_loses_at_most_one_block(tmp_path, how):
    out = tmp_path / "run.json"
    journal = tmp_path / "run.json.journal"
    first = killed_run(out)
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 4):
        assert time.monotonic() < deadline, "the run never wrote its journal"
        assert first.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    first.send_signal(how)
    first.wait(timeout=60)
    assert not out.exists()
    kept = journal.read_bytes().count(b"\n") - 1
    second = killed_run(out)
    told, _ = second.communicate(timeout=120)
    assert second.returncode == 0
    asked = int(told)  # prompts of the second process
    assert asked <= 80 - 2 * kept
    assert asked < 80
    whole = tmp_path / "whole.json"
    third = killed_run(whole)
    third.communicate(timeout=120)
    results = json.loads(out.read_text())["results"]
    assert len(results) == 80
    assert results == json.loads(whole.read_text())["results"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json", "whole.json"]


def test_one_storys_path_is_shown_from_a_record_and_from_a_finished_file(tmp_path, models):
    out = tmp_path / "run.json"
    record = chain("action-ranking", stories(3), models, ChainOptions(out=out))
    assert [s.prose[0] for s in path_page(record, "s1").sections] == ["s1 moral", "s1 immoral"]
    with pytest.raises(InputError, match="'z'"):
        path_page(record, "z")
    assert not is_finished(out)
    write_record(record, out)
    finish(record)
    assert is_finished(out)
    saved = read_record(json.loads(out.read_text()))
    assert list(saved.results)[4:] == [row for row in saved.results if row.id == "s2"]
    assert path_page(saved, "s2").sections


def test_runs_on_the_same_stories_are_set_beside(tmp_path, models):
    other = tmp_path / "other.json"
    write_record(chain("action-sample", stories(3), models), other)
    ranked = chain("action-ranking", stories(2), models)
    assert set_beside(ranked, []) is ranked
    record = set_beside(ranked, read_beside([other]))
    (beside,) = record.statistics.beside
    assert beside.name == "action-sample"
    assert [row.id for row in beside.results] == ["s0", "s0", "s1", "s1"]
    write_record(chain("norm-sample", stories(1), models), other)
    with pytest.raises(InputError, match="has no story of this run"):
        set_beside(record, read_beside([other]))


@pytest.mark.parametrize("text", ["{}", "[]", '{"job": "chain", "config": 3, "results": "x"}'])
def test_a_file_that_is_no_run_is_not_set_beside(tmp_path, text):
    other = tmp_path / "other.json"
    other.write_text(text)
    with pytest.raises(InputError):
        read_beside([other])


def test_a_journal_goes_on_when_the_stories_file_has_moved(tmp_path):
    options = ChainOptions(block=2, out=tmp_path / "run.json")
    with pytest.raises(KeyboardInterrupt):
        chain("action-sample", StoryFile("here", stories(4)), ChainModels(Stops(1)), options)
    writer = Writer()
    chain("action-sample", StoryFile("there", stories(4)), ChainModels(writer), options)
    assert writer.prompts == 6


def test_only_the_stories_of_a_part_are_kept():
    given = [
        replace(story, splits={"action": {"norm_distance": part}})
        for story, part in zip(stories(3), ("train", "dev", "test"), strict=True)
    ]
    found = StoryFile("here", tuple(given))
    assert [s.id for s in choose_part(found, "norm_distance", "test", "action-sample").stories] == [
        "s2"
    ]
    assert choose_part(found, "norm_distance", None, "action-sample") is found
    with pytest.raises(InputError, match="no story is in tst"):
        choose_part(found, "norm_distance", "tst", "action-sample")


@pytest.mark.parametrize(
    "task", [name for name, task in generation_tasks().items() if "draft" not in task.needs]
)
def test_every_generation_task_is_generated(task):
    record = generate(
        task, stories(2), ChainModels(Writer()), ChainOptions(decoding=Decoding(count=3))
    )
    assert record.job == "generate"
    for row in record.results:
        assert len(row.candidates) == 3
        assert row.choice == row.candidates[0].text
        assert row.reference
    assert {row.target for row in record.results} == (
        {None} if task.startswith("norm") else {"moral", "immoral"}
    )


def test_generating_gives_the_sample_of_the_chains():
    models = ChainModels(Writer(), experts())
    sampled = chain("action-sample", stories(2), models)
    generated = generate("action|context", stories(2), models)
    assert [r.choice for r in sampled.results] == [r.choice for r in generated.results]


def test_what_cannot_be_generated_is_refused():
    models = ChainModels(Writer())
    with pytest.raises(InputError, match="rewrites drafts"):
        generate("consequence|context+action+draft+label", stories(1), models)
    with pytest.raises(InputError, match=r"no task 'action\|contxt'"):
        generate("action|contxt", stories(1), models)
    with pytest.raises(InputError, match="no strategy 'best'"):
        generate("norm|actions", stories(1), models, ChainOptions(decoding=Decoding("best")))


def test_memory_does_not_grow_with_the_stories(models):
    peaks = []
    for count in (32, 128):
        given = stories(count)
        tracemalloc.start()
        record = chain("action-abduction", given, models, ChainOptions(block=4))
        assert sum(len(row.path) for row in record.results) == 16 * count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Four times the results; what grows is the list of stories, not candidates (5 KB a result).
    assert peaks[1] - peaks[0] < 1_000 * 2 * (128 - 32)
