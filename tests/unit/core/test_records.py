import dataclasses
import json

import numpy as np
import pytest

from moralscope.core.records import ActionScore, RunRecord, to_plain


def test_records_are_frozen():
    score = ActionScore("kill time", 0.1, 0.0, 0.2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        score.score = 1.0


def test_numbers_that_are_not_finite_become_null():
    plain = to_plain({"r": float("nan"), "high": float("inf"), "x": np.float32(0.5)})
    assert json.dumps(plain) == '{"r": null, "high": null, "x": 0.5}'


def test_arrays_and_tuples_become_lists():
    assert to_plain((np.arange(3), ("a",))) == [[0, 1, 2], ["a"]]


def test_what_json_cannot_hold_is_a_bug_and_says_so():
    with pytest.raises(TypeError, match="object"):
        to_plain(object())


def test_a_run_record_names_its_schema_version_and_time():
    record = RunRecord("score", 0, {}, [], [])
    assert record.schema == "moralscope.run/1"
    assert record.created.endswith("+00:00")
    assert record.version
