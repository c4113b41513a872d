"""Which rule is named for a reply: the one with the largest margin to its own limit, everywhere."""

from dataclasses import replace
from io import StringIO

from rich.console import Console

from moralscope.pages import page_of, report_html
from moralscope.pages.terminal import render
from moralscope.rules.audit import AuditModels, audit
from moralscope.rules.records import Exchange, RuleOfThumb
from moralscope.server.guard import WITHHELD, Guard, GuardedReply
from moralscope.server.options import GuardOptions

from .scripted_audit import auditor

LENIENT = RuleOfThumb("You should not lie to friends.", severity=5.0, consensus=5.0)
STRICT = RuleOfThumb("Never lie to a customer.", severity=1.0, consensus=1.0)


class Service:
    """Audits with one auditor, whatever the options."""

    def __init__(self, models):
        self.models = models

    def audit(self, rows, options, rules):
        return audit(list(rows), models=self.models)


def test_terminal_report_record_and_guard_name_the_same_rule():
    # Both are broken with 0.9: one is far above its own limit, the other hardly.
    strict = {STRICT.text: 0.2, LENIENT.text: 0.85}
    plain = auditor((), house=(LENIENT, STRICT), general=False)
    models = AuditModels(replace(plain, whole=2, rule_limits=strict))
    lies = ("Q", "I lie to her every day.", "1")
    record = audit([Exchange(*lies)], models=models)
    verdict = record.results[0].verdict
    assert verdict.broken == (STRICT.text, LENIENT.text)
    named = f"breaks “{STRICT.text}”"
    assert verdict.reason.startswith(named)
    stream = StringIO()
    render(page_of(record), Console(file=stream, width=200))
    assert f"Rule: Breaks “{STRICT.text}”" in stream.getvalue()
    assert named in report_html(record)
    (decision,) = Guard(Service(models), GuardOptions(action="block"))("Q", [GuardedReply(lies[1])])
    assert decision.text == WITHHELD.format(STRICT.text)
