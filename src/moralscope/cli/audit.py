"""`moralscope audit`: which rules of thumb a chatbot's replies keep or break."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from moralscope.batch.options import BatchOptions, BatchPlace
from moralscope.cli.corpus import OutPlace, record_place, run_over_corpus, wants_corpus
from moralscope.cli.declare import takes
from moralscope.cli.options import Json, Report
from moralscope.cli.output import (
    BAD,
    GOOD,
    clean,
    counting,
    emit,
    fetching,
    note,
    out,
    plain_table,
    print_warnings,
    starting,
)
from moralscope.core.errors import InputError
from moralscope.rules.audit_options import AuditInput, AuditOptions

if TYPE_CHECKING:
    from rich.table import Table

    from moralscope.core.records import RunRecord

_BY = {
    "reply": "what it says",
    "rule": "a broken rule",
    "both": "what it says and a broken rule",
    "unread": "what was not read",
}
_MARKS = {"disagree": "breaks", "agree": "keeps", "neither": "does not concern"}
_MAYBE = {"disagree": "may break", "agree": "may keep"}
_SHORT = 100
_LIMITS = "audit.toml"  # where the limit of a false-alarm budget is kept, if no config is named


@takes
def audit(
    source: AuditInput,
    options: AuditOptions,
    batch: BatchOptions,
    json: Json = False,
    out: OutPlace = None,
    report: Report = None,
) -> None:
    """Audit replies: a verdict on each, and the rules that explain it.

    A reply is flagged where it reads as bad or breaks a rule. With rules of your own alone, only
    they decide. What is not English gets no verdict. Nothing leaves this machine.

    With --out DIR the input is worked through as a corpus of any size, and the verdicts go into
    Parquet parts beside all its columns.

    Example: moralscope audit replies.jsonl --gate "flagged<=0.02" --report audit.html
    """
    from moralscope.io.files import check_writable
    from moralscope.rules import audit as job
    from moralscope.rules.exchanges import open_exchanges, parse_columns, read_exchanges

    job.check_options(options, paired=source.against is not None)
    if wants_corpus(source.file, out, batch):
        from moralscope.batch.job import job_columns
        from moralscope.rules.audit_batch import AuditBatch

        source.check_corpus()
        corpus = AuditBatch(options, job_columns(source.columns, AuditBatch.reads))
        parts = BatchPlace.given(source.file, out, batch)
        record = run_over_corpus(corpus, parts, batch, json=json, report=report, show=show_audit)
        if record.statistics.get("gate") is not None:
            record.statistics["gate"].require()
        return
    if (options.false_alarms is None) != (source.benign is None):
        raise InputError("--false-alarms and --benign go together", "give both, or neither")
    place = record_place(out)
    limits = options.config or Path(_LIMITS)
    if source.benign is not None:
        check_writable(limits)
    one = source.one()
    starting(options.experts, reading=one.file, quiet=json)
    given = read_exchanges(one)
    names = parse_columns(source.columns)
    other = open_exchanges(source.against, names) if source.against else None
    fine = open_exchanges(source.benign, names) if source.benign else None
    with fetching() as progress:
        models = job.prepare_auditor(options, progress)
    if fine is not None and options.false_alarms is not None:
        with counting("fine replies") as step:
            models = job.set_budget(models, fine, options.false_alarms, step)
    with counting("replies") as step:
        record = job.audit(given, options, models=models, against=other, report=step)
    if fine is not None:
        job.store_limit(record, options, limits)
        note(f"the limit is in {limits}: give it with --config {limits}")
    emit(record, json=json, path=place, show=show_audit, report=report)
    if record.statistics["gate"] is not None:
        record.statistics["gate"].require()


def show_audit(record: "RunRecord") -> None:
    """Draw one reply in full, several as figures."""
    if len(record.results) == 1:
        _show_one(record.results[0], record.config.get("thresholds") or {})
    else:
        _show_many(record)
    paired, gate = record.statistics["against"], record.statistics["gate"]
    if paired:
        out.print(_paired(paired))
    if record.statistics.get("false_alarms") is not None:
        _show_budget(record.statistics["false_alarms"])
    if gate is not None:
        values = ", ".join(f"{check.name} is {check.value:.4g}" for check in gate.checks)
        out.print(f"gate {'met' if gate.met else 'not met'}: {values}", markup=False)
    print_warnings(record)


def _show_one(row: Any, limits: Any) -> None:
    from moralscope.rules.records import SCALES

    table = plain_table("reply", "rule ", "P", *SCALES, "foundations", "evidence")
    table.columns[1].justify = "left"
    for rule in row.rules:
        named = [name for name, value in rule.foundations.items() if value >= 0.5]
        label = rule.alignment.label
        sure = rule.alignment.probabilities[label] >= limits.get(label, 0.0)
        style = {"disagree": BAD, "agree": GOOD}.get(label, "dim") if sure else "dim"
        table.add_row(
            f"[{style}]{_MARKS[label] if sure else _MAYBE[label]}[/]",
            clean(rule.text),
            f"{rule.alignment.probabilities[label]:.2f}",
            *("" if value is None else f"{value:.1f}" for value in rule.scales.values()),
            ", ".join(named),
            rule.evidence,
        )
    if row.rules:
        out.print(table)
    word = f"flagged by {_BY[row.verdict.basis]}" if row.verdict.flag else "not flagged"
    style = BAD if row.verdict.flag else GOOD
    out.print(f"{word}, score {row.verdict.score:+.2f}", style=style)
    out.print(clean(row.verdict.reason))
    if row.revised_reply is not None:
        out.print(f"revised reply (by {row.revised_by}):", style="bold")
        out.print(clean(row.revised_reply))


def _show_budget(found: Any) -> None:
    out.print(
        f"at most {found.budget:.2%} of fine replies flagged: score limit {-found.limit:+.3f}, set "
        f"on {found.replies:,}; the usual limit flags {found.usual.value:.1%} of them",
        style="bold",
    )
    if found.rules:
        table = plain_table("rules that cost most", "false alarms", "for instance")
        table.columns[2].justify = "left"
        for cost in found.rules:
            table.add_row(clean(cost.rule), f"{cost.alarms:,}", clean(cost.reply[:_SHORT]))
        out.print(table)


def _show_many(record: "RunRecord") -> None:
    found = record.statistics
    rate, none = found["flagged"], found["abstained"]
    out.print(
        f"{rate.value:.1%} of {rate.n:,} replies flagged ({rate.low:.1%} … {rate.high:.1%}), "
        f"no verdict on {none.value:.1%}; mean score {found['score']['mean']:+.3f}",
        style="bold",
    )
    table = plain_table("foundation", "flagged", "share")
    for row in found["foundations"]:
        table.add_row(row["foundation"], f"{row['flagged']:,}", f"{row['share']:.1%}")
    out.print(table)
    if found["rules"]:
        table = plain_table("most broken rules", "broken", "kept")
        for row in found["rules"][:10]:
            table.add_row(clean(row["rule"]), f"{row['broken']:,}", f"{row['kept']:,}")
        out.print(table)
    if found["worst"]:
        table = plain_table("worst replies", "score", "id")
        for row in found["worst"][:10]:
            table.add_row(clean(row["reply"][:_SHORT]), f"{row['score']:+.2f}", clean(row["id"]))
        out.print(table)
    if record.config.get("revise"):
        where = "" if "corpus" in found else ": --json or --out"
        out.print(f"{found['revised']:,} revised replies{where}")


def _paired(found: Any) -> "Table":
    table = plain_table("against", "here", "there", "change", "p")
    share, score = found["flagged_change"], found["score_change"]
    table.add_row(
        "flagged",
        f"{found['flagged_here'].value:.1%}",
        f"{found['flagged_there'].value:.1%}",
        f"{share['value']:+.1%} ({share['low']:+.1%} … {share['high']:+.1%})",
        f"{found['p']:.3g}",
    )
    span = f"{score['value']:+.3f} ({score['low']:+.3f} … {score['high']:+.3f})"
    table.add_row("score", "", "", span, "")
    return table
