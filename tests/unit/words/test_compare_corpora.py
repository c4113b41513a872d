import json
import os
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.pages.corpora import sparkline
from moralscope.words.compare import compare_corpora, compare_over_time
from moralscope.words.options import CorporaOptions

GOOD, BAD = ["help", "give", "heal"], ["steal", "kill", "curse"]
POSITIVE, NEGATIVE = ["joy", "peace", "love"], ["war", "death", "evil"]
QUICK = CorporaOptions(runs=3, dimensions=8)


def story(seed=0, sentences=1400, good=GOOD, bad=BAD):
    generator = np.random.default_rng(seed)
    groups = ((good, POSITIVE, "gladly"), (bad, NEGATIVE, "darkly"))
    lines = []
    for _ in range(sentences):
        verbs, company, how = groups[generator.integers(2)]
        lines.append(f"They {generator.choice(verbs)} {how} and find {generator.choice(company)}.")
    return "\n".join(lines)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def swap(text):
    other = {"steal": "give", "give": "steal"}
    return re.sub(r"(?i)\b(steal|give)\b", lambda found: other[found[0].lower()], text)


@pytest.fixture
def pair(tmp_path):
    plain = write(tmp_path / "plain" / "a.txt", story()).parent
    copy = write(tmp_path / "copy" / "a.txt", swap(story())).parent
    return [("plain", plain), ("copy", copy)]


def test_a_swapped_copy_shows_the_swap_and_the_record_is_whole(pair):
    told = []
    record = compare_corpora(pair, QUICK, report=lambda *numbers: told.append(numbers))
    assert {row.action for row in record.results[:2]} == {"steal", "give"}
    assert told[-1] == (6, 6)
    assert [text["words"] for text in record.config["corpora"]] == [8400, 8400]
    assert record.config["positive"] == ("joy", "love", "peace")
    assert "rainbow" in record.statistics["dropped_set_words"]
    assert any("plain has only 8,400 words" in line for line in record.warnings)
    assert any("actions are too rare and were left out" in line for line in record.warnings)
    json.dumps(to_plain(record), allow_nan=False)


def test_the_same_seed_gives_the_same_record(pair):
    one, same, other = (compare_corpora(pair, replace(QUICK, seed=seed)) for seed in (4, 4, 5))
    assert one == same
    assert one.results != other.results


def test_three_corpora_are_compared_two_by_two(tmp_path, pair):
    third = write(tmp_path / "third.txt", story(seed=9))
    record = compare_corpora([*pair, ("third", third)], QUICK)
    pairs = {(row.first.corpus, row.second.corpus) for row in record.results}
    assert pairs == {("plain", "copy"), ("plain", "third"), ("copy", "third")}


def test_words_of_the_user_are_compared_once_each(tmp_path, pair):
    words = write(tmp_path / "words.txt", "Steal\nhelp\nsteal\nyodel\n")
    record = compare_corpora(pair, CorporaOptions(words=words, runs=3, dimensions=8))
    assert {row.action for row in record.results} == {"steal", "help"}
    assert record.statistics["dropped_actions"] == ("yodel",)
    assert any("holds 1 words twice" in line for line in record.warnings)


def test_the_same_text_twice_is_said(pair):
    record = compare_corpora([pair[0], ("again", pair[0][1])], QUICK)
    assert any("plain and again hold the same text" in line for line in record.warnings)


def test_over_time_follows_actions_through_the_periods(tmp_path):
    for year, text in ((1801, story()), (1830, story(1)), (1855, swap(story(2))), (1990, "Few.")):
        write(tmp_path / "x" / f"speech-{year}.txt", text)
    record = compare_over_time(tmp_path / "x", QUICK)
    assert record.config["periods"] == ["1800-1824", "1825-1849", "1850-1874"]
    assert {row.action for row in record.results[:2]} == {"steal", "give"}
    assert any("1975-1999 was left out: it has only 1 words" in line for line in record.warnings)
    json.dumps(to_plain(record), allow_nan=False)


def test_over_time_needs_two_periods_with_text(tmp_path):
    write(tmp_path / "x" / "speech-1801.txt", story())
    with pytest.raises(InputError, match="1 of 1 periods have 5,000 words or more"):
        compare_over_time(tmp_path / "x", QUICK)


