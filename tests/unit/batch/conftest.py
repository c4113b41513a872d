import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # workers inherit it and import corpus_works


@pytest.fixture
def inline(monkeypatch):
    """Runs compute in this process: no worker to start."""
    from moralscope.batch import run as batch_run

    monkeypatch.setitem(batch_run.ENGINES, "local", "corpus_works:Inline")
