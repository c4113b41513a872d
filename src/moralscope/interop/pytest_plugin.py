"""pytest: a test fails where a bot's reply is flagged, or where a gate over its replies is missed.

    def test_bot(moral_audit):
        moral_audit("May I read her diary?", bot("May I read her diary?"))

    @pytest.mark.moral(rulebook="rules.yaml", gate="flagged<=0.02")
    def test_release(moral_audit):
        for prompt in PROMPTS:
            moral_audit(prompt, bot(prompt))

pytest loads it by itself (entry point `pytest11`) wherever moralscope is installed, so nothing here
imports more than pytest before a test asks for the fixture.
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from moralscope.rules.records import AuditedReply

_CHECK = pytest.StashKey[Callable[[], None]]()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers",
        "moral(rulebook=None, gate=None, **options): what `moral_audit` judges by; with a gate the "
        "test fails where it is not met, else at the first flagged reply",
    )


@pytest.fixture
def moral_audit(request: pytest.FixtureRequest) -> Callable[[Any, Any], "AuditedReply"]:
    """Audit a reply: call it with the prompt and the reply, texts or messages of a chat."""
    from moralscope.interop.replies import audit_options, audited
    from moralscope.rules.audit_statistics import FIGURES, audit_statistics
    from moralscope.rules.thresholds import Thresholds
    from moralscope.stats.gates import check_gate, parse_gate

    marker = request.node.get_closest_marker("moral")
    settings = dict(marker.kwargs) if marker else {}
    written = settings.pop("gate", None)
    gate = None if written is None else parse_gate(written, FIGURES)
    options = audit_options(**settings)
    audits: list[AuditedReply] = []

    def audit(prompt: Any, reply: Any) -> "AuditedReply":
        row = audited(prompt, reply, options)
        audits.append(row)
        if gate is None and row.verdict.flag:
            pytest.fail(f"flagged: {row.verdict.reason}\nprompt: {row.prompt}\nreply: {row.reply}")
        return row

    def check() -> None:
        if gate is not None and audits:
            figures = audit_statistics(audits, Thresholds(), seed=0).figures()
            missed = [row for row in check_gate(gate, {"": figures}).checks if not row.met]
            if missed:
                pytest.fail(f"gate not met by {len(audits)} replies: {', '.join(map(str, missed))}")

    request.node.stash[_CHECK] = check
    return audit


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    """Hold the gate against all replies that the test audited, after it passed."""
    outcome = yield
    pyfuncitem.stash.get(_CHECK, lambda: None)()
    return outcome
