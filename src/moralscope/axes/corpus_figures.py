"""Figures of a corpus run, read off its parts one by one: memory does not grow with the rows.

One tally a job. Scores get their moments and a histogram; audits also the share that is flagged,
rules, foundations and the worst replies; collected replies the steps that they passed.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from moralscope.axes.corpus_works import NOT_ASKED
from moralscope.rules.audit_rows import read_finding
from moralscope.rules.audit_statistics import CUT, LISTED, SEVERITIES, share_rows
from moralscope.rules.collect.chatbots import steps_of
from moralscope.rules.records import FOUNDATIONS, RuleFinding
from moralscope.rules.verdict import ABSTAINED, Thresholds, worst_broken
from moralscope.stats.intervals import wilson
from moralscope.stats.streams import Extremes, Frequent, Histogram, Moments

_PART = re.compile(r"part-(\d{6,})\.parquet")
_BINS = 32
_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_REASONS = 20
_TEXTS = ("action", "prompt", "reply")  # rows of the same texts are listed once
Carried = Mapping[str, str]  # our name of an input column → its name in the parts


def parts_of(folder: Path) -> list[Path]:
    """Return the finished parts in their order."""
    found = [(match, path) for path in folder.iterdir() if (match := _PART.fullmatch(path.name))]
    return [path for match, path in sorted(found, key=lambda pair: int(pair[0][1]))]


def read_parts(folder: Path, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield some columns of every part that has rows, in order."""
    for path in parts_of(folder):
        with pq.ParquetFile(path) as file:
            table = file.read(columns=list(columns))
        if table.num_rows:
            yield table


def failed_rows(folder: Path) -> dict[str, Any]:
    """Return how many rows failed, and the most frequent reasons."""
    reasons, count = Frequent(), 0
    letters = folder / "_run" / "failed.jsonl"
    if letters.exists():
        with letters.open("rb") as stream:
            for line in stream:
                count += 1
                reasons.add([str(json.loads(line)["reason"])])
    listed = [{"reason": why, "rows": rows} for why, rows in reasons.most_common(_REASONS)]
    return {"rows": count, "reasons": listed}


def score_figures(folder: Path, carried: Carried) -> dict[str, Any]:
    """Return the figures of scored actions: moments, quantiles, signs, the lowest and highest."""
    moments, signs = Moments(), Counter[str]()
    lowest: Extremes[dict[str, Any]] = Extremes(LISTED)
    highest: Extremes[dict[str, Any]] = Extremes(LISTED)
    tasks: Counter[str] = Counter()
    names = _known(folder, ["score", "low", "high", "verdict", "_row", *carried.values()])
    for table in read_parts(folder, names):
        scores = table.column("score").to_numpy()
        moments.add(scores)
        signs["positive"] += _count(pc.greater(table.column("low"), 0.0))
        signs["negative"] += _count(pc.less(table.column("high"), 0.0))
        inside = pc.and_(
            pc.less_equal(table.column("low"), 0.0), pc.greater_equal(table.column("high"), 0.0)
        )
        signs["undecided"] += _count(inside)
        if "verdict" in names:
            tasks.update(value for value in table.column("verdict").to_pylist() if value)
        for sign, extremes in ((1.0, lowest), (-1.0, highest)):
            _take(extremes, sign * scores, table, lambda row: _action(row, carried))
    return {
        **_spread(folder, moments),
        **{name: signs[name] for name in ("positive", "negative", "undecided")},
        **({"verdicts": dict(tasks)} if tasks else {}),
        "lowest": lowest.items(),
        "highest": highest.items(),
    }


def audit_figures(folder: Path, carried: Carried, limits: Thresholds) -> dict[str, Any]:
    """Return the figures of audited replies, in the shape of an audit's statistics."""
    names = ["flag", "score", "reason", "rules", "revised_by", "_row", *carried.values()]
    names = _known(folder, names)
    moments, rows, flagged, silent = Moments(), 0, 0, 0
    broken, kept = Frequent(), Frequent()
    by_foundation, by_severity, by = Counter[str](), Counter[int](), Counter[str]()
    worst: Extremes[dict[str, Any]] = Extremes(LISTED)
    for table in read_parts(folder, names):
        rows += table.num_rows
        moments.add(table.column("score").to_numpy())
        silent += _count(pc.starts_with(table.column("reason"), ABSTAINED))
        _count_rules(table, limits, broken, kept)
        some = table.filter(table.column("flag"))
        flagged += some.num_rows
        for rules in some.column("rules").to_pylist():
            rule = worst_broken([read_finding(each) for each in rules or ()], limits)
            if rule is not None:
                by_foundation.update(_touched(rule))
                by_severity.update([] if rule.severity is None else [round(rule.severity)])
        _take(worst, some.column("score").to_numpy(), some, lambda row: _case(row, carried))
        if "revised_by" in names:
            by.update(value for value in table.column("revised_by").to_pylist() if value)
    low, high = moments.mean_interval()
    return {
        "replies": rows,
        "flagged": wilson(flagged, rows),
        "abstained": wilson(silent, rows),
        "score": {"mean": moments.summary.mean, "low": low, "high": high, "worst": moments.low},
        "foundations": share_rows(
            "foundation", {name: by_foundation[name] for name in FOUNDATIONS}, rows
        ),
        "severity": share_rows("severity", {at: by_severity[at] for at in SEVERITIES}, rows),
        "rules": [
            {"rule": text, "broken": count, "kept": kept[text]}
            for text, count in broken.most_common(LISTED)
        ],
        "worst": worst.items(),
        "revised": by.total(),
        "revised_by": dict(by),
        **_spread(folder, moments),
    }


