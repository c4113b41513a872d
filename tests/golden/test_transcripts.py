"""What every command answers, frozen: a change of the inside must not change a word or a figure.

Cases are in `transcripts/*.toml`, answers in `transcripts/NAME.json`. Only `python -m moralscope`
is relied upon, so files and modules may move. `MORALSCOPE_FREEZE=1` writes the answers anew: do so
only where a change of behaviour is wanted, and read the difference.

A case has a `name` and `argv`, and may have:
`use` (names of shared files to write), `files` (files of its own: text, or `rows` to repeat),
`models` (folder = kind of tiny model), `stdin`, `env`, `before` (commands that must succeed),
`show` (files and folders to read back), `drop` (keys that differ by machine), `pick` (the only
parts to keep), `most` (items kept of a long list),
`digits` (4 for real weights) and `markers`.
An `[[errors]]` entry is a list of calls, of each of which code and line on stderr are kept.
"""

import io
import json
import math
import os
import re
import tomllib
from pathlib import Path

import pytest

from moralscope.__main__ import main

from .transcript_models import MAKERS

FOLDER = Path(__file__).with_name("transcripts")
FREEZE = "MORALSCOPE_FREEZE"
DIGITS = 6
NOTHING = 1e-6  # what is nearer to 0 is noise
DROPPED = {"created", "version", "seconds", "lock", "plan.sqlite", "progress.json"}
TIMINGS = re.compile(r"(^|_)(seconds|per_second|elapsed|took)$")
ROOT = Path(__file__).parents[2]


def read_cases():
    shared, cases = {}, []
    for path in sorted(FOLDER.glob("*.toml")):
        content = tomllib.loads(path.read_text("utf-8"))
        assert not shared.keys() & content.get("files", {}).keys()
        shared |= content.get("files", {})
        cases += content.get("case", [])
        cases += [entry | {"errors": True} for entry in content.get("errors", [])]
    names = [case["name"] for case in cases]
    assert len(names) == len(set(names)), "each name stands once"
    return shared, cases


SHARED, CASES = read_cases()


def parameters():
    return [
        pytest.param(
            case, id=case["name"], marks=[getattr(pytest.mark, m) for m in case.get("markers", [])]
        )
        for case in CASES
    ]


# Before a command runs.


