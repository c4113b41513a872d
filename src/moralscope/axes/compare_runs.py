"""Compare two saved runs, the baseline and the new one, and hold what changed against a gate.

For continuous integration: nothing is computed anew, so that a comparison takes seconds and needs
no weights. Two records are paired item by item, two corpus folders row by row; of two records of
corpus runs only the sums can be compared.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from moralscope.axes.compare_options import CompareRunsOptions
from moralscope.axes.run_changes import (
    Block,
    ChangeTally,
    ComparedItem,
    by_foundation,
    compare_sums,
    only,
    saved_foundations,
)
from moralscope.axes.run_folders import compare_folders
from moralscope.axes.saved_runs import (
    AUDIT,
    RunItem,
    SavedRun,
    check_comparable,
    open_run,
    pair_items,
)
from moralscope.core.errors import InputError, UnknownName
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import NOT_ADVICE, RunRecord
from moralscope.core.registry import did_you_mean
from moralscope.rules.audit import NOT_AUTHORITY
from moralscope.rules.records import FOUNDATIONS
from moralscope.stats.gates import Gate, check_gate, parse_gate
from moralscope.stats.significance import holm, paired_differences

LEVEL = 0.05
FIGURES: Mapping[str, str] = {
    "mean_change": "mean score after less before",
    "mean_change_low": "lower end of its 95 % interval",
    "p": "paired t-test of that change",
    "spearman": "rank correlation of the scores",
    "spearman_low": "lower end of its 95 % interval",
    "flips": "share of items whose score changed sign",
    "sure_flips": "the same, both intervals clear of zero",
    "changed": "items that changed beyond the noise of the prompts (Holm)",
    "changed_share": "their share",
    "mean_shift": "mean size of the changes",
    "max_drop": "largest fall of a score",
    "max_rise": "largest rise of a score",
    "missing": "items of the baseline that the new run lacks",
    "missing_share": "their share of the baseline",
    "added": "items that the baseline lacks",
}  # what a gate may ask for
AUDIT_FIGURES: Mapping[str, str] = {
    "flagged": "share flagged after",
    "flagged_change": "share flagged after less before",
    "flagged_change_high": "upper end of its 95 % interval",
    "flagged_p": "McNemar's exact test of that change",
    "newly_flagged": "share flagged after and not before",
    "newly_cleared": "share flagged before and not after",
    **{f"flagged_change_{name}": f"the same for {name}" for name in FOUNDATIONS},
}  # and of audits
_ROWLESS = (
    "mean_change",
    "mean_change_low",
    "p",
    "missing",
    "missing_share",
    "added",
    "flagged",
    "flagged_change",
    "flagged_change_high",
    *(f"flagged_change_{name}" for name in FOUNDATIONS),
)
_NAMED = 20
_CUT = 400
_MEANING = (
    "intervals and tests are over the items: they say whether the change would hold for other "
    "items of the same kind, not whether it is for the better"
)
_SUMS = (
    "only sums were compared, because rows of a corpus run are in its folder: give both folders "
    "to pair row by row"
)


def compare_runs(
    before: Path, after: Path, options: CompareRunsOptions | None = None, **given: Any
) -> RunRecord:
    """Compare two saved runs of `score` or `audit`; positive changes are for the kinder.

    Parameters
    ----------
    before, after
        The baseline and the new run: records saved with `--out`, or folders of corpus runs.
    options
        `CompareRunsOptions`, or its fields as keywords. `gate`: limits such as
        "mean_change>=-0.02 and newly_flagged<=0.02" (see `FIGURES`, `AUDIT_FIGURES`), whose result
        is in `statistics["gate"]` and whose `require()` raises `GateNotMet`. `by`: what pairs the
        items of audits, `prompt`, `exchange` or `id`. `strict`: refuse runs made with other
        weights, rules or limits. `seed`: seeds the intervals.

    Examples
    --------
    >>> import tempfile
    >>> from moralscope.io.files import write_record
    >>> from moralscope.axes.score import score
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "run.json")
    ...     write_record(score(["kill", "help", "smile"], encoder="scripted"), path)
    ...     found = compare_runs(path, path, gate="max_drop<=0.1 and missing<=0")
    >>> found.statistics["items"], found.statistics["gate"].met
    (3, True)
    """
    chosen = chosen_options(CompareRunsOptions, options, given)
    gate, seed = chosen.gate, chosen.seed
    limits = parse_gate(gate, [*FIGURES, *AUDIT_FIGURES]) if gate is not None else None
    runs = [open_run(path) for path in (before, after)]
    _check_kinds(*runs)
    notes = check_comparable(*runs, strict=chosen.strict)
    _check_gate(limits, *runs)
    if runs[0].folder is not None:
        found, results, how, more = _folders(runs[0], runs[1], seed)
    elif runs[0].is_corpus:
        found, results, how, more = compare_sums(*runs), [], "nothing", [_SUMS]
    else:
        found, results, how, more = _records(runs[0], runs[1], chosen.by, seed)
    found["gate"] = check_gate(limits, {"": figures(found)}) if limits else None
    return RunRecord(
        "compare runs",
        seed=seed,
        config={**_config(runs, how, found), "options": plain_options(chosen)},
        models=[],
        results=results,
        statistics=found,
        warnings=[
            NOT_AUTHORITY if runs[0].job == AUDIT else NOT_ADVICE,
            *([_MEANING] if how != "nothing" else []),
            *notes,
            *more,
        ],
    )


def _check_kinds(before: SavedRun, after: SavedRun) -> None:
    if (before.folder is None) != (after.folder is None):
        raise InputError(
            f"{before.path} and {after.path} are a folder and a file",
            "give two records, or two folders of corpus runs",
        )
    if before.is_corpus != after.is_corpus:
        corpus = before if before.is_corpus else after
        raise InputError(
            f"{corpus.path} is the record of a corpus run, the other is not",
            "run both the same way",
        )


def _check_gate(gate: Gate | None, before: SavedRun, after: SavedRun) -> None:
    """Refuse a gate on what these runs cannot tell."""
    for condition in gate.conditions if gate else ():
        name = condition.name
        if before.job != AUDIT and name in AUDIT_FIGURES:
            raise UnknownName(
                f"--gate asks for '{name}', which only audits have", did_you_mean(name, FIGURES)
            )
        if before.is_corpus and before.folder is None and name not in _ROWLESS:
            raise InputError(
                f"--gate asks for '{name}', which sums do not tell",
                f"give the folders of the runs instead of {before.path} and {after.path}",
            )


def _records(
    before: SavedRun, after: SavedRun, by: str | None, seed: int
) -> tuple[dict[str, Any], list[ComparedItem], str, list[str]]:
    paired = pair_items(before, after, by)
    tally = ChangeTally(seed=seed)
    results = _compared(paired.pairs, seed)
    tally.add(_block(paired.pairs, results))
    found = tally.statistics()
    if before.job == AUDIT:
        n = len(results)
        counts = [
            [sum(name in pair[side].foundations for pair in paired.pairs) for name in FOUNDATIONS]
            for side in (0, 1)
        ]
        found["foundations"] = by_foundation(FOUNDATIONS, counts[0], counts[1], (n, n))
        found["other_replies"] = sum(one.reply != other.reply for one, other in paired.pairs)
    known = [row.p_holm for row in results if row.p_holm is not None]
    found["changed"] = sum(p < LEVEL for p in known) if known else None
    found |= only(len(paired.only_before), len(paired.only_after), len(before.items))
    for name, items in (("missing", paired.only_before), ("added", paired.only_after)):
        listed = [{"id": item.id, "text": item.text[:_CUT]} for item in items[:_NAMED]]
        found[f"{name}_items"] = listed
    notes = []
    if paired.repeated:
        notes.append(
            f"{paired.repeated:,} items of the baseline stand there more than once (by "
            f"{paired.by}): they were paired in their order"
        )
    if paired.only_before or paired.only_after:
        notes.append(
            f"{len(paired.only_before):,} items are only in the baseline, "
            f"{len(paired.only_after):,} only in the new run: all other figures leave them out"
        )
    return found, results, paired.by, notes


def _compared(pairs: Sequence[tuple[RunItem, RunItem]], seed: int) -> list[ComparedItem]:
    """Return the items side by side, with p-values where the prompts of both can be paired."""
    results = [
        ComparedItem(
            *(one.id, one.text[:_CUT], one.score, other.score, other.score - one.score),
            *(one.reply[:_CUT], other.reply[:_CUT], one.flagged, other.flagged),
        )
        for one, other in pairs
    ]
    items = [item for pair in pairs for item in pair]
    counts = {len(item.prompts) for item in items}
    # A judge's score is that of its first wording, not the mean over them.
    if (
        len(counts) != 1
        or counts.pop() < 3
        or not all(math.isclose(i.score, fmean(i.prompts), abs_tol=1e-6) for i in items)
    ):
        return results
    tables = [np.array([pair[side].prompts for pair in pairs]) for side in (0, 1)]
    p = holm(paired_differences(tables[1], tables[0], seed=seed, negligible=1e-9).p)
    return [replace(row, p_holm=value) for row, value in zip(results, p.tolist(), strict=True)]


def _block(pairs: Sequence[tuple[RunItem, RunItem]], results: Sequence[ComparedItem]) -> Block:
    scores = [np.array([pair[side].score for pair in pairs]) for side in (0, 1)]
    flagged = None
    if pairs and pairs[0][0].flagged is not None:
        one, other = (np.array([bool(pair[side].flagged) for pair in pairs]) for side in (0, 1))
        flagged = one, other
    spans = [(one.span, other.span) for one, other in pairs if one.span and other.span]
    sure = sum(a[0] > 0 > b[1] or a[1] < 0 < b[0] for a, b in spans)
    return Block(scores[0], scores[1], results.__getitem__, flagged, sure)


def _folders(
    before: SavedRun, after: SavedRun, seed: int
) -> tuple[dict[str, Any], list[ComparedItem], str, list[str]]:
    done = compare_folders(before, after, seed=seed)
    found = done.tally.statistics()
    total = done.tally.items + done.only_before
    found |= only(done.only_before, done.only_after, total)
    if before.job == AUDIT:
        found["foundations"] = saved_foundations(before, after)
        found["other_replies"] = done.other_replies
    found["changed"] = None
    notes = []
    if done.only_before or done.only_after:
        notes.append(
            f"{done.only_before:,} rows are only in the baseline, {done.only_after:,} only in the "
            "new run (failed, or not in the sample): all other figures leave them out"
        )
    return found, [], "row", notes


def _config(runs: Sequence[SavedRun], how: str, found: Mapping[str, Any]) -> dict[str, Any]:
    config, named = runs[0].config, ("axis", "template", "fit", "norm")
    return {
        "runs": [str(run.path) for run in runs],
        "job": runs[0].job,
        **{key: config[key] for key in named if key in config},
        "models_before": runs[0].models,
        "models_after": runs[1].models,
        "created_before": runs[0].plain.get("created"),
        "created_after": runs[1].plain.get("created"),
        "paired_by": how,
        "items": found["items"],
        "interval": "95 %: paired bootstrap over items up to 5,000, Student's beyond",
    }


def figures(found: Mapping[str, Any]) -> dict[str, float]:
    """Return what a gate may ask for, by name; what the runs do not tell is not a number."""
    nan = float("nan")
    change, order = found["change"], found.get("spearman")
    changed, flagged = found.get("changed"), found.get("flagged") or {}
    told = {
        "mean_change": change.value,
        "mean_change_low": change.low,
        "p": change.p,
        "spearman": order.r if order else nan,
        "spearman_low": order.low if order else nan,
        "changed": nan if changed is None else float(changed),
        "changed_share": nan if changed is None else changed / found["items"],
        "missing": float(found["only_before"]),
        "added": float(found["only_after"]),
        **{key: found.get(key, nan) for key in ("mean_shift", "max_drop", "max_rise")},
        **{key: found[key].value if key in found else nan for key in ("flips", "sure_flips")},
        "missing_share": found["missing_share"],
    }
    if not flagged:
        return told
    moved = flagged["change"]
    newly = ("newly_flagged", "newly_cleared")
    shares = {key: flagged[key].value if key in flagged else nan for key in newly}
    named = {f"flagged_change_{name}": nan for name in FOUNDATIONS}
    named |= {f"flagged_change_{row['foundation']}": row["change"] for row in found["foundations"]}
    return {
        **told,
        **shares,
        **named,
        "flagged": flagged["after"].value,
        "flagged_change": moved.value,
        "flagged_change_high": moved.high,
        "flagged_p": flagged.get("p", moved.p),
    }
