"""Files that are none (pipes, devices), and files whose names are odd."""

import os
import signal

import pytest

from moralscope.batch.sources import open_corpus
from moralscope.cli import main

DOORS = {
    "score": ["score", "--file", "{}.txt", "--encoder", "scripted"],
    "score of a table": ["score", "--file", "{}.parquet", "--encoder", "scripted", "--out", "run"],
    "human ratings": ["score", "a", "--human", "{}.csv", "--encoder", "scripted"],
    "audit": ["audit", "{}.csv", "--experts", "scripted"],
    "rulebook": ["rules", "lint", "--rulebook", "{}.yaml"],
    "report": ["report", "{}.json"],
    "prompts": ["collect", "{}.txt", "--bot", "scripted", "--out", "replies.jsonl"],
    "survey": ["survey", "{}.csv", "--model", "scripted"],
    "agreement": ["agreement", "{}.csv"],
    "vectors": ["words", "associate", "a", "--vectors", "{}.bin"],
    "encoder": ["score", "a", "--encoder", "{}.safetensors"],
    "control vector": ["steer", "import", "{}.gguf", "--model", "scripted", "--save", "x"],
    "torch file": ["steer", "import", "{}.pt", "--model", "scripted", "--save", "x"],
}


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("words", DOORS.values(), ids=DOORS)
def test_pipes_and_devices_are_refused_in_one_line(words, kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for word in words:
        path = tmp_path / word.format("a")
        if "{}" in word and not path.is_symlink() and not path.exists():
            os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")

    def hangs(*_):
        raise AssertionError("it hangs")

    signal.signal(signal.SIGALRM, hangs)
    signal.alarm(60)
    try:
        with pytest.raises(SystemExit) as ended:
            main([word.format("a") for word in words])
    finally:
        signal.alarm(0)
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert "unexpected" not in error
    assert next(word for word in words if "{}" in word).format("a") in error
    assert "No such option" not in error


NAMES = ["a[1]*?.csv", "b\x1b]0;x\x07.csv", "c ☃ #%20;&.csv", "d::e.csv", "-f.csv", "g\nh.csv",
         os.fsdecode(b"i\xff\xfe.csv"), "s3:j.csv", "'\"$(k).csv"]  # fmt: skip


def test_files_with_odd_names_are_found_in_a_folder_and_by_themselves(tmp_path):
    folder = tmp_path / "in [1]*"
    folder.mkdir()
    for number, name in enumerate(NAMES):
        (folder / name).write_text(f"action\nhelp {number} people\n")
    whole = open_corpus([str(folder)], ["action"])
    texts = [text for _, rows in whole.scan(8) for text in rows.columns["action"]]
    assert sorted(texts) == [f"help {number} people" for number in range(len(NAMES))]
    for file in whole.files:
        file.name.encode()  # can be written anywhere
    for number, name in enumerate(NAMES):
        one = open_corpus([str(folder / name)], ["action"])
        ((_, rows),) = one.scan(8)
        assert rows.columns["action"] == (f"help {number} people",)


@pytest.mark.slow
def test_a_run_over_odd_names_is_recorded_and_a_finished_one_keeps_its_record(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    for name in NAMES:
        (tmp_path / "in" / name).write_text("action\nhelp people\nkill time\n")
    words = ["score", "--file", "in", "--encoder", "scripted", "--axis", "choice", "--out", "run/"]
    kept = []
    for more in ([], ["--resume"]):
        with pytest.raises(SystemExit) as ended:
            main([*words, *more])
        assert ended.value.code == 0, capsys.readouterr().err
        record = tmp_path / "run" / "_run" / "record.json"
        kept.append((record.read_bytes(), record.stat().st_mtime_ns))
    assert kept[0] == kept[1]
