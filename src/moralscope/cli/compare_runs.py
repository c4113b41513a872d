"""`moralscope compare --runs`: two saved runs, what changed between them, and a gate for CI."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from moralscope.core.records import RunRecord

_SHOWN = 10
_CUT = 60
_LISTS = (
    ("newly_flagged", "newly flagged"),
    ("newly_cleared", "no longer flagged"),
    ("drops", "largest drops"),
    ("rises", "largest rises"),
)


def show(record: "RunRecord") -> None:
    """Print what changed, the largest changes, and whether the gate was met."""
    from moralscope.cli.output import clean, out, print_warnings

    config, found = record.config, record.statistics
    what = f"{config['job']}, {config['axis']}" if "axis" in config else config["job"]
    out.print(
        clean(f"{config['runs'][0]} → {config['runs'][1]}: {what}, {found['items']:,} in both"),
        style="bold",
    )
    out.print(_figures(found))
    for key, title in _LISTS:
        if found.get(key):
            out.print()
            out.print(_items(title, found[key]))
    gate = found["gate"]
    if gate is not None:
        told = ", ".join(f"{check.name} is {check.value:.4g}" for check in gate.checks)
        verdict = "met" if gate.met else "not met"
        out.print(clean(f"gate {gate.expression}: {verdict} ({told})"))
    print_warnings(record)


def _figures(found: Any) -> "Table":
    from moralscope.cli.output import plain_table

    table = plain_table("change", "")
    change = found["change"]
    table.add_row("mean before, after", f"{found['mean']['before']:+.4f}, {_mean(found):+.4f}")
    table.add_row("mean change", f"{_span(change)}, p {change.p:.3g}")
    if "spearman" in found:
        order = found["spearman"]
        table.add_row("Spearman's rho", f"{order.r:.4f} ({order.low:.4f} … {order.high:.4f})")
        table.add_row("changed sign", _share(found["flips"]))
        ends = f"{found['max_drop']:.4f}, {found['max_rise']:.4f}"
        table.add_row("largest drop, rise", ends)
    if found.get("changed") is not None:
        table.add_row("beyond the prompts' noise", f"{found['changed']:,} of {found['items']:,}")
    flagged = found.get("flagged")
    if flagged:
        table.add_row("flagged before", _share(flagged["before"]))
        table.add_row("flagged after", _share(flagged["after"]))
        table.add_row("flagged change", _span(flagged["change"]))
    if flagged and "newly_flagged" in flagged:
        table.add_row("newly flagged", _share(flagged["newly_flagged"]))
        table.add_row("no longer flagged", _share(flagged["newly_cleared"]))
        table.add_row("p (McNemar, exact)", f"{flagged['p']:.3g}")
    for row in found.get("foundations") or ():
        if row["before"].value or row["after"].value:
            name = f"  {row['foundation']}"
            shares = f"{row['before'].value:.1%} → {row['after'].value:.1%}"
            table.add_row(name, shares)
    if "other_replies" in found:
        table.add_row("other replies", f"{found['other_replies']:,} of {found['items']:,}")
    table.add_row("only before, only after", f"{found['only_before']:,}, {found['only_after']:,}")
    return table


def _mean(found: Any) -> float:
    return float(found["mean"]["after"])


def _span(found: Any) -> str:
    return f"{found.value:+.4f} ({found.low:+.4f} … {found.high:+.4f})"


def _share(found: Any) -> str:
    return f"{found.value:.2%} ({found.low:.2%} … {found.high:.2%})"


def _items(title: str, rows: Sequence[Any]) -> "Table":
    from moralscope.cli.output import clean, plain_table

    table = plain_table("item", "before", "after", "change", title=title)
    for row in rows[:_SHOWN]:
        text = row.text if len(row.text) <= _CUT else f"{row.text[:_CUT]}…"
        table.add_row(clean(text), f"{row.before:+.3f}", f"{row.after:+.3f}", f"{row.change:+.3f}")
    return table
