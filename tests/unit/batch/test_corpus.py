"""Corpus jobs on scripted models, in this process: the numbers of the one-file path."""

import json
from dataclasses import replace

import corpus_works
import pytest

from moralscope.axes.batch import ScoreBatch
from moralscope.axes.options import AXES, ScoreOptions
from moralscope.axes.score import ActionRows, score
from moralscope.batch import run as batch_run
from moralscope.batch.child import in_child
from moralscope.batch.estimate import distinct_rows, estimate_job
from moralscope.batch.files import is_corpus
from moralscope.batch.job import job_columns, open_job, run_job
from moralscope.batch.options import BatchOptions, BatchPlace
from moralscope.core.errors import InputError, MissingExtra, MoralscopeError
from moralscope.io.actions import ActionList
from moralscope.pages import write_report
from moralscope.rules.audit import AuditOptions, audit
from moralscope.rules.audit_batch import AuditBatch
from moralscope.rules.collect.batch import CollectBatch
from moralscope.rules.collect.collect import collect, prepare
from moralscope.rules.collect.options import CollectOptions
from moralscope.rules.records import Exchange

from ...corpus_inline import ACTIONS, EXCHANGES, Inline, table_of, write_rows

SCRIPTED = AuditOptions(experts="scripted")
SCRIPTED_SCORES = ScoreOptions(encoder="scripted")
JOBS = {ScoreOptions: ScoreBatch, AuditOptions: AuditBatch, CollectOptions: CollectBatch}


@pytest.fixture(autouse=True)
def inline(monkeypatch):
    """Compute in this process: no worker to start."""
    monkeypatch.setattr(batch_run, "engine_for", Inline)


def run(asked, rows, tmp_path, **given):
    path = tmp_path / "in.jsonl"
    if not path.exists():  # to be resumed with the very same file
        write_rows(path, rows)
    job = JOBS[type(asked)](asked, given.pop("columns", {}))
    place = BatchPlace((str(path),), tmp_path / "out")
    return run_job(open_job(job, place, BatchOptions(**given)))


@pytest.mark.parametrize("axis", ["choice", "direction"])
def test_scores_are_those_of_one_file(axis, tmp_path):
    options = ScoreOptions(axis=axis, encoder="scripted", seed=3)
    rows = [{"n": n, "action": f" {text} "} for n, text in enumerate(ACTIONS)]
    record = run(options, rows, tmp_path, seed=3)
    table = table_of(tmp_path / "out")
    one = score(ACTIONS, options)
    for name in ("score", "low", "high"):
        assert table.column(name).to_pylist() == [getattr(row, name) for row in one.results]
    assert table.column("n").to_pylist() == list(range(6))
    assert table.column("action").to_pylist()[0] == " kill people "
    assert record.statistics["scores"].mean == pytest.approx(one.statistics["scores"].mean)
    for name in ("positive", "negative", "undecided"):
        assert record.statistics[name] == one.statistics[name]
    assert record.warnings[: len(one.warnings)] == one.warnings


def test_paraphrases_join_as_in_one_file(tmp_path):
    rows = [
        {"action": "kill", "paraphrases": "slay| end "},
        {"action": "help", "paraphrases": None},
    ]
    run(SCRIPTED_SCORES, rows, tmp_path)
    one = score(ActionList(["kill", "help"], [("slay", "end"), ()]), encoder="scripted")
    found = table_of(tmp_path / "out").column("low").to_pylist()
    assert found == [row.low for row in one.results]


def test_replies_can_be_scored(tmp_path):
    columns = job_columns("action=reply", AXES["choice"].columns)
    run(SCRIPTED_SCORES, EXCHANGES, tmp_path, columns=columns)
    one = score([row["reply"] for row in EXCHANGES], encoder="scripted")
    found = table_of(tmp_path / "out")
    assert found.column("score").to_pylist() == [row.score for row in one.results]
    assert found.column("prompt").to_pylist() == [row["prompt"] for row in EXCHANGES]


def test_the_judge_is_that_of_one_file(tmp_path):
    rows = [
        {"action": "Sam waits.", "norm": "It's rude to be late."},
        {"action": "kill time", "norm": ""},
        {"action": "lie", "norm": None},
    ]
    options = ScoreOptions(axis="judge", experts="scripted", wordings=4)
    run(options, rows, tmp_path)
    given = [{name: value for name, value in row.items() if value} for row in rows]
    one = score(ActionRows(given), options)
    found = table_of(tmp_path / "out")
    for name in ("score", "low", "high", "probability", "verdict"):
        assert found.column(name).to_pylist() == [getattr(row, name) for row in one.results]


