"""Results in forms that other systems show: JUnit XML, SARIF and a Markdown summary.

One case for each audited reply, and one for each condition of a gate. Replies are hostile text:
in XML they are escaped, in Markdown they stand as code, where no link, image or @name works.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.io.run_records import check_record
from moralscope.rules.records import AuditedReply, RuleFinding
from moralscope.rules.thresholds import Thresholds, known_limits
from moralscope.rules.verdict import broken_rules, worst_broken
from moralscope.stats.gates import GateCheck, GateResult
from moralscope.version import __version__

_SHORT = 160  # characters of a reply in a title or a table
_ROWS = 20  # flagged replies in a Markdown summary
_GRAVE = 4.0  # severity from which a broken rule is an error
_NAMELESS = "no rule names it"
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """What is exported of a run: the replies of an audit, the conditions of a gate."""

    name: str
    source: str
    audits: Sequence[AuditedReply]
    checks: Sequence[GateCheck]
    limits: Thresholds = field(default_factory=Thresholds)

    @property
    def flagged(self) -> list[AuditedReply]:
        """The flagged replies, worst first."""
        rows = [row for row in self.audits if row.verdict.flag]
        return sorted(rows, key=lambda row: row.verdict.score)

    @property
    def abstentions(self) -> int:
        """How many replies have no verdict."""
        return sum(not row.verdict.is_judged for row in self.audits)

    def worst(self, row: AuditedReply) -> RuleFinding | None:
        """Return the rule that leads; of records without one, the worst that a reply breaks."""
        lead = next((rule for rule in row.rules if rule.text == row.verdict.lead), None)
        is_old = row.verdict.gauge is None
        return lead or (worst_broken(row.rules, self.limits) if is_old else None)

    def details(self, row: AuditedReply) -> str:
        """Return prompt, reply and every broken rule of a reply."""
        rules = "\n".join(f"breaks: {rule.text}" for rule in broken_rules(row.rules, self.limits))
        return f"prompt: {row.prompt}\nreply: {row.reply}\n{rules}"


def read_results(plain: Any, name: str = "the run record") -> ExportedRun:
    """Return what can be exported of a record: an audit, or any run with a gate."""
    record = check_record(plain, name)
    job, config = record["job"], record["config"]
    gate = decode(GateResult | None, record["statistics"].get("gate"), f"{name}: gate")  # type: ignore[arg-type]
    if job != "audit" and gate is None:
        raise InputError(
            f"{name} is a record of '{job}' without a gate",
            "give one of an audit, or of a run with --gate",
        )
    audits = decode(list[AuditedReply], record["results"], name) if job == "audit" else []
    return ExportedRun(
        f"moralscope {job}",
        str(config.get("source") or job),
        audits,
        gate.checks if gate else (),
        known_limits(config.get("thresholds") or {}, name),
    )


def junit(run: ExportedRun) -> str:
    """Write JUnit XML: flagged replies fail, abstentions are skipped."""
    suite = ElementTree.Element("testsuite", name=run.name)
    for row in run.audits:
        title = _xml(f"reply {row.id}: {_short(row.reply)}")
        case = ElementTree.SubElement(suite, "testcase", classname=run.source, name=title)
        if row.verdict.flag:
            failed = ElementTree.SubElement(case, "failure", message=_xml(row.verdict.reason))
            failed.text = _xml(run.details(row))
        elif not row.verdict.is_judged:
            ElementTree.SubElement(case, "skipped", message=_xml(row.verdict.reason))
    for check in run.checks:
        case = ElementTree.SubElement(suite, "testcase", classname="gate", name=_condition(check))
        if not check.met:
            ElementTree.SubElement(case, "failure", message=_value(check))
    counts = {"tests": "testcase", "failures": ".//failure", "skipped": ".//skipped"}
    for name, path in counts.items():
        suite.set(name, str(len(suite.findall(path))))
    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suite, "unicode")}\n'


def sarif(run: ExportedRun) -> str:
    """Write SARIF 2.1.0: one result for each flagged reply, by the worst rule it breaks.

    In a JSONL file a reply stands on the line of its number, in any other in the file.
    """
    lines = {id(row): number for number, row in enumerate(run.audits, 1)}
    by_line = Path(run.source).suffix == ".jsonl"
    rules: dict[str, None] = {}
    results = []
    for row in run.flagged:
        worst = run.worst(row)
        rule = worst.text if worst else _NAMELESS
        severity = worst.severity if worst else None
        rules[rule] = None
        name = {"name": f"reply {row.id}"}
        location = {
            "artifactLocation": {"uri": Path(run.source).as_posix()},
            "region": {"startLine": lines[id(row)] if by_line else 1},
        }
        results.append(
            {
                "ruleId": rule,
                "level": "error" if severity is None or severity >= _GRAVE else "warning",
                "message": {"text": f"{row.verdict.reason}\n\n{run.details(row)}"},
                "locations": [{"physicalLocation": location, "logicalLocations": [name]}],
            }
        )
    described = [{"id": text, "shortDescription": {"text": text}} for text in rules]
    driver = {"name": "moralscope", "version": __version__, "rules": described}
    whole = {
        "$schema": _SARIF,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def markdown(run: ExportedRun) -> str:
    """Write a summary for a pull request: counts, the gate, the worst replies and their rules."""
    flagged = run.flagged
    lines = [f"## {run.name}: {_code(run.source)}", ""]
    if run.audits:
        share = f"{len(flagged):,} of {len(run.audits):,} replies flagged"
        lines += [f"**{share}**, no verdict on {run.abstentions:,}.", ""]
    for check in run.checks:
        mark = "✅" if check.met else "❌"
        lines.append(f"- {mark} gate {_code(_condition(check))}: {_value(check)}")
    if flagged:
        lines += ["", "| reply | id | score | rule |", "|---|---|---:|---|"]
    for row in flagged[:_ROWS]:
        worst = run.worst(row)
        cells = [_code(_short(row.reply)), _code(row.id), f"{row.verdict.score:+.2f}"]
        lines.append(f"| {' | '.join([*cells, _code(worst.text if worst else _NAMELESS)])} |")
    if len(flagged) > _ROWS:
        lines += ["", f"… and {len(flagged) - _ROWS:,} more."]
    lines += ["", "_Verdicts describe rules and models; they are not moral advice._"]
    return "\n".join(lines) + "\n"


FORMATS: Mapping[str, Callable[[ExportedRun], str]] = {
    "junit": junit,
    "sarif": sarif,
    "markdown": markdown,
}
SUFFIXES = {".xml": "junit", ".sarif": "sarif", ".md": "markdown"}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}…"


def _condition(check: GateCheck) -> str:
    return f"{check.name}{check.operator}{check.limit:g}"


def _value(check: GateCheck) -> str:
    return f"{check.name} is {'not known' if math.isnan(check.value) else f'{check.value:.4g}'}"


def _xml(text: str) -> str:
    """Leave out what XML 1.0 cannot hold."""
    return "".join(char for char in text if char.isprintable() or char in "\t\n")


def _code(text: str) -> str:
    """Put a stranger's text into Markdown as code: one line, no way out of it, no table cell."""
    line = " ".join(text.split()).replace("`", "'").replace("|", "\\|")
    return f"`{line or ' '}`"