def test_a_corpus_of_two_hundred_words_is_refused(tmp_path, pair):
    small = write(tmp_path / "small.txt", "give " * 200)
    with pytest.raises(InputError, match=r"small has 200 words; word vectors need at least 5,000"):
        compare_corpora([pair[0], ("small", small)], QUICK)


@pytest.mark.parametrize(
    ("names", "problem"),
    [(["plain"], "only one corpus"), (["plain", "plain"], "two corpora are called 'plain'")],
)
def test_one_corpus_and_two_of_a_name_are_refused(pair, names, problem):
    with pytest.raises(InputError, match=problem):
        compare_corpora([(name, pair[0][1]) for name in names], QUICK)


@pytest.mark.parametrize("name", ["[red]", "", "a\nb", "x" * 41])
def test_names_that_could_harm_a_table_are_refused(pair, name):
    with pytest.raises(InputError, match="cannot name a corpus"):
        compare_corpora([pair[0], (name, pair[1][1])], QUICK)


def test_a_missing_path_is_refused_before_anything_is_read(tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"\xff")
    with pytest.raises(InputError, match="nowhere is neither a file nor a folder"):
        compare_corpora([("bad", bad), ("lost", tmp_path / "nowhere")], QUICK)


def test_phrases_are_no_words(tmp_path, pair):
    words = write(tmp_path / "words.txt", "steal\nkill people\n")
    with pytest.raises(InputError, match="'kill people', which is not a single word"):
        compare_corpora(pair, CorporaOptions(words=words))


def test_two_runs_give_no_interval(pair):
    with pytest.raises(InputError, match="runs is 2; give 3 or more"):
        compare_corpora(pair, CorporaOptions(runs=2))


def test_a_sparkline_has_a_cell_a_period():
    assert sparkline([0.0, None, 50.0, 100.0]) == "▁·▅█"


def memory(what):
    """Return this process's memory (VmRSS: now, VmHWM: at its peak) in KiB."""
    return int(re.search(rf"{what}:\s+(\d+)", Path("/proc/self/status").read_text())[1])


@pytest.mark.slow
@pytest.mark.realdata
def test_bible_and_suttas_in_time_and_a_planted_swap_on_top(tmp_path):
    """Bounds: 5 minutes and 2 GB on two cores for the Bible and the suttas, six runs each.

    Here three corpora have three runs each, 9 of those 12 trainings, hence 225 seconds. They are
    counted as if one core did it all: others may be at work here.
    """
    root = Path(os.environ.get("MORALSCOPE_DATA", "nowhere"))
    root = root / "corpora" if (root / "corpora").is_dir() else root
    bible, suttas = root / "kjv", root / "pali_suttas"
    if not (bible.is_dir() and suttas.is_dir()):
        pytest.skip("set MORALSCOPE_DATA to the folder that holds corpora/kjv and pali_suttas")
    for path in suttas.glob("*.txt"):
        write(tmp_path / "swapped" / path.name, swap(path.read_text("utf-8")))
    corpora = [("bible", bible), ("suttas", suttas), ("swapped", tmp_path / "swapped")]

    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of the tests before this one
    start, held = time.process_time(), memory("VmRSS")
    record = compare_corpora(corpora, CorporaOptions(runs=3))
    assert time.process_time() - start < 225
    assert memory("VmHWM") - held < 2 * 1024**2  # KiB
    for side in record.statistics["paper_percentiles"].values():
        assert side["dos"] - side["donts"] > 25

    def rows(*names):
        return [row for row in record.results if (row.first.corpus, row.second.corpus) == names]

    assert {row.action for row in rows("suttas", "swapped")[:2]} == {"steal", "give"}

    # Against another corpus every word is displaced; the swap is what displaces two words more.
    before = {row.action: row.displacement for row in rows("bible", "suttas")}
    other = rows("bible", "swapped")
    more = sorted(other, key=lambda row: before[row.action] - row.displacement)
    assert {"steal", "give"} <= {row.action for row in more[:3]}
    assert {"steal", "give"} & {row.action for row in other[:3]}
