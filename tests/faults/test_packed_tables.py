"""Tables that stand for far more than their size, through every door that reads one."""

import gzip
import json
import os
import subprocess
import sys
import textwrap

import pytest

from moralscope.batch.sources import open_corpus
from moralscope.core.errors import InputError

from ..fuzz.parquet_bombs import bombs

LONGEST, LARGEST = 1.0, 200  # seconds of the processor, megabytes beside what is loaded
CHILD = """
    import json, resource, sys, time
    from pathlib import Path
    import pyarrow.compute, pyarrow.parquet
    from moralscope.annotation.agreement_files import read_judgments
    from moralscope.batch.sources import open_corpus
    from moralscope.core.errors import MoralscopeError
    from moralscope.io.actions import read_actions
    from moralscope.rules.collect.files import read_prompts
    from moralscope.rules.texts.exchanges import open_exchanges
    from moralscope.server.site.pages import read_upload

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    doors = {
        "score --file": read_actions,
        "audit": lambda path: open_exchanges(path, {"prompt": "action", "reply": "action"}),
        "collect": lambda path: read_prompts(path, {"prompt": "action"}),
        "agreement": lambda path: read_judgments(path, {"item": "action", "person": "action"}),
        "upload": lambda path: read_upload(path.name, path.read_bytes()),
        "corpus": lambda path: [rows.table.num_rows for _, rows in
                                open_corpus([str(path)], ["action"]).scan(2048)],
    }
    before, answers = peak(), {}
    for name in sys.argv[1:]:
        for door, read in doors.items():
            began = time.process_time()
            try:
                answer = [type(read(Path(name))).__name__]
            except MoralscopeError as error:
                answer = str(error)
            took = time.process_time() - began
            answers[f"{Path(name).stem}, {door}"] = [took, peak() - before, answer]
    print(json.dumps(answers))
"""


@pytest.mark.slow  # makes the files, which costs more than refusing them
def test_small_parquet_files_that_stand_for_gigabytes_are_refused_at_once_at_every_door(tmp_path):
    paths = []
    for name, data in bombs():
        assert len(data) < 50_000
        paths.append(tmp_path / f"{name}.parquet")
        paths[-1].write_bytes(data)
    code = textwrap.dedent(CHILD)
    told = subprocess.run(
        [sys.executable, "-c", code, *map(str, paths)], capture_output=True, text=True, check=False
    )
    answers = json.loads(told.stdout)
    assert len(answers) == 6 * len(paths)
    dear = {
        name: answer
        for name, answer in answers.items()
        if answer[0] > LONGEST or answer[1] > LARGEST
    }
    assert not dear
    # What a corpus cannot read it counts by row and goes on; everybody else refuses the file.
    taken = [name for name, answer in answers.items() if isinstance(answer[2], list)]
    assert all(name.endswith(", corpus") for name in taken), taken


@pytest.mark.parametrize("rows", [{}, {"use_dictionary": False}, {"data_page_version": "2.0"}])
def test_what_people_write_is_read_as_before(tmp_path, rows):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from moralscope.io.tables import TableFile

    texts = [f"help {n % 7} people" for n in range(3000)]
    path = tmp_path / "a.parquet"
    columns = {
        "action": texts,
        "others": [[text, "x"] for text in texts],
        "about": [{"n": n, "text": text} for n, text in enumerate(texts)],
        "map": pa.array([[("k", text)] for text in texts], pa.map_(pa.string(), pa.string())),
        "long": pa.array(texts, pa.large_string()),
        "raw": [text.encode() for text in texts],
        "sort": pa.array(texts).dictionary_encode(),
        "view": pa.array(texts, pa.string_view()),
    }
    pq.write_table(pa.table(columns), path, row_group_size=1000, **rows)
    wanted = pq.read_table(path).to_pylist()
    assert [cells for _, cells in TableFile(path).rows()] == wanted
    corpus = open_corpus([str(path)], ["action"])
    read = [row for _, block in corpus.scan(512) for row in block.table.to_pylist()]
    assert read == wanted


def test_one_row_that_is_too_long_is_named_and_not_made(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from moralscope.io.tables import TableFile

    path = tmp_path / "a.parquet"
    noise = [os.urandom(1000).hex() * (3000 if n == 3 else 1) for n in range(6)]
    pq.write_table(pa.table({"action": noise}), path)
    rows = [cells for _, cells in TableFile(path).rows()]
    assert [isinstance(cells, str) for cells in rows] == [False] * 3 + [True] + [False] * 2
    assert rows[3] == "has more than 4,000,000 bytes"


def test_a_packed_text_that_unpacks_without_end_does_not_fill_the_disk(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"action\n" + b"help people\n" * 5_000_000, 9))
    with pytest.raises(InputError, match="unpacks to more than"):
        open_corpus([str(path)], ["action"], scratch=tmp_path / "scratch")
    assert not list((tmp_path / "scratch").iterdir())