def write_file(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict):  # rows that repeat; <n> is their number
        rows = content["rows"]
        lines = [rows[n % len(rows)].replace("<n>", str(n)) for n in range(content["count"])]
        content = "\n".join([*content.get("head", []), *lines]) + "\n"
    if path.suffix == ".parquet":  # given as JSON lines
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(
            pa.Table.from_pylist([json.loads(row) for row in content.split("\n") if row]), path
        )
    else:
        path.write_text(content, "utf-8")


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    def run(words, stdin=""):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main(list(words))
        done = capsys.readouterr()
        return int(stopped.value.code or 0), done.out, done.err

    return run


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return how to go to a folder that holds what a case reads."""

    def go(case):
        work = tmp_path / "work"
        work.mkdir()
        monkeypatch.chdir(work)
        markers = case.get("markers", [])
        if "slow" not in markers:  # no weights: a store of its own, empty and offline
            monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path / "home"))
            monkeypatch.setenv("MORALSCOPE_OFFLINE", "1")
        if "realdata" not in markers:
            monkeypatch.delenv("MORALSCOPE_DATA", raising=False)
        elif not os.environ.get("MORALSCOPE_DATA"):
            pytest.skip("MORALSCOPE_DATA is not set")
        for name, value in case.get("env", {}).items():
            monkeypatch.setenv(name, value)
        for name in case.get("use", []):
            write_file(work / name, SHARED[name])
        for name, content in case.get("files", {}).items():
            write_file(work / name, content)
        for name, kind in case.get("models", {}).items():
            MAKERS[kind](work / name)
        return work

    return go


# After it: what is kept of what it said and wrote.


def read_back(path):
    """Return what a file or folder holds, so that two runs can be compared."""
    if path.is_dir():
        found = {
            str(p.relative_to(path)): read_back(p) for p in sorted(path.rglob("*")) if p.is_file()
        }
        return {k: v for k, v in found.items() if Path(k).name not in DROPPED}
    if not path.is_file():
        return None
    suffix = path.suffix
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        return {
            "columns": {field.name: str(field.type) for field in table.schema},
            "rows": table.to_pylist(),
        }
    if suffix == ".safetensors":
        from safetensors import safe_open

        with safe_open(path, "numpy") as held:
            shapes = {name: held.get_slice(name).get_shape() for name in sorted(held.keys())}
            return {"tensors": shapes, "metadata": sorted(held.metadata() or {})}
    if suffix in {".db", ".sqlite", ".sqlite3", ".png", ".pdf", ".svg", ".html"}:
        return "a file" if path.stat().st_size else "an empty file"
    text = path.read_text("utf-8-sig")
    if suffix == ".json":
        held = json.loads(text)
        if path.name == "manifest.json":  # how a corpus run is kept up is our own business
            held = {key: held[key] for key in held if key not in ("fingerprint", "work", "inputs")}
            held["parts"] = [without_checksums(part) for part in held["parts"]]
        return held
    if suffix == ".jsonl":
        return [without_checksums(json.loads(line)) for line in text.splitlines()]
    return text.splitlines()


def without_checksums(held):
    """Return an entry whose checksums of bytes, which change with pyarrow, are only there."""
    return {
        key: "<bytes>" if value and key.endswith("sha256") else value for key, value in held.items()
    }


def said(text):
    try:
        return json.loads(text)
    except ValueError:
        lines = [line.rstrip() for line in text.splitlines()]
    notes = [at for at, line in enumerate(lines) if line.startswith("note: ")]
    if not notes:
        return lines
    # Where a note is wrapped depends on the length of the paths in it: notes are one line here.
    *tables, last = [*lines[: notes[0]], " ".join(lines[notes[0] :])]
    return [*tables, *(f"note: {each.strip()}" for each in last.split("note: ") if each)]


class Normal:
    """Leaves out what differs by machine, moment or folder."""

    def __init__(self, case, tmp_path):
        self._drop = DROPPED | set(case.get("drop", []))
        self._digits = case.get("digits", DIGITS)
        self._most = case.get("most", 24)
        data = os.environ.get("MORALSCOPE_DATA")
        home = os.environ.get("MORALSCOPE_HOME") or Path.home() / ".cache/moralscope"
        places = {home: "<home>", tmp_path / "work": "<work>", tmp_path: "<tmp>", ROOT: "<repo>"}
        if data:
            places = {data: "<data>"} | places
        self._places = {str(path): name for path, name in places.items()}

    def __call__(self, value):
        if isinstance(value, dict):
            return {self(k): self(v) for k, v in value.items() if not self._is_dropped(k, value)}
        if isinstance(value, list | tuple):
            return self._list(list(value))
        if isinstance(value, float):
            return self._number(value)
        return self._text(value) if isinstance(value, str) else value

    def _is_dropped(self, key, inside):
        rate = key == "rate" and "resumed_parts" in inside  # rows a second of a corpus run
        return rate or key in self._drop or bool(TIMINGS.search(key))

    def _list(self, items):
        if len(items) <= self._most:
            return [self(item) for item in items]
        step = math.ceil(len(items) / self._most)
        return {"<list of>": len(items), "<every>": step, "<items>": self(items[::step])}

    def _number(self, value):
        if not math.isfinite(value):
            return str(value)
        return 0.0 if abs(value) < NOTHING else float(f"{value:.{self._digits}g}")

    def _text(self, text):
        for path, name in self._places.items():
            text = text.replace(path, name)
        text = re.sub(r"\b\d+(\.\d+)? s(econds)?\b|\b\d+:\d\d:\d\d\b", "<seconds>", text)
        text = re.sub(r"[\d.,]+ rows per second", "<rate>", text)
        text = re.sub(r"\b([pt])-[a-z0-9]{12}\b", r"\1-<id>", text)
        return re.sub(r"\d{4}-\d\d-\d\dT[\d:.+]+Z?", "<time>", text)


def picked(value, parts):
    found = {}
    for part in parts:
        at = value
        for key in part.split("."):
            at = at[int(key)] if isinstance(at, list) else at[key]
        found[part] = at
    return found


def differences(old, new, digits, path="$"):
    """Return a line for every JSON path at which two answers differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        lines = [f"{path}.{key}: gone (was {short(old[key])})" for key in old if key not in new]
        lines += [f"{path}.{key}: new: {short(new[key])}" for key in new if key not in old]
        both = [key for key in old if key in new]
        return lines + [
            x for key in both for x in differences(old[key], new[key], digits, f"{path}.{key}")
        ]
    if isinstance(old, list) and isinstance(new, list):
        lines = [] if len(old) == len(new) else [f"{path}: {len(old)} items became {len(new)}"]
        pairs = enumerate(zip(old, new, strict=False))
        return lines + [x for n, (a, b) in pairs for x in differences(a, b, digits, f"{path}[{n}]")]
    numbers = [type(item) in (int, float) for item in (old, new)]
    if all(numbers) and float in (type(old), type(new)):
        if math.isclose(old, new, rel_tol=2 * 10.0 ** (1 - digits), abs_tol=NOTHING):
            return []
    elif type(old) is type(new) and old == new:
        return []
    return [f"{path}: {short(old)} became {short(new)}"]


