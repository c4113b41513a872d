"""Two corpus folders: rows are paired by number, streamed, and refused where texts differ."""

import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats as scipy_stats

from moralscope.core.errors import InputError
from moralscope.runs.compare import compare_runs

from .saved_runs import audit_record, corpus_folder, reply, saved, score_record


def scored(rows, scores, *, name="action", suffix=""):
    texts = [f"do thing {row}{suffix}" for row in rows]
    return pa.table({name: texts, "score": scores, "_row": pa.array(rows, pa.int64())})


def folder(place, scores, *, rows=None, record=None, **options):
    places = np.arange(len(scores)) if rows is None else rows
    table = scored(places, scores, name=options.pop("name", "action"))
    record = record or score_record([(str(at), float(x)) for at, x in enumerate(scores[:50])])
    return corpus_folder(place, record, table, **options)


@pytest.fixture
def many():
    generator = np.random.default_rng(0)
    before = generator.normal(0, 1, 12_000)
    after = before + generator.normal(-0.02, 0.2, 12_000)
    after[7_777] -= 5
    return before, after


def test_large_folders_are_paired_in_a_stream(tmp_path, many):
    before, after = many
    paths = folder(tmp_path / "a", before), folder(tmp_path / "b", after, rows_a_part=1700)
    record = compare_runs(*paths, gate="missing<=0 and spearman>=0.95")
    found = record.statistics
    assert found["gate"].met
    assert record.config["paired_by"] == "row"
    assert record.results == []
    assert found["items"] == 12_000
    test = scipy_stats.ttest_rel(after, before)
    assert found["change"].value == pytest.approx((after - before).mean())
    assert found["change"].p == pytest.approx(test.pvalue)
    low, high = test.confidence_interval(0.95)
    assert (found["change"].low, found["change"].high) == pytest.approx((low, high))
    exact = scipy_stats.spearmanr(before, after).statistic
    assert found["spearman"].r == pytest.approx(exact, abs=2e-5)
    assert found["flips"].value == pytest.approx(((before * after) < 0).mean())
    assert found["drops"][0].text == "do thing 7777"
    assert found["drops"][0].id == "7777"
    changes = [row.change for row in found["drops"]]
    assert changes == pytest.approx(np.sort(after - before)[:20].tolist())


def test_small_folders_are_compared_exactly(tmp_path):
    before, after = np.linspace(-1, 1, 60), np.linspace(-1, 1, 60) ** 3
    found = compare_runs(folder(tmp_path / "a", before), folder(tmp_path / "b", after)).statistics
    assert found["spearman"].r == pytest.approx(1.0)
    assert found["change"].p == pytest.approx(scipy_stats.ttest_rel(after, before).pvalue)


def test_rows_that_only_one_run_has_are_counted(tmp_path, many):
    before, after = many
    kept = np.delete(np.arange(12_000), [0, 5_000, 11_999])
    longer = np.append(after[kept], 0.5)
    paths = (
        folder(tmp_path / "a", before),
        folder(tmp_path / "b", longer, rows=np.append(kept, 12_000)),
    )
    record = compare_runs(*paths)
    found = record.statistics
    assert (found["items"], found["only_before"], found["only_after"]) == (11_997, 3, 1)
    assert found["missing_share"] == pytest.approx(3 / 12_000)
    assert any("3 rows are only in the baseline" in line for line in record.warnings)


def test_rows_without_a_score_are_missing(tmp_path):
    before = np.array([0.1, 0.2, 0.3])
    after = np.array([0.1, np.nan, 0.3])
    found = compare_runs(folder(tmp_path / "a", before), folder(tmp_path / "b", after)).statistics
    assert (found["items"], found["only_before"]) == (2, 1)


def test_columns_that_were_renamed_or_moved_aside_are_found(tmp_path):
    record = score_record([("a", 0.1)])
    plain = folder(tmp_path / "a", np.array([0.1, 0.2, 0.3]), record=record)
    told = json.loads((plain / "_run" / "record.json").read_text())
    other = corpus_folder(
        tmp_path / "b", record, scored(np.arange(3), [0.1, 0.2, 0.0], name="input_score")
    )
    told["config"]["corpus"]["columns"] = {"action": "score"}
    (other / "_run" / "record.json").write_text(json.dumps(told))
    assert compare_runs(plain, other).statistics["max_drop"] == pytest.approx(0.3)


def test_audits_of_another_bot_are_paired_by_row(tmp_path):
    scores = [np.array([0.5, -0.8, -0.6, 0.1]), np.array([-0.9, 0.7, -0.6, 0.1])]
    paths = []
    for name, values in zip("ab", scores, strict=True):
        rows = [reply(f"{at}", f"Ask {at}?", f"{x}", float(x)) for at, x in enumerate(values)]
        table = pa.table(
            {
                "prompt": [row.prompt for row in rows],
                "reply": [row.reply for row in rows],
                "flag": [row.verdict.flag for row in rows],
                "score": values,
                "_row": pa.array(range(4), pa.int64()),
            }
        )
        paths.append(corpus_folder(tmp_path / name, audit_record(rows), table))
    found = compare_runs(*paths, gate="newly_flagged<=0.5 and flagged_change_care<=0").statistics
    assert found["gate"].met
    assert found["flagged"]["newly_flagged"].value == 0.25
    assert found["flagged"]["newly_cleared"].value == 0.25
    assert found["newly_flagged"][0].reply_after == "-0.9"
    assert found["other_replies"] == 2
    records = [path / "_run" / "record.json" for path in paths]
    sums = compare_runs(*records).statistics  # the records alone tell the sums
    assert sums["flagged"]["change"].value == found["flagged"]["change"].value == 0
    assert sums["change"].value == pytest.approx(found["change"].value)


