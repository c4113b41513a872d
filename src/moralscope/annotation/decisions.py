"""`annotate decide` and `annotate decisions`: rejections, blocks and appeals from the command line.

The project's owner acts; what happens is `service_decisions.py`'s.
"""

from pathlib import Path
from typing import Any

from moralscope.annotation.forms import one_of
from moralscope.annotation.options import DECISIONS, DecideOptions
from moralscope.annotation.projects import open_project, record_of
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import RunRecord


def decide(
    folder: Path, action: str, subject: str, options: DecideOptions | None = None, **given: Any
) -> RunRecord:
    """Reject an answer, block a person, lift a decision or decline an appeal.

    Parameters
    ----------
    folder, action
        The project, and reject, block, lift or decline.
    subject
        What it is about: a submission (`submission` of an export), a person, a decision.
    options
        `DecideOptions`, or its fields as keywords.
    """
    chosen = chosen_options(DecideOptions, options, given)
    one_of(action, DECISIONS, "decision")
    with open_project(folder) as service:
        lead = service.owner
        if action == "reject":
            made = service.reject(lead, subject, chosen.reason)
        elif action == "block":
            made = service.block(lead, subject, chosen.reason, leave_out=chosen.leave_out)
        else:
            lift = action == "lift"
            made = service.settle(lead, subject, lift=lift, answer=chosen.reason)
    config = {"folder": str(folder), "action": action, "subject": subject}
    return record_of("annotate decide", {**config, "options": plain_options(chosen)}, {}, [made])


def list_decisions(folder: Path) -> RunRecord:
    """List decisions: where an appeal waits first, then the newest."""
    with open_project(folder) as service:
        found = service.decisions(service.owner)
    figures = {
        "decisions": len(found),
        "in_force": sum(one.holds for one in found),
        "appeals_waiting": sum(one.waits for one in found),
    }
    return record_of("annotate decisions", {"folder": str(folder)}, figures, list(found))