def short(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"


def compact(value, indent=0):
    """JSON, a line for each part that is short enough."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) + indent <= 100 or not isinstance(value, dict | list) or not value:
        return text
    pad = " " * (indent + 1)
    if isinstance(value, list):
        parts = [compact(item, indent + 1) for item in value]
    else:
        parts = [
            f"{json.dumps(k, ensure_ascii=False)}: {compact(v, indent + 1)}"
            for k, v in value.items()
        ]
    opening, closing = ("[", "]") if isinstance(value, list) else ("{", "}")
    return f"{opening}\n{pad}" + f",\n{pad}".join(parts) + f"\n{' ' * indent}{closing}"


def prepare(case, call, work):
    for words in case.get("before", []):
        code, _, err = call(words)
        assert code == 0, err


def transcript_of_errors(case, call):
    answers = []
    for words in case["calls"]:
        code, out, err = call([*case["command"], *words], case.get("stdin", ""))
        answers.append({"argv": words, "exit": code, "stderr": err.splitlines()})
        if out:
            answers[-1]["stdout"] = said(out)
    return answers


def transcript_of_case(case, call, work):
    code, out, err = call(case["argv"], case.get("stdin", ""))
    answer = {"argv": case["argv"], "exit": code, "stdout": said(out)}
    if "pick" in case:
        answer["stdout"] = picked(answer["stdout"], case["pick"])
    told = [line for line in err.splitlines() if line.startswith(("error: ", "warning: "))]
    if told:
        answer["stderr"] = told
    for name in case.get("show", []):
        answer.setdefault("files", {})[name] = read_back(work / name)
    return answer


@pytest.mark.parametrize("case", parameters())
def test_transcript(case, call, place, tmp_path):
    work = place(case)
    prepare(case, call, work)
    normal = Normal(case, tmp_path)
    if case.get("errors"):
        answer = {"calls": transcript_of_errors(case, call)}
        normal._most = len(answer["calls"])
    else:
        answer = transcript_of_case(case, call, work)
    answer = normal(answer)
    path = FOLDER / f"{case['name']}.json"
    if os.environ.get(FREEZE):
        path.write_text(compact(answer) + "\n", "utf-8")
        return
    frozen = json.loads(path.read_text("utf-8"))
    lines = differences(frozen, json.loads(json.dumps(answer)), case.get("digits", DIGITS))
    shown = "\n  ".join(lines[:40] + [f"and {len(lines) - 40} more"] * (len(lines) > 40))
    assert not lines, f"'{case['name']}' answers otherwise:\n  {shown}"


def test_every_answer_has_its_case():
    assert {path.stem for path in FOLDER.glob("*.json")} == {case["name"] for case in CASES}
