import io
import json

import pytest

from moralscope.core.errors import InputError
from moralscope.io.actions import check_actions, read_actions


def write(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_a_text_file_holds_an_action_a_line(tmp_path):
    path = write(tmp_path, "actions.txt", "\ufeffkill people\n  kill time \r\neat über\n\n\n")
    assert read_actions(path).actions == ["kill people", "kill time", "eat über"]


def test_a_csv_file_has_an_action_column(tmp_path):
    path = write(tmp_path, "a.csv", 'id,Action\n1,"kill, time"\n2,kill people\n')
    assert read_actions(path).actions == ["kill, time", "kill people"]


def test_paraphrases_come_from_csv_and_jsonl(tmp_path):
    table = write(tmp_path, "a.csv", "action,paraphrases\nkill time,idle|wait around\neat,\n")
    assert read_actions(table).paraphrases == [("idle", "wait around"), ()]
    rows = [{"action": "kill time", "paraphrases": ["idle"]}, {"action": "eat"}]
    lines = write(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert read_actions(lines).paraphrases == [("idle",), ()]


def test_a_stream_is_plain_lines():
    assert read_actions(io.BytesIO(b"kill time\n")).actions == ["kill time"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", "kill\n\ntime\n", "line 2 is an empty action"),
        ("a.txt", "", "holds no actions"),
        ("a.txt", "\n\n", "line 1 is an empty action|empty action"),
        ("a.txt", b"kill\nti\xffme\n", r"line 2 is not valid UTF-8 \(byte 0xff at 3\)"),
        ("a.txt", "kill " * 25_000, "line 1 has 124,999 characters; an action has at most 100,000"),
        ("a.txt", "x" * 5_000_000, "line 1 has more than 4,000,000 bytes"),
        ("a.txt", "ki\x00ll\n", "line 1 holds a character that is not text"),
        ("a.csv", "text,label\nkill,1\n", "has no column 'action' \\(columns: text, label\\)"),
        ("a.csv", "", "is empty"),
        ("a.csv", 'action\nkill\n""\neat\n', "line 3 is an empty action"),
        ("a.csv", 'action\n"kill\n', "line 2 isn't valid CSV: a quote is never closed"),
        ("a.jsonl", '{"action": "kill"}\n{"action": \n', "line 2 is not JSON"),
        ("a.jsonl", '{"text": "kill"}\n', r"line 1 has no column 'action' \(columns: text\)"),
        ("a.jsonl", '{"action": 7}\n', "line 1 has no text under 'action'"),
        ("a.jsonl", '["kill"]\n', "line 1 is not an object"),
        ("a.jsonl", '{"action": "\\ud800"}\n', "line 1 holds a character that is not text"),
        ("a.jsonl", '{"action": "a", "paraphrases": "b"}\n', "line 1 has paraphrases"),
        ("a.jsonl", "[" * 100_000, "line 1 is not JSON"),
    ],
)
def test_bad_input_is_refused_with_its_line(tmp_path, name, data, message):
    with pytest.raises(InputError, match=message) as caught:
        read_actions(write(tmp_path, name, data))
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_more_than_the_limit_is_refused_without_reading_on():
    class Endless(io.RawIOBase):
        lines = 0

        def readline(self, size=-1):
            self.lines += 1
            return b"kill time\n"

    stream = Endless()
    with pytest.raises(InputError, match="more than 1,000 actions"):
        read_actions(stream, max_actions=1000)
    assert stream.lines == 1001


def test_an_empty_argument_is_refused_by_number():
    with pytest.raises(InputError, match="actions number 2 is an empty action"):
        check_actions(["kill time", "  "])


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_actions(tmp_path / "none.txt")
    with pytest.raises(InputError, match="cannot be read"):
        read_actions(tmp_path)
