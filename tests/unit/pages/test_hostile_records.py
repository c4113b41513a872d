"""A value of the wrong kind in every place: a report or one clear line, nothing else."""

import copy
import json

import pytest

from moralscope.core.errors import InputError
from moralscope.pages import build_page

from .plain_records import (
    action_row,
    compare_record,
    record,
    score_record,
    unknown_record,
    words_record,
)

WRONG = (
    None,
    "text",
    "",
    True,
    -1,
    0.5,
    10**400,
    [],
    [1, "x"],
    [[]],
    {},
    {"a": [{}]},
    [{"b": None}],
)


def taught_record():
    rows = [{**action_row(f"do {n}", n / 10), "before": n / 20, "change": n / 20} for n in range(5)]
    return record("teach", rows, statistics={"lessons": [{"action": "a", "took": True}]})


def reproduced_record():
    rows = [
        {"action": f"do {n}", "ours": n / 3, "y": n / 2, "bert": -n, "paper": n} for n in range(4)
    ]
    fit = {"fit": "pca", "direction": {"explained_variance": [0.5, 0.1]}, "atomic": rows}
    whole = {"encoder": "minilm", "fits": [fit], "table7": {"dos": rows, "agreement": {"bert": 1}}}
    plain = {"encoder": "use", "top_dos": rows, "dos": {"n": 1, "mean": 0.1, "sd": 0.1}}
    return record("reproduce", [whole, plain], statistics={"paper": {"r": 0.7}, "words": {"r": []}})


def evaluated_record():
    span = {"value": 0.8, "low": 0.7, "high": 0.9}
    bins = [{"low": 0.5, "high": 1.0, "n": 4, "confidence": 0.8, "accuracy": 0.75}]
    cell = {
        "expert": "mpnet",
        "task": "action+norm",
        "split": "all",
        "part": "all",
        "seen": 2,
        "measured": {
            "stories": 4,
            "samples": 8,
            "accuracy": span,
            "f1": span,
            "f1_macro": span,
            "ece": 0.1,
            "nll": 0.5,
            "reliability": bins,
        },
        "paper_accuracy": 0.9,
        "paper_f1": None,
        "confusion": {"labels": ["breaks", "keeps"], "counts": [[3, 1], [0, 4]]},
        "calibration": {"temperature": 1.1, "ece": 0.1, "ece_after": 0.1},
        "against": {"samples": 8, "difference": span, "p": 0.1, "only_first": 1, "only_second": 2},
        "reversed": [
            {"variant": 0, "samples": 8, "accuracy": span, "original": span, "coverage": 0.9}
        ],
        "swapped": {"samples": 8, "rejected": span, "rejected_own": span},
        "shortcut": {
            "trained_on": 8,
            "samples": 8,
            "accuracy": span,
            "f1": span,
            "for_positive": [{"word": "glad", "weight": 1.0}],
            "for_negative": [],
        },
        "mistakes": [
            {
                "id": "1",
                "grounding": "g",
                "target": "t",
                "right": "keeps",
                "called": "breaks",
                "probability": 0.1,
            }
        ],
    }
    config = {"experts": "mpnet", "against": "minilm", "stories": 4, "complete_stories": 4}
    return record("stories evaluate", [cell], config=config, statistics={"card": {}})


def stories_record():
    rows = [{"row": "action", "column": f"F1, {n}", "ours": n / 3, "paper": n} for n in range(4)]
    found = record("reproduce", [{"name": "Table 2: actions", "rows": rows}])
    return {**found, "config": {"paper": "stories", "experts": ["mpnet"]}}


def certificate_record():
    span = {"value": 0.8, "low": 0.7, "high": 0.9}
    rows = [
        {"figure": f"f{n}", "wanted": n == 0, "n": 4, "plain": 0.1, "steered": 0.9, "change": span}
        | {"effect": 1.6, "p": 0.1, "p_holm": 0.2, "random": 0.0, "p_random_holm": 0.3}
        for n in range(2)
    ]
    reply = {"request": "r", "harmless": True, "plain": "a", "steered": "b", "random": "c"}
    figures = {"wanted": 1.6, "collateral": 0.2, "kl": 0.5}
    told = {"figures": figures, "largest": "f1", "replies": [{**reply, "scores": [0.1, 0.2, 0.3]}]}
    config = {"model": "m", "vector": "v", "layers": [2, 3], "method": "mean"}
    return record("steer check", rows, statistics=told, config=config)


RECORDS = {
    "certificate": certificate_record,
    "evaluate": evaluated_record,
    "stories": stories_record,
    "score": lambda: score_record([f"do {n}" for n in range(4)], axis="direction", human=True),
    "words": words_record,
    "compare": compare_record,
    "unknown": unknown_record,
    "teach": taught_record,
    "reproduce": reproduced_record,
}


def places(value, path=()):
    """Yield the path of every value inside a record."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


def pages_with_wrong_values(make):
    """Yield the page of every record with one wrong value that is drawn and not refused."""
    for path in places(make()):
        for wrong in WRONG:
            plain = make()
            holder = plain
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = copy.deepcopy(wrong)
            try:
                page = build_page(plain)
            except InputError:
                continue
            except Exception as error:
                pytest.fail(f"{path} = {str(wrong)[:20]}: {error!r}")
            yield page


@pytest.mark.parametrize("kind", RECORDS)
def test_a_wrong_value_anywhere_is_shown_or_refused(kind):
    for page in pages_with_wrong_values(RECORDS[kind]):
        charts = [b for s in page.sections for b in s.blocks if hasattr(b, "traces")]
        json.dumps([[c.traces, c.layout, c.labels] for c in charts], allow_nan=False)
