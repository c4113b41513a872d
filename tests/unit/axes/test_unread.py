"""Whatever stands in an action is read, or the record says that it was not."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moralscope.axes.build import LocalModels, build_axis
from moralscope.axes.options import AxisOptions
from moralscope.axes.score import score
from moralscope.cli.root import app
from moralscope.models.classifiers.experts import Experts
from moralscope.models.hugging_face import folder_checksum

from ...expert_makers import save_trained, tiny_bert, trained

_TEXT = (
    "the a we they went home garden river talked about dinner music friend letter told should not "
    "help lies pays good bad kind rude and then because under over quite"
)
WORDS = _TEXT.split()
AXES = ("choice", "direction", "judge")


@pytest.fixture(scope="module")
def experts(tmp_path_factory):
    base = tiny_bert(tmp_path_factory.mktemp("base"))
    folder = save_trained(tmp_path_factory.mktemp("experts"), trained(base)[0], base)
    return Experts(folder, base, folder_checksum(base), "tiny")


@pytest.fixture(scope="module")
def encoder_folder(tmp_path_factory):
    """A sentence-transformers folder around the tiny BERT: it reads 48 tokens."""
    folder = tiny_bert(tmp_path_factory.mktemp("encoder"))
    mean = '{"word_embedding_dimension": 16, "pooling_mode_mean_tokens": true}'
    kinds = ("Transformer", ""), ("Pooling", "1_Pooling")
    lines = [
        f'{{"idx": {n}, "name": "{n}", "path": "{path}", "type": "sentence_transformers.{kind}"}}'
        for n, (kind, path) in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(f"[{', '.join(lines)}]")
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 48}')
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(mean)
    return folder


@pytest.fixture(scope="module")
def axes(experts, encoder_folder):
    class Models(LocalModels):
        def experts(self, name, **options):
            return experts

    found = {}
    for axis in AXES:
        options = {} if axis == "judge" else {"encoder": str(encoder_folder)}
        found[axis] = build_axis(AxisOptions(axis=axis, **options), Models(cached=False))
    return found


def changed(words, place, seed):
    """Put twenty other words at a place."""
    rng = random.Random(seed)
    others = [rng.choice([w for w in WORDS if w != old]) for old in words[place : place + 20]]
    return [*words[:place], *others, *words[place + len(others) :]]


def told(record):
    return any("not read whole" in line for line in record.warnings)


@pytest.mark.parametrize("axis", AXES)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(size=st.integers(21, 2000), where=st.floats(0, 1), seed=st.integers(0, 10**6))
def test_changing_any_twenty_words_changes_the_score_or_is_told(axes, axis, size, where, seed):
    words = random.Random(seed).choices(WORDS, k=size)
    texts = [" ".join(words), " ".join(changed(words, int(where * (size - 20)), seed))]
    record = score(texts, axis=axis, encoder="scripted", built=axes[axis])
    one, other = record.results
    assert one.score != other.score or told(record)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("where", [0.4, 0.99])
def test_of_100_kb_every_part_is_read_or_told(axes, axis, where):
    words = random.Random(1).choices(WORDS, k=18_500)
    texts = [" ".join(words), " ".join(changed(words, int(where * 18_480), 2))]
    assert 90_000 < len(texts[0]) <= 100_000
    record = score(texts, axis=axis, encoder="scripted", built=axes[axis])
    one, other = record.results
    assert one.score != other.score or told(record)


@pytest.mark.parametrize("axis", AXES)
def test_what_is_not_read_is_counted_a_row_and_told_once(axes, axis):
    record = score(
        ["help", "q " * 40_000, "help " + "ж" * 200],
        axis=axis,
        encoder="scripted",
        built=axes[axis],
    )
    counts = [result.unread for result in record.results]
    assert counts[0] == 0
    assert counts[1] >= 40_000 - 32_768
    assert counts[2] == 1
    (line,) = [line for line in record.warnings if "not read whole" in line]
    assert line.startswith(f"2 texts were not read whole ({sum(counts):,} tokens)")


def test_the_worst_part_of_a_long_action_counts(axes):
    judge = axes["judge"]
    calm = "jo good " * 400
    bad, fine = judge.score(["jo bad bad bad " * 12, calm])
    (mixed,) = judge.score([calm + "jo bad bad bad " * 12 + calm])
    assert bad.score < mixed.score + 0.05
    assert mixed.score < fine.score - 0.5 * (fine.score - bad.score)


def test_terminal_json_and_report_say_what_was_not_read(
    tmp_path,
    encoder_folder,
):
    import json

    from typer.testing import CliRunner

    file = tmp_path / "actions.txt"
    file.write_text("help\n" + "q " * 40_000 + "\n")
    page, record = tmp_path / "r.html", tmp_path / "r.json"
    options = ["score", "--axis", "choice", "-e", str(encoder_folder), "--file", str(file)]
    found = CliRunner().invoke(app, [*options, "--report", str(page), "--out", str(record)])
    assert found.exit_code == 0, found.output
    assert "1 text was not read whole" in found.output
    assert "1 text was not read whole" in page.read_text()
    saved = json.loads(record.read_text())
    assert [row["unread"] > 0 for row in saved["results"]] == [False, True]
    assert any("1 text was not read whole" in line for line in saved["warnings"])


def test_a_corpus_counts_what_was_not_read(tmp_path, encoder_folder):
    import json

    import pyarrow.parquet as pq
    from typer.testing import CliRunner

    file = tmp_path / "actions.csv"
    file.write_text("action\nhelp\n" + "q " * 40_000 + "\n")
    out = tmp_path / "out"
    options = ["score", "--axis", "choice", "-e", str(encoder_folder), "--file", str(file)]
    found = CliRunner().invoke(app, [*options, "--out", str(out) + "/"])
    assert found.exit_code == 0, found.output
    (part,) = sorted(out.glob("*.parquet"))
    assert [count > 0 for count in pq.read_table(part).column("unread").to_pylist()] == [
        False,
        True,
    ]
    record = json.loads((out / "_run" / "record.json").read_text())
    assert record["statistics"]["unread"]["rows"] == 1
    assert any("1 text was not read whole" in line for line in record["warnings"])


@pytest.mark.slow
@pytest.mark.parametrize("axis", AXES)
def test_minilm_reads_10_kb_whole(axis):
    words = random.Random(3).choices(WORDS, k=1900)
    texts = [" ".join(words), *(" ".join(changed(words, place, 4)) for place in (100, 900, 1880))]
    record = score(texts, axis=axis, encoder="minilm")
    assert len({result.score for result in record.results}) == len(texts)
    assert not told(record)


def test_the_tiny_folder_is_read_plainly(encoder_folder: Path):
    from moralscope.models.encoders.mean_pooling import plain_backend

    assert plain_backend(encoder_folder, "tiny", "0" * 64) is not None
