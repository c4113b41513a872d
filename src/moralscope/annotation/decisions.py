"""`annotate decide`, `decisions` and `adjudicate`: what a project's owner decides by command line.

What happens to answers and people is `service_decisions.py`'s.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moralscope.annotation.forms import load_form, one_of
from moralscope.annotation.options import DECISIONS, AdjudicateOptions, DecideOptions
from moralscope.annotation.projects import open_project, project_record
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options
from moralscope.core.records import RunRecord, Statistics, absent
from moralscope.core.registry import did_you_mean


@dataclass(frozen=True, slots=True)
class DecisionStatistics(Statistics):
    """How many decisions there are, hold, and wait for an answer to their appeal."""

    decisions: int
    in_force: int
    appeals_waiting: int


@dataclass(frozen=True, slots=True)
class AdjudicateStatistics(Statistics):
    """How many items divide people, of a list; nothing where one item was decided."""

    disputed: int | None = absent()
    undecided: int | None = absent()


def decide(
    folder: Path, action: str, subject: str, options: DecideOptions | None = None, **keywords: Any
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
    chosen = chosen_options(DecideOptions, options, keywords)
    one_of(action, DECISIONS, "decision")
    with open_project(folder) as service:
        lead = service.owner
        if action == "reject":
            decision = service.reject(lead, subject, chosen.reason)
        elif action == "block":
            decision = service.block(lead, subject, chosen.reason, leave_out=chosen.leave_out)
        else:
            lift = action == "lift"
            decision = service.settle(lead, subject, lift=lift, answer=chosen.reason)
    settings: dict[str, Any] = {"action": action, "subject": subject, "options": chosen}
    return project_record("annotate decide", folder, [decision], **settings)


def list_decisions(folder: Path) -> RunRecord:
    """List decisions: where an appeal waits first, then the newest."""
    with open_project(folder) as service:
        decisions = service.decisions(service.owner)
    statistics = DecisionStatistics(
        decisions=len(decisions),
        in_force=sum(one.holds for one in decisions),
        appeals_waiting=sum(one.waits for one in decisions),
    )
    return project_record("annotate decisions", folder, decisions, statistics)


def list_disputed(folder: Path) -> RunRecord:
    """List the items on which annotators differ, with everybody's answers; undecided ones first."""
    with open_project(folder) as service:
        items = service.disputed(service.owner)
    statistics = AdjudicateStatistics(len(items), sum(one.final is None for one in items))
    return project_record("annotate adjudicate", folder, items, statistics)


def adjudicate(
    folder: Path, item: str, options: AdjudicateOptions | None = None, **keywords: Any
) -> RunRecord:
    """Decide the final answer of an item.

    Parameters
    ----------
    folder, item
        The project, and the id of an item on which annotators differ.
    options
        `AdjudicateOptions`, or its fields as keywords. The answer begins with what all agree on,
        or with that of the person named by `like`; `values` change it field by field.
    """
    chosen = chosen_options(AdjudicateOptions, options, keywords)
    with open_project(folder) as service:
        disputed = {one.item.id: one for one in service.disputed(service.owner)}
        if item not in disputed:
            near = did_you_mean(item, disputed) if disputed else "there is none that is disputed"
            raise InputError(f"annotators do not differ on an item '{item[:60]}'", near)
        answers = disputed[item].answers
        if not chosen.like and not chosen.values:
            remedy = "give --take PERSON, or --set FIELD=VALUE"
            raise InputError("there is no final answer", remedy)
        if chosen.like and chosen.like not in answers:
            near = did_you_mean(chosen.like, answers)
            raise InputError(f"'{chosen.like[:40]}' did not answer the item", near)
        answer = dict(answers[chosen.like]) if chosen.like else disputed[item].agreed
        fields = {field.name: field for field in load_form(disputed[item].item.form).fields}
        for text in chosen.values:
            name, sign, value = (part.strip() for part in text.partition("="))
            if not sign or name not in fields:
                remedy = "write it like severity=4" if not sign else did_you_mean(name, fields)
                raise InputError(f"--set has '{text[:60]}'", remedy)
            answer[name] = fields[name].kind.parse(fields[name], value, disputed[item].item.texts)
        final = service.adjudicate(service.owner, item, answer, chosen.comment)
    settings = {"item": item, "options": chosen}
    return project_record(
        "annotate adjudicate", folder, [final], AdjudicateStatistics(), **settings
    )
