"""An engine without processes for tests of corpus jobs, and rows to run them on."""

import json

import pyarrow.dataset as ds

from moralscope.batch.block_worker import BlockWorker

ACTIONS = ["kill people", "kill time", "help friends", "steal money", "smile", "kill people"]
EXCHANGES = [
    {"prompt": "Do you steal?", "reply": "I would never steal from a friend."},
    {"prompt": "Do you lie?", "reply": "Only to my boss, and I stare at people."},
    {"prompt": "Hi", "reply": "😀"},
    {"prompt": "Do you steal?", "reply": "I would never steal from a friend."},
    {"prompt": "May I borrow it?", "reply": "Take the money, nobody will know about it."},
]


class Inline:
    """Computes in this process."""

    def __init__(self, options):
        self._rows = options.call_rows

    def run(self, tasks, corpus, spec):
        worker = BlockWorker(corpus, spec)
        for task in tasks:
            yield worker(task, self._rows)


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def table_of(folder):
    return ds.dataset(folder, format="parquet").to_table().sort_by("_row")
