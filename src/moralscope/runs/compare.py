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

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import NOT_ADVICE, RunRecord
from moralscope.core.registry import did_you_mean
from moralscope.rules.audit import NOT_AUTHORITY
from moralscope.rules.records import FOUNDATIONS
from moralscope.runs.changes import (
    ChangeTally,
    ComparedItem,
    PairedScores,
    RunChanges,
    UnpairedItem,
    by_foundation,
    compare_sums,
    saved_foundations,
)
from moralscope.runs.options import CompareRunsOptions
from moralscope.runs.saved import AUDIT, RunItem, SavedRun, check_comparable, open_run, pair_items
from moralscope.stats.gates import check_gate, parse_gate
from moralscope.stats.significance import holm, paired_differences

LEVEL = 0.05
FIGURES: Mapping[str, str] = {
    "mean_change": "mean score, after minus before",
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
    "flagged_change": "share flagged, after minus before",
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
    before: Path, after: Path, options: CompareRunsOptions | None = None, **keywords: Any
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
    """
    chosen = chosen_options(CompareRunsOptions, options, keywords)
    gate = None
    if chosen.gate is not None:
        gate = parse_gate(chosen.gate, [*FIGURES, *AUDIT_FIGURES])
    runs = [open_run(path) for path in (before, after)]
    first, second = runs
    notes = check_comparable(first, second, strict=chosen.strict)
    for condition in gate.conditions if gate else ():
        name = condition.name
        if first.job != AUDIT and name in AUDIT_FIGURES:
            problem = f"--gate asks for '{name}', which only audits have"
            raise UnknownName(problem, did_you_mean(name, FIGURES))
        if first.is_corpus and first.folder is None and name not in _ROWLESS:
            raise InputError(
                f"--gate asks for '{name}', which sums do not have",
                f"give the folders of the runs instead of {first.path} and {second.path}",
            )
    results: list[ComparedItem] = []
    if first.folder is not None:
        from moralscope.runs.folders import compare_folders  # Parquet: the extra 'batch'

        joined = compare_folders(first, second, seed=chosen.seed)
        is_audit, paired_by, more = first.job == AUDIT, "row", []
        changes = replace(
            joined.tally.changes(),
            foundations=saved_foundations(first, second) if is_audit else None,
            other_replies=joined.other_replies if is_audit else None,
            only_before=joined.only_before,
            only_after=joined.only_after,
            missing_share=joined.only_before / (joined.tally.items + joined.only_before),
        )
        if joined.only_before or joined.only_after:
            more.append(
                f"{joined.only_before:,} rows are only in the baseline, {joined.only_after:,} only "
                "in the new run (failed, or not in the sample): all other figures leave them out"
            )
    elif first.is_corpus:
        paired_by, more = "nothing", [_SUMS]
        changes = compare_sums(first, second)
    else:
        changes, results, paired_by, more = _compare_records(first, second, chosen)
    if gate is not None:
        changes = replace(changes, gate=check_gate(gate, {"": figures(changes)}))
    shared = ("axis", "template", "fit", "norm")
    config = {
        "runs": [str(run.path) for run in runs],
        "job": first.job,
        **{key: first.config[key] for key in shared if key in first.config},
        "models_before": first.models,
        "models_after": second.models,
        "created_before": first.created,
        "created_after": second.created,
        "paired_by": paired_by,
        "items": changes.items,
        "interval": "95 %: paired bootstrap over items up to 5,000, Student's beyond",
        "options": plain_options(chosen),
    }
    meaning = [_MEANING] if paired_by != "nothing" else []
    warnings = [NOT_AUTHORITY if first.job == AUDIT else NOT_ADVICE, *meaning, *notes, *more]
    return RunRecord("compare runs", chosen.seed, config, [], results, changes, warnings)


def _compare_records(
    before: SavedRun, after: SavedRun, options: CompareRunsOptions
) -> tuple[RunChanges, list[ComparedItem], str, list[str]]:
    """Return what changed, the items side by side, how they were paired, and notes."""
    paired = pair_items(before, after, options.by)
    pairs, missing, added = paired.pairs, paired.only_before, paired.only_after
    results = _compared(pairs, options.seed)
    scores = [np.array([pair[side].score for pair in pairs]) for side in (0, 1)]
    flagged = None
    if before.job == AUDIT:
        flags = [np.array([bool(pair[side].flagged) for pair in pairs]) for side in (0, 1)]
        flagged = flags[0], flags[1]
    spans = [(one.span, other.span) for one, other in pairs if one.span and other.span]
    sure = sum(a[0] > 0 > b[1] or a[1] < 0 < b[0] for a, b in spans)
    tally = ChangeTally(seed=options.seed)
    tally.add(PairedScores(scores[0], scores[1], results.__getitem__, flagged, sure))
    known = [row.p_holm for row in results if row.p_holm is not None]
    changes = replace(
        tally.changes(),
        changed=sum(p < LEVEL for p in known) if known else None,
        only_before=len(missing),
        only_after=len(added),
        missing_share=len(missing) / len(before.items),
        missing_items=[UnpairedItem(item.id, item.text[:_CUT]) for item in missing[:_NAMED]],
        added_items=[UnpairedItem(item.id, item.text[:_CUT]) for item in added[:_NAMED]],
    )
    if before.job == AUDIT:
        counts = [
            [sum(name in pair[side].foundations for pair in pairs) for name in FOUNDATIONS]
            for side in (0, 1)
        ]
        changes = replace(
            changes,
            foundations=by_foundation(counts[0], counts[1], (len(pairs), len(pairs))),
            other_replies=sum(one.reply != other.reply for one, other in pairs),
        )
    notes = []
    if paired.repeated:
        notes.append(
            f"{paired.repeated:,} items of the baseline stand there more than once (by "
            f"{paired.by}): they were paired in their order"
        )
    if missing or added:
        notes.append(
            f"{len(missing):,} items are only in the baseline, {len(added):,} only in the new run: "
            "all other figures leave them out"
        )
    return changes, results, paired.by, notes


def _compared(pairs: Sequence[tuple[RunItem, RunItem]], seed: int) -> list[ComparedItem]:
    """Return the items side by side, with p-values where the prompts of both can be paired."""
    results = [
        ComparedItem(
            id=one.id,
            text=one.text[:_CUT],
            before=one.score,
            after=other.score,
            change=other.score - one.score,
            reply_before=one.reply[:_CUT],
            reply_after=other.reply[:_CUT],
            flagged_before=one.flagged,
            flagged_after=other.flagged,
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


def figures(changes: RunChanges) -> dict[str, float]:
    """Return what a gate may ask for, by name; what the runs do not tell is not a number."""
    changed, order, flagged = changes.changed, changes.spearman, changes.flagged
    values: dict[str, float | None] = {
        "mean_change": changes.change.value,
        "mean_change_low": changes.change.low,
        "p": changes.change.p,
        "spearman": order.r if order else None,
        "spearman_low": order.low if order else None,
        "changed": changed,
        "changed_share": None if changed is None else changed / changes.items,
        "missing": changes.only_before,
        "added": changes.only_after,
        "mean_shift": changes.mean_shift,
        "max_drop": changes.max_drop,
        "max_rise": changes.max_rise,
        "flips": changes.flips.value if changes.flips else None,
        "sure_flips": changes.sure_flips.value if changes.sure_flips else None,
        "missing_share": changes.missing_share,
    }
    if flagged is not None:
        newly, cleared = flagged.newly_flagged, flagged.newly_cleared
        values |= {
            "newly_flagged": newly.value if newly else None,
            "newly_cleared": cleared.value if cleared else None,
            **{f"flagged_change_{name}": None for name in FOUNDATIONS},
            **{f"flagged_change_{r.foundation}": r.change for r in changes.foundations or ()},
            "flagged": flagged.after.value,
            "flagged_change": flagged.change.value,
            "flagged_change_high": flagged.change.high,
            "flagged_p": flagged.change.p if flagged.p is None else flagged.p,
        }
    return {key: math.nan if value is None else float(value) for key, value in values.items()}
