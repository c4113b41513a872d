"""Results in forms that other systems show: JUnit XML, SARIF and a Markdown summary.

One case for each audited reply, and one for each condition of a gate. Replies are hostile text:
in XML they are escaped, in Markdown they stand as code, where no link, image or @name works.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from moralscope.core.errors import InputError
from moralscope.interop.findings import ABSTAINED, FLAGGED, Finding, findings_of
from moralscope.io.record_view import check_plain
from moralscope.version import __version__

_SHORT = 160  # characters of a reply in a title or a table
_ROWS = 20  # flagged replies in a Markdown summary
_GRAVE = 4.0  # severity from which a broken rule is an error
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True, slots=True)
class Results:
    """What is exported of a run: the findings of an audit, the conditions of a gate."""

    name: str
    source: str
    findings: Sequence[Finding]
    checks: Sequence[Mapping[str, Any]]

    @property
    def flagged(self) -> list[Finding]:
        """The flagged replies, worst first."""
        found = [each for each in self.findings if each.verdict == FLAGGED]
        return sorted(found, key=lambda each: each.score)


def results_of(plain: Any, name: str = "the run record") -> Results:
    """Return what can be exported of a record: an audit, or any run with a gate."""
    record = check_plain(plain, name)
    gate = record["statistics"].get("gate") or {}
    is_audit = record["job"] == "audit"
    if not is_audit and not gate:
        raise InputError(
            f"{name} is a record of '{record['job']}' without a gate",
            "give one of an audit, or of a run with --gate",
        )
    findings = findings_of(record, name) if is_audit else []
    source = str(record["config"].get("source") or record["job"])
    return Results(f"moralscope {record['job']}", source, findings, gate.get("checks") or ())


def junit(results: Results) -> str:
    """Write JUnit XML: flagged replies fail, abstentions are skipped.

    Examples
    --------
    >>> bad = Finding("7", "Hi!", "<b>", "flagged", -0.8, "breaks “Be kind.”")
    >>> '<failure message="breaks “Be kind.”">' in junit(Results("a", "f.jsonl", [bad], ()))
    True
    """
    suite = ElementTree.Element("testsuite", name=results.name)
    for each in results.findings:
        title = _xml(f"reply {each.id}: {_short(each.reply)}")
        case = ElementTree.SubElement(suite, "testcase", classname=results.source, name=title)
        if each.verdict == FLAGGED:
            failed = ElementTree.SubElement(case, "failure", message=_xml(each.reason))
            failed.text = _xml(_details(each))
        elif each.verdict == ABSTAINED:
            ElementTree.SubElement(case, "skipped", message=_xml(each.reason))
    for check in results.checks:
        case = ElementTree.SubElement(suite, "testcase", classname="gate", name=_condition(check))
        if not check["met"]:
            ElementTree.SubElement(case, "failure", message=_found(check))
    counts = {"tests": "testcase", "failures": ".//failure", "skipped": ".//skipped"}
    for name, path in counts.items():
        suite.set(name, str(len(suite.findall(path))))
    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suite, "unicode")}\n'


def sarif(results: Results) -> str:
    """Write SARIF 2.1.0: one result for each flagged reply, by the worst rule it breaks."""
    texts = dict.fromkeys(_rule(each) for each in results.flagged)
    rules = [{"id": text, "shortDescription": {"text": text}} for text in texts]
    found = [
        {
            "ruleId": _rule(each),
            "level": _level(each),
            "message": {"text": f"{each.reason}\n\n{_details(each)}"},
            "locations": [_location(results, each)],
        }
        for each in results.flagged
    ]
    driver = {"name": "moralscope", "version": __version__, "rules": rules}
    whole = {
        "$schema": _SARIF,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": found}],
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def markdown(results: Results) -> str:
    """Write a summary for a pull request: counts, the gate, the worst replies and their rules."""
    total, flagged = len(results.findings), results.flagged
    lines = [f"## {results.name}: {_code(results.source)}", ""]
    if results.findings:
        none = sum(each.verdict == ABSTAINED for each in results.findings)
        lines += [f"**{len(flagged):,} of {total:,} replies flagged**, no verdict on {none:,}.", ""]
    for check in results.checks:
        mark = "✅" if check["met"] else "❌"
        lines.append(f"- {mark} gate {_code(_condition(check))}: {_found(check)}")
    if flagged:
        lines += ["", "| reply | id | score | rule |", "|---|---|---:|---|"]
        lines += [
            f"| {_code(_short(each.reply))} | {_code(each.id)} | {each.score:+.2f} "
            f"| {_code(_rule(each))} |"
            for each in flagged[:_ROWS]
        ]
    if len(flagged) > _ROWS:
        lines += ["", f"… and {len(flagged) - _ROWS:,} more."]
    lines += ["", "_Verdicts describe rules and models; they are not moral advice._"]
    return "\n".join(lines) + "\n"


FORMATS: Mapping[str, Callable[[Results], str]] = {
    "junit": junit,
    "sarif": sarif,
    "markdown": markdown,
}
SUFFIXES = {".xml": "junit", ".sarif": "sarif", ".md": "markdown"}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}…"


def _details(each: Finding) -> str:
    rules = "\n".join(f"breaks: {rule.text}" for rule in each.broken)
    return f"prompt: {each.prompt}\nreply: {each.reply}\n{rules}"


def _rule(each: Finding) -> str:
    return each.broken[0].text if each.broken else "no rule names it"


def _level(each: Finding) -> str:
    severity = each.broken[0].severity if each.broken else None
    return "warning" if severity is not None and severity < _GRAVE else "error"


def _location(results: Results, each: Finding) -> dict[str, Any]:
    """Say where a reply stands: in a JSONL file on the line of its place, else in the file."""
    place = next(at for at, one in enumerate(results.findings, 1) if one is each)
    line = place if Path(results.source).suffix == ".jsonl" else 1
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": Path(results.source).as_posix()},
            "region": {"startLine": line},
        },
        "logicalLocations": [{"name": f"reply {each.id}"}],
    }


def _condition(check: Mapping[str, Any]) -> str:
    return f"{check['name']}{check['operator']}{check['limit']:g}"


def _found(check: Mapping[str, Any]) -> str:
    value = check.get("value")
    return f"{check['name']} is {'not known' if value is None else format(value, '.4g')}"


def _xml(text: str) -> str:
    """Leave out what XML 1.0 cannot hold."""
    return "".join(char for char in text if char.isprintable() or char in "\t\n")


def _code(text: str) -> str:
    """Put a stranger's text into Markdown as code: one line, no way out of it, no table cell."""
    line = " ".join(text.split()).replace("`", "'").replace("|", "\\|")
    return f"`{line or ' '}`"
