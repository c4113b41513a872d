"""`rules stats` describes a file of annotations and says what its reader must know."""

import csv
import json

import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.rules.annotations.reading import read_annotations
from moralscope.rules.annotations.statistics import stats


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def mic(tmp_path):
    labels = ("0", "2", "1")
    return write(
        tmp_path / "MIC.csv",
        [
            {
                "Q": f"Question {n}?",
                "A": "Yes.",
                "rot": f"You should not do {n}.",
                "rot-agree": 1 + (n + who) % 5,
                "violation-severity": 1 + n % 5,
                "moral": "care|liberty" if n % 2 else "",
                "A_agrees": labels[n % 3],
            }
            for n in range(30)
            for who in range(3)
        ],
    )


def test_the_record_holds_counts_bars_agreement_and_parts(mic):
    record = stats(mic)
    found = record.statistics
    assert found["counts"].annotations == 90
    assert found["split"]["exchanges"] == {"train": 24, "dev": 3, "test": 3}
    assert found["split"]["annotations"]["train"] == 72
    severity = next(r for r in found["reliability_same_rule"] if r.attribute == "severity")
    assert severity.alpha == 1.0
    consensus = next(r for r in found["reliability_same_rule"] if r.attribute == "consensus")
    assert consensus.alpha < 0.5
    liberty = next(bar for bar in record.results if bar.value == "liberty")
    assert liberty.share == 0.5
    assert any("no column for: revised reply, split" in line for line in record.warnings)
    json.dumps(to_plain(record), allow_nan=False)


def test_the_same_seed_gives_the_same_record(mic):
    first, again = (to_plain(stats(mic, seed=3).statistics) for _ in range(2))
    assert first == again


def test_a_scale_that_never_varies_is_told(tmp_path):
    rows = [{"Q": str(n), "A": "a", "rot": "r s t", "rot-agree": 5} for n in range(4)]
    assert any(
        "consensus is 5 in every row" in line
        for line in stats(write(tmp_path / "c.csv", rows)).warnings
    )


def test_two_exchanges_are_described_without_a_split(tmp_path):
    rows = [{"Q": str(n), "A": "a", "rot": "r s t"} for n in range(2)]
    assert stats(write(tmp_path / "two.csv", rows)).statistics["split"] is None


def test_without_a_file_the_users_own_is_read_or_the_way_to_it_told(mic, tmp_path, monkeypatch):
    monkeypatch.setenv("MORALSCOPE_DATA", str(tmp_path))
    with pytest.raises(InputError, match="moralscope data where mic"):
        read_annotations()
    (tmp_path / "mic").mkdir()
    mic.rename(tmp_path / "mic" / "MIC.csv")
    assert len(read_annotations().annotations) == 90