def test_records_of_corpus_runs_compare_their_sums(tmp_path):
    records = []
    for name, values in (("a", [0.1, 0.2, 0.3, 0.4]), ("b", [0.0, 0.1, 0.2])):
        record = score_record([(str(at), x) for at, x in enumerate(values)])
        place = folder(tmp_path / name, np.array(values), record=record)
        records.append(place / "_run" / "record.json")
    record = compare_runs(*records, gate="mean_change>=-0.2 and missing<=1")
    found = record.statistics
    assert found["gate"].met
    assert found["change"].value == pytest.approx(-0.15)
    expected = scipy_stats.norm.sf(0.15 / np.sqrt(0.129099**2 / 4 + 0.1**2 / 3)) * 2
    assert found["change"].p == pytest.approx(expected, rel=1e-3)
    assert any("give both folders" in line for line in record.warnings)
    with pytest.raises(InputError, match="asks for 'spearman', which sums do not have"):
        compare_runs(*records, gate="spearman>=0.9")


def test_another_text_in_a_row_is_refused(tmp_path, many):
    before, after = many
    one = folder(tmp_path / "a", before)
    texts = scored(np.arange(12_000), after).to_pydict()
    texts["action"][6_001] = "else"
    two = corpus_folder(tmp_path / "b", score_record([("a", 0.1)]), pa.table(texts))
    with pytest.raises(InputError, match="row 6,001 has another action in"):
        compare_runs(one, two)


def test_what_is_no_finished_run_is_refused(tmp_path):
    done = folder(tmp_path / "done", np.array([0.1, 0.2, 0.3]))
    half = folder(tmp_path / "half", np.array([0.1, 0.2, 0.3]))
    (half / "_run" / "record.json").unlink()
    with pytest.raises(InputError, match=r"is not finished; .*--resume"):
        compare_runs(done, half)
    (tmp_path / "else").mkdir()
    with pytest.raises(InputError, match="holds no run"):
        compare_runs(done, tmp_path / "else")
    with pytest.raises(InputError, match="are a folder and a file"):
        compare_runs(done, done / "_run" / "record.json")
    plain = saved(tmp_path, "run.json", score_record([("a", 0.1)]))
    with pytest.raises(InputError, match="is the record of a corpus run, the other is not"):
        compare_runs(plain, done / "_run" / "record.json")
    (done / "part-000000.parquet").unlink()
    with pytest.raises(InputError, match="holds no parts"):
        compare_runs(done, done)


@pytest.mark.parametrize(
    ("table", "line"),
    [
        (pa.table({"action": ["a"], "_row": [0]}), "has no column 'score'"),
        (pa.table({"score": [0.1], "_row": [0]}), "has no column 'action'"),
        (pa.table({"action": ["a"], "score": [0.1]}), "has no column '_row'"),
        (scored(np.array([100, 101]), [0.1, 0.2]), "have no row in common"),
    ],
)
def test_strange_parts_are_refused(tmp_path, table, line):
    one = folder(tmp_path / "a", np.array([0.1, 0.2, 0.3]))
    two = corpus_folder(tmp_path / "b", score_record([("a", 0.1)]), table)
    with pytest.raises(InputError, match=line):
        compare_runs(one, two)


def test_a_damaged_part_is_refused_in_one_line(tmp_path, many):
    one = folder(tmp_path / "a", many[0])
    two = folder(tmp_path / "b", many[1])
    part = two / "part-000001.parquet"
    content = bytearray(part.read_bytes())
    content[200:-400] = b"\0" * (len(content) - 600)
    part.write_bytes(content)
    with pytest.raises(InputError, match=r"cannot be read .*part-000001.parquet") as caught:
        compare_runs(one, two)
    assert "\n" not in str(caught.value)
    part.write_bytes(b"not parquet")
    with pytest.raises(InputError, match=r"cannot be read .*part-000001.parquet"):
        compare_runs(one, two)


def test_memory_does_not_grow_with_the_rows(tmp_path):
    generator = np.random.default_rng(1)
    peaks = []
    for rows in (20_000, 80_000):
        values = generator.normal(0, 1, rows)
        paths = [
            folder(tmp_path / f"{name}{rows}", values + shift, rows_a_part=10_000)
            for name, shift in (("a", 0.0), ("b", 0.1))
        ]
        compare_runs(*paths)  # what is loaded once does not count
        tracemalloc.start()
        compare_runs(*paths)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0], peaks