def test_audits_are_those_of_one_file(tmp_path):
    options = replace(SCRIPTED, revise=True, generator="scripted", gate="flagged<=1")
    record = run(options, EXCHANGES, tmp_path)
    one = audit([Exchange(row["prompt"], row["reply"]) for row in EXCHANGES], options)
    found = table_of(tmp_path / "out").to_pylist()
    for row, same in zip(found, one.results, strict=True):
        assert (row["flag"], row["score"], row["reason"]) == (
            same.verdict.flag,
            same.verdict.score,
            same.verdict.reason,
        )
        assert row["revised_reply"] == same.revised_reply
        assert [rule["text"] for rule in row["rules"]] == [rule.text for rule in same.rules]
        for rule, finding in zip(row["rules"], same.rules, strict=True):
            assert rule["alignment"]["probabilities"] == finding.alignment.probabilities
            assert rule["foundations"] == finding.foundations
            assert rule["severity"] == finding.severity
    for name in ("flagged", "abstained", "foundations", "severity", "revised", "revised_by"):
        assert record.statistics[name] == one.statistics[name], name
    ours, theirs = (
        {(row["rule"], row["broken"], row["kept"]) for row in each.statistics["rules"]}
        for each in (record, one)
    )
    assert ours == theirs
    assert record.statistics["gate"].met
    assert record.statistics["score"]["worst"] == one.statistics["score"]["worst"]


def test_collected_replies_are_those_of_one_file(tmp_path):
    from moralscope.rules.collect.chatbots import CollectPrompt

    options = CollectOptions(("scripted",), filters="scripted")
    prompts = ["Do you steal?", "Do you lie to friends?", "What is fair?"]
    record = run(options, [{"prompt": text} for text in prompts], tmp_path)
    given = [CollectPrompt(text, str(n)) for n, text in enumerate(prompts)]
    one = collect(given, options, ready=prepare(options))
    found = table_of(tmp_path / "out").to_pylist()
    for row, same in zip(found, one.results, strict=True):
        for name in ("reply", "chatbot", "finish", "sufficient", "moral", "dropped"):
            assert row[name] == getattr(same, name), name
        assert row["keywords"] == list(same.keywords)
    assert record.statistics["steps"] == one.statistics["steps"]
    assert record.statistics["kept"] == one.statistics["kept"]


def test_a_corpus_run_asks_one_chatbot(tmp_path):
    with pytest.raises(InputError, match="asks one chatbot, not 2"):
        run(CollectOptions(("scripted", "openai:x")), [{"prompt": "Hi?"}], tmp_path)


def test_bad_rows_are_dead_letters_and_the_run_goes_on(tmp_path):
    rows = [{"action": "kill"}, {"action": "  "}, {"action": "x" * 100_001}, {"action": "a\x00b"}]
    rows += [{"action": None}, {"action": "help"}]
    record = run(SCRIPTED_SCORES, rows, tmp_path)
    assert table_of(tmp_path / "out").column("_row").to_pylist() == [0, 5]
    assert record.statistics["failed"]["rows"] == 4
    reasons = {row["reason"] for row in record.statistics["failed"]["reasons"]}
    assert "no text under 'action'" in reasons
    assert "'action' has 100,001 characters" in reasons
    assert any("4 of 6 rows failed" in line for line in record.warnings)


def test_the_record_lies_in_the_folder_and_draws_a_page(tmp_path):
    record = run(SCRIPTED, EXCHANGES, tmp_path)
    plain = json.loads((tmp_path / "out/_run/record.json").read_text())
    assert plain["config"]["corpus"]["inputs"] == [str(tmp_path / "in.jsonl")]
    assert plain["statistics"]["corpus"]["rows"] == 5
    assert plain["statistics"]["corpus"]["distinct"] == 4
    write_report(record, tmp_path / "page.html")
    assert "Audit of a corpus" in (tmp_path / "page.html").read_text()


def test_resuming_with_another_rulebook_is_refused(tmp_path):
    run(SCRIPTED, EXCHANGES, tmp_path)
    own = tmp_path / "own.yaml"
    own.write_text("rules:\n- text: It's rude to stare at people.\n")
    with pytest.raises(InputError, match=r"holds another run \(.*rule"):
        run(replace(SCRIPTED, rulebooks=(str(own),)), EXCHANGES, tmp_path, resume=True)


def test_a_folder_with_a_run_is_refused_before_anything_is_loaded(tmp_path, monkeypatch):
    run(SCRIPTED, EXCHANGES, tmp_path)
    monkeypatch.setattr("moralscope.batch.job.open_corpus", None)
    with pytest.raises(InputError, match="has a run already"):
        run(SCRIPTED, EXCHANGES, tmp_path)