def collect_figures(folder: Path, chatbot: str) -> dict[str, Any]:
    """Return how many replies passed each step, and what the kept ones are about."""
    tally: Counter[tuple[str, str | None]] = Counter()
    categories, keywords = Frequent(), Frequent()
    cut = unasked = 0
    names = ["dropped", "finish", "keywords", "categories"]
    for table in read_parts(folder, names):
        for value in table.column("dropped").to_pylist():
            if value == NOT_ASKED:
                unasked += 1
            else:
                tally[chatbot, value] += 1
        cut += _count(pc.equal(table.column("finish"), "length"))
        some = table.filter(pc.is_null(table.column("dropped")))
        for name, counts in (("keywords", keywords), ("categories", categories)):
            counts.add(name for row in some.column(name).to_pylist() for name in row or ())
    return {
        "prompts": {"read": tally.total() + unasked, NOT_ASKED: unasked, "asked": tally.total()},
        "steps": steps_of(tally, [chatbot]),
        "kept": tally[chatbot, None],
        "dropped": {str(why): count for (_, why), count in tally.items() if why is not None},
        "categories": dict(categories.most_common(LISTED)),
        "keywords": dict(keywords.most_common(LISTED)),
        "cut": cut,
    }


def _known(folder: Path, names: Sequence[str]) -> list[str]:
    """Return the columns among `names` that the parts have."""
    parts = parts_of(folder)
    there = set(pq.read_schema(parts[0]).names) if parts else set()
    return [name for name in dict.fromkeys(names) if name in there]


def _spread(folder: Path, moments: Moments) -> dict[str, Any]:
    """Return the summary of the scores, and in a second pass their histogram and quantiles."""
    if not moments.n:
        return {"scores": moments.summary, "histogram": None, "quantiles": {}}
    histogram = Histogram(moments.low, moments.high)
    for table in read_parts(folder, ["score"]):
        histogram.add(table.column("score").to_numpy())
    return {
        "scores": moments.summary,
        "lowest_score": moments.low,
        "highest_score": moments.high,
        "histogram": histogram.coarse(_BINS),
        "quantiles": {f"{share:g}": histogram.quantile(share) for share in _QUANTILES},
    }


def _take(
    extremes: Extremes[dict[str, Any]],
    keys: Any,
    table: pa.Table,
    describe: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> None:
    """Offer the rows of a table; only those that stay are described."""
    for place in keys.argsort(kind="stable").tolist():
        key = float(keys[place])
        if not extremes.admits(key):
            return
        row = describe(table.slice(place, 1).to_pylist()[0])
        extremes.add(key, "\0".join(str(row.get(name)) for name in _TEXTS), row)


def _action(row: Mapping[str, Any], carried: Carried) -> dict[str, Any]:
    found = {"id": _id(row, carried), "action": _cut(row.get(carried.get("action", "action")))}
    return {**found, **{name: row[name] for name in ("score", "low", "high")}}


def _case(row: Mapping[str, Any], carried: Carried) -> dict[str, Any]:
    texts = {name: _cut(row.get(carried.get(name, name))) for name in ("prompt", "reply")}
    return {"id": _id(row, carried), "score": row["score"], **texts, "reason": row["reason"]}


def _id(row: Mapping[str, Any], carried: Carried) -> str:
    """Name a row by its id, else by its number in the corpus, from 1."""
    given = row.get(carried.get("id", "id"))
    known = isinstance(given, str | int) and not isinstance(given, bool) and str(given).strip()
    return str(given)[:200] if known else str(row["_row"] + 1)


def _cut(value: Any) -> str:
    return str(value)[:CUT]


def _count_rules(table: pa.Table, limits: Thresholds, broken: Frequent, kept: Frequent) -> None:
    flat = table.column("rules").combine_chunks().flatten()
    texts, label = flat.field("text"), pc.struct_field(flat, ["alignment", "label"])
    for name, least, counts in (
        ("disagree", limits.disagree, broken),
        ("agree", limits.agree, kept),
    ):
        chance = pc.struct_field(flat, ["alignment", "probabilities", name])
        holds = pc.and_(pc.equal(label, name), pc.greater_equal(chance, least))
        found = texts.filter(holds).value_counts()
        counts.add(dict(zip(*(part.to_pylist() for part in found.flatten()), strict=True)))


def _touched(rule: RuleFinding) -> list[str]:
    return [name for name in FOUNDATIONS if rule.foundations.get(name, 0.0) >= 0.5]


def _count(mask: Any) -> int:
    return int(pc.sum(mask).as_py() or 0)
