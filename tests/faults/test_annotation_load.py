"""Fifty annotators at once while the server is killed: what was acknowledged is there, once.

The load is that of bench/annotation.py, which runs it for two minutes with ten kills and holds it
against the bar of 300 ms.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

from ..annotation_databases import fresh_database, private_postgres

BENCH = Path(__file__).parents[2] / "bench" / "annotation.py"
SLOWEST = 2.0  # seconds, of 95 % of submissions: a machine that runs tests may be busy


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("bench_annotation", BENCH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(params=["sqlite", "postgres"])
def database(request):
    if request.param == "sqlite":
        yield ""
        return
    with private_postgres() as server:
        yield fresh_database(server)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_or_doubled_when_the_server_is_killed(
    bench, database, tmp_path
):
    load = bench.Load(people=50, seconds=20, kills=3, items=400)
    found = bench.measure(tmp_path, load, database)
    assert found.seen.kills == 3
    assert found.seen.lost > 0  # the kills were felt
    assert found.seen.errors == []
    assert len(found.seen.saved) >= 50
    assert (found.missing, found.double, found.over_quota) == (0, 0, 0)
    assert found.exported == len(found.seen.saved)
    assert found.p95 <= SLOWEST


@pytest.mark.slow
def test_few_items_are_shared_out_within_their_quota(bench, database, tmp_path):
    load = bench.Load(people=50, seconds=12, kills=1, think=0.2, items=30)
    found = bench.measure(tmp_path, load, database)
    assert found.seen.errors == []
    assert found.exported == 30 * bench.PEOPLE_PER_ITEM == len(found.seen.saved)
    assert (found.missing, found.double, found.over_quota) == (0, 0, 0)