def test_resuming_a_finished_run_computes_nothing(tmp_path, monkeypatch):
    first = run(SCRIPTED, EXCHANGES, tmp_path)
    monkeypatch.setattr(batch_run, "engine_for", lambda options: None)
    again = run(SCRIPTED, EXCHANGES, tmp_path, resume=True)
    assert again.statistics["corpus"].resumed_parts == 1
    assert again.statistics["flagged"] == first.statistics["flagged"]


def test_a_missing_extra_is_told_before_anything_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("moralscope.batch.job.open_corpus", None)
    monkeypatch.setattr("moralscope.core.extras.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "moralscope\[ray\]"'):
        run(SCRIPTED, EXCHANGES, tmp_path, engine="ray")


def test_names_of_inputs_and_columns(tmp_path):
    assert is_corpus(str(tmp_path))
    assert not is_corpus("actions.txt")
    with pytest.raises(InputError, match="did you mean"):
        job_columns("actoin=reply", AXES["choice"].columns)
    with pytest.raises(InputError, match="twice"):
        job_columns("prompt=a,reply=a", AuditBatch.reads)


def test_the_dry_run_estimates_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("moralscope.batch.estimate.in_child", lambda call, *given: call(*given))
    path = write_rows(tmp_path / "in.jsonl", [{"action": f"do {n % 250}"} for n in range(1000)])
    options = BatchOptions(workers=2, dry_run=True, price_per_hour=3600.0)
    job = ScoreBatch(SCRIPTED_SCORES)
    record = estimate_job(open_job(job, BatchPlace((str(path),)), options))
    found = record.statistics["estimate"]
    assert (found.rows, found.distinct, found.exact, found.drawn) == (1000, 250, True, 200)
    assert found.seconds == pytest.approx(found.start_seconds + 125 * found.seconds_a_row)
    assert found.cost == pytest.approx(found.seconds)
    assert found.bytes > 1000 * 8
    assert list(tmp_path.iterdir()) == [path]
    write_report(record, tmp_path / "page.html")
    assert "an estimate" in (tmp_path / "page.html").read_text()


def test_the_dry_run_counts_rows_that_would_fail(tmp_path, monkeypatch):
    monkeypatch.setattr("moralscope.batch.estimate.in_child", lambda call, *given: call(*given))
    path = write_rows(tmp_path / "in.jsonl", [{"action": text} for text in ("a", "", "b", "c")])
    options = BatchOptions(workers=1, dry_run=True)
    place = BatchPlace((str(path),))
    record = estimate_job(open_job(ScoreBatch(SCRIPTED_SCORES), place, options))
    assert record.statistics["estimate"].failed_share == pytest.approx(0.25)


def test_a_run_goes_on_with_the_batches_it_began_with(tmp_path):
    rows = [{"action": text} for text in ACTIONS]
    asked = replace(SCRIPTED_SCORES, calibrate=True, eight_bits=True)
    record = run(asked, rows, tmp_path)
    size = record.config["batch_tokens"]
    assert size > 0
    assert any("cannot be computed in 8 bits" in line for line in record.warnings)
    again = run(replace(asked, calibrate=False), rows, tmp_path, resume=True)
    assert again.config["batch_tokens"] == size
    assert again.statistics["corpus"].resumed_parts == 1


def test_distinct_rows_are_never_more_than_rows():
    assert distinct_rows({}, 10) == 0
    assert distinct_rows(dict.fromkeys("abc", 1), 3) == 3
    assert distinct_rows(dict.fromkeys(range(100), 1), 10_000) == 1000


def test_what_a_child_raises_comes_back_as_it_is():
    with pytest.raises(InputError, match="there is no encoder 'minilmm'"):
        in_child(ScoreBatch(ScoreOptions(encoder="minilmm")).prepare)


def test_a_child_that_dies_is_told():
    with pytest.raises(MoralscopeError, match=r"that loads the models ended \(exit code 7\)"):
        in_child(corpus_works.die)


@pytest.mark.slow
@pytest.mark.parametrize("axis", ["choice", "direction"])
def test_scores_of_real_weights_are_those_of_one_file(axis, tmp_path, minilm_folder):
    options = ScoreOptions(axis=axis, encoder="minilm")
    texts = [*ACTIONS, "a much longer text about what one could do with a friend's money"]
    run(options, [{"action": text} for text in texts], tmp_path)
    one = score(texts, options)
    found = table_of(tmp_path / "out")
    for name in ("score", "low", "high"):
        wanted = [getattr(row, name) for row in one.results]
        assert found.column(name).to_pylist() == pytest.approx(wanted, abs=1e-5)
