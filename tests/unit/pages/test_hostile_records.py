"""A value of the wrong kind in every place: a report or one clear line, nothing else."""

import copy
import json
from functools import cache

import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.pages import build_page
from moralscope.papers.choice import reproduce_choice
from moralscope.steer.check import FIGURES

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
    lesson = {"action": "a", "label": "fine", "target": 0.5, "before": 0.1, "after": 0.4}
    agreement = {"r": 0.9, "p": 0.1, "low": 0.1, "high": 1.0, "n": 4, "stars": "", "within": {}}
    statistics = {"angle_degrees": 3.0, "lessons": [{**lesson, "took": True}], "took": 1}
    statistics |= {"agreement": agreement, "changed_side": ["do 1"], "mean_absolute_change": 0.1}
    return record("teach", rows, statistics=statistics)


@cache
def _reproduced():
    plain = to_plain(reproduce_choice(["scripted"], vectors=()))
    result = plain["results"][0]
    for key in ("top_dos", "top_donts", "printed_dos", "printed_donts", "female", "male"):
        result[key] = result[key][:3]  # every value of a row is tried once, not twenty times
    result["rankings"] = result["rankings"][:1]
    plain["config"] = {"paper": "choice"}
    return plain


def reproduced_record():
    return copy.deepcopy(_reproduced())


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
    ends = {"low": None, "high": None}
    rows = [
        {"row": "action", "column": f"F1, {n}", "ours": n / 3, "paper": n, **ends} for n in range(4)
    ]
    found = record("reproduce", [{"name": "Table 2: actions", "rows": rows}])
    return {**found, "config": {"paper": "stories", "experts": ["mpnet"]}}


def certificate_record():
    span = {"value": 0.8, "low": 0.7, "high": 0.9}
    rows = [
        {"figure": f"f{n}", "wanted": n == 0, "n": 4, "plain": 0.1, "steered": 0.9, "change": span}
        | {"effect": 1.6, "p": 0.1, "p_holm": 0.2, "random": 0.0, "p_random": 0.3}
        | {"p_random_holm": 0.3}
        for n in range(2)
    ]
    reply = {"request": "r", "harmless": True, "plain": "a", "steered": "b", "random": "c"}
    figures = dict.fromkeys(FIGURES, 0.5)
    replies = [{**reply, "scores": [0.1, 0.2, 0.3]}]
    told = {"figures": figures, "largest": "f1", "random_kl": 0.1, "replies": replies, "gate": None}
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
