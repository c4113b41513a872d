"""`annotate adjudicate`: items on which annotators differ, and their final answers.

The project's owner decides; what is kept is `service_adjudication.py`'s.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moralscope.annotation.forms import load_form
from moralscope.annotation.options import AdjudicateOptions
from moralscope.annotation.projects import open_project, record_of
from moralscope.annotation.records import DisputedItem, Field
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import RunRecord
from moralscope.core.registry import did_you_mean

_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")


def list_disputed(folder: Path) -> RunRecord:
    """List the items on which annotators differ, with everybody's answers; undecided ones first."""
    with open_project(folder) as service:
        found = service.disputed(service.owner)
    undecided = sum(one.final is None for one in found)
    figures = {"disputed": len(found), "undecided": undecided}
    return record_of("annotate adjudicate", {"folder": str(folder)}, figures, list(found))


def adjudicate(
    folder: Path, item: str, options: AdjudicateOptions | None = None, **given: Any
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
    chosen = chosen_options(AdjudicateOptions, options, given)
    with open_project(folder) as service:
        found = {one.item.id: one for one in service.disputed(service.owner)}
        if item not in found:
            near = did_you_mean(item, list(found)) if found else "there is none that is disputed"
            raise InputError(f"annotators do not differ on an item '{item[:60]}'", near)
        answer = _answer(found[item], chosen)
        made = service.adjudicate(service.owner, item, answer, chosen.comment)
    config = {"folder": str(folder), "item": item, "options": plain_options(chosen)}
    return record_of("annotate adjudicate", config, {}, [made])


def agreed(one: DisputedItem) -> dict[str, Any]:
    """Return the part of an answer that nobody disputes."""
    first = next(iter(one.answers.values()))
    same = [name for name in first if name not in one.differs]
    return {
        name: first[name]
        for name in same
        if all(answer.get(name) == first[name] for answer in one.answers.values())
    }


def _answer(one: DisputedItem, chosen: AdjudicateOptions) -> dict[str, Any]:
    if not chosen.like and not chosen.values:
        raise InputError("there is no final answer", "give --take PERSON, or --set FIELD=VALUE")
    if chosen.like and chosen.like not in one.answers:
        raise InputError(
            f"'{chosen.like[:40]}' did not answer the item", did_you_mean(chosen.like, one.answers)
        )
    answer = dict(one.answers[chosen.like]) if chosen.like else agreed(one)
    fields = {field.name: field for field in load_form(one.item.form).fields}
    for text in chosen.values:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not sign or name not in fields:
            remedy = "write it like severity=4" if not sign else did_you_mean(name, fields)
            raise InputError(f"--set has '{text[:60]}'", remedy)
        answer[name] = _value(fields[name], value, one.item.texts)
    return answer


def _value(field: Field, text: str, texts: Mapping[str, str]) -> Any:
    """Read what was typed as a value of the field; `find` says whether it fits."""
    if field.type == "many":
        return [part.strip() for part in text.split("|") if part.strip()]
    if field.type in ("yes_no", "confirm"):
        if text.lower() not in (*_YES, *_NO):
            raise InputError(f"{field.name} is '{text[:20]}'", "give yes or no")
        return text.lower() in _YES
    if field.type == "scale":
        if not text.isdecimal():
            raise InputError(f"{field.name} is '{text[:20]}'", f"give {field.low} to {field.high}")
        return int(text)
    return texts.get(text, text) if field.choices_from else text
