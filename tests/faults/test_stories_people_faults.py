"""Packs that come back wrong: every fault is one line with its place, nothing is guessed."""

import csv
import json

import pytest

from moralscope.core.errors import InputError
from moralscope.stories.people import StrategyOutput, read_pack, write_pack

CONTEXT = {"norm": "Pay.", "situation": "A shop.", "intention": "Jo wants bread."}


def outputs(strategy="a", texts=("Jo pays.", "Jo steals.", "Jo waits.")):
    return [
        StrategyOutput(strategy, str(place), "moral", text, CONTEXT)
        for place, text in enumerate(texts)
    ]


@pytest.fixture
def pack(tmp_path):
    folder = tmp_path / "pack"
    write_pack(outputs(), "action", folder, 2, 3)
    for path in (folder / "sheets").glob("*.csv"):
        change(path, lambda rows: [row.update(coherence="1") for row in rows])
    return folder


def change(path, edit):
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    names = list(rows[0])
    edit(rows)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, names)
        writer.writeheader()
        writer.writerows(rows)


def read(folder, *names, key=None):
    paths = [folder / "sheets" / name for name in names or ("rater-1.csv", "rater-2.csv")]
    return read_pack(paths, key or folder / "key.json")


def set_cell(column, value):
    return lambda rows: rows[1].update({column: value})


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (set_cell("coherence", "7"), r"line 3 has coherence = '7'; write 1 \(yes\), 0 \(no\)"),
        (set_cell("norm", "maybe"), "line 3 has norm = 'maybe'"),
        (set_cell("item", "item-9999"), "line 3 has unknown item 'item-9999'"),
        (set_cell("text", "Jo sings."), "line 3 has another text than"),
        (set_cell("rater", "rater-2"), "mixes the sheets of rater-1 and rater-2"),
        (set_cell("rater", "me"), "line 3 has rater 'me'"),
        (set_cell("pack", "000000000000"), "line 3 belongs to pack '000000000000'"),
        (lambda rows: rows.append(dict(rows[0])), "line 5 repeats"),
        (lambda rows: rows.clear(), "is an empty sheet"),
    ],
)
def test_a_cell_that_is_wrong_is_named_by_line(pack, edit, said):
    change(pack / "sheets" / "rater-1.csv", edit)
    with pytest.raises(InputError, match=said):
        read(pack)


def test_a_sheet_of_another_pack_is_refused(pack, tmp_path):
    other = tmp_path / "other"
    write_pack(outputs(texts=("Jo sings.",)), "action", other, 2, 3)
    with pytest.raises(InputError, match="belongs to pack"):
        read(pack, key=other / "key.json")


def test_two_raters_files_swapped_are_noticed(pack):
    first, second = (pack / "sheets" / f"rater-{number}.csv" for number in (1, 2))
    kept = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(kept)
    with pytest.raises(InputError, match=r"rater-1.csv holds the sheet of rater-2"):
        read(pack)


def test_a_rater_with_two_different_sheets_is_refused(pack):
    other = pack / "sheets" / "late.csv"
    other.write_bytes((pack / "sheets" / "rater-1.csv").read_bytes())
    change(other, set_cell("coherence", "0"))
    with pytest.raises(InputError, match="are both the sheet of rater-1 and differ"):
        read(pack, "rater-1.csv", "late.csv")


def test_a_column_sorted_alone_is_noticed(pack):
    def sort_texts(rows):
        texts = sorted((row["text"] for row in rows), reverse=True)
        texts = texts[1:] + texts[:1] if [row["text"] for row in rows] == texts else texts
        for row, text in zip(rows, texts, strict=True):
            row["text"] = text

    change(pack / "sheets" / "rater-1.csv", sort_texts)
    with pytest.raises(InputError, match="sort whole rows"):
        read(pack)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"pack,rater\n1,2\n", "has no column 'item'"),
        (b"\xff\xfe\x00", "line 1 is not valid UTF-8"),
        (b'pack,rater,item,text,coherence,intention,norm\n"a', "is not CSV"),
        (b"pack,rater,item,text,coherence,intention,norm\nx\n", "line 2 has 1 cells, the header 7"),
    ],
)
def test_a_file_that_is_no_sheet_is_refused(pack, content, said):
    (pack / "sheets" / "rater-1.csv").write_bytes(content)
    with pytest.raises(InputError, match=said):
        read(pack)


@pytest.mark.parametrize("line", ["[]", "{", '{"schema": "x"}', '{"schema": null}', "[" * 9999])
def test_a_line_that_is_no_row_is_refused(pack, line):
    (pack / "sheets" / "rater-1.jsonl").write_text(line + "\n")
    with pytest.raises(InputError, match="line 1"):
        read(pack, "rater-1.jsonl")


def test_sheets_without_answers_and_no_sheets_are_refused(pack):
    with pytest.raises(InputError, match="hold no ratings"):
        read(pack, "rater-1.jsonl", "rater-2.jsonl")
    with pytest.raises(InputError, match="there are no sheets"):
        read_pack([], pack / "key.json")
    with pytest.raises(InputError, match="cannot be read"):
        read(pack, "rater-7.csv")


def test_a_changed_key_is_refused(pack):
    key = pack / "key.json"
    found = json.loads(key.read_text())
    found["items"][0]["strategies"] = ["mine"]
    key.write_text(json.dumps(found))
    with pytest.raises(InputError, match="was changed after it was written"):
        read(pack)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": "moralscope.run/1"}', "null"])
def test_a_file_that_is_no_key_is_refused(pack, content):
    (pack / "key.json").write_text(content)
    with pytest.raises(InputError, match=r"key\.json"):
        read(pack)


def test_a_pack_is_never_written_over(pack):
    before = sorted((path.name, path.read_bytes()) for path in (pack / "sheets").iterdir())
    with pytest.raises(InputError, match="already holds a pack"):
        write_pack(outputs(), "action", pack)
    after = sorted((path.name, path.read_bytes()) for path in (pack / "sheets").iterdir())
    assert after == before


@pytest.mark.parametrize(
    ("given", "task", "options", "said"),
    [
        ([], "action", {}, "there are no texts to judge"),
        (outputs(), "actions", {}, "did you mean 'action'"),
        (outputs(), "action", {"raters": 0}, "0 raters"),
        (outputs(), "action", {"sample": 0}, "0 samples"),
        (outputs() + outputs(), "action", {}, "has two texts for story '0'"),
        (outputs(), "consequence", {}, "the sentences that raters need"),
        ([*outputs(), StrategyOutput("b", "9", "moral", "x", CONTEXT)], "action", {}, "no story"),
        ([StrategyOutput("b", "9", "good", "x", CONTEXT)], "action", {}, "target 'good'"),
    ],
)
def test_outputs_that_make_no_pack_are_refused(tmp_path, given, task, options, said):
    with pytest.raises(InputError, match=said):
        write_pack(given, task, tmp_path / "new", **options)
    assert not (tmp_path / "new").exists()
