"""`agreement`: how far people agree, which items split them, and who they are.

Reads a table of judgments or an annotation project. `agreement_so_far` is the lead's page's: the
agreement so far, small and fast.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moralscope.annotation.agreement_files import (
    COLUMNS,
    Judged,
    from_answers,
    read_judged,
    read_people,
)
from moralscope.annotation.disagreement import (
    FieldAgreement,
    ItemSpread,
    field_agreement,
    group_splits,
    item_spreads,
    most_split,
    significant,
)
from moralscope.annotation.forms import load_form
from moralscope.annotation.groups import (
    OTHERS,
    SMALLEST,
    Annotator,
    foundation_weights,
    group_agreement,
    item_groups,
    large_groups,
    leaning_shares,
)
from moralscope.annotation.judgments import FieldRatings, by_field
from moralscope.annotation.options import AgreementOptions
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import RunRecord
from moralscope.io.tables import parse_columns, parse_pairs

if TYPE_CHECKING:
    from moralscope.annotation.records import Person
    from moralscope.annotation.service import AnnotationService

SMALLEST_GROUP = 5
_SHOWN = 20
_NAMED = 8
_QUICK = 300  # resamples of the lead's page
_LEVELS = "FIELD=LEVEL,FIELD=LEVEL"
_OPINIONS = "agreement is how alike people judge, it does not say that they are right"
_OWN = (
    "each person judged a rule of their own: people may disagree in the rule and not in its "
    "attributes"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitItem(ItemSpread):
    """An item on which people part, with its texts."""

    text: str


@dataclass(frozen=True, slots=True)
class AgreementSoFar:
    """What the lead's page shows: coefficients field by field, and the items most disagreed on."""

    fields: tuple[FieldAgreement, ...]
    items: tuple[SplitItem, ...]
    answers: int


def agreement(path: Path, options: AgreementOptions | None = None, **given: Any) -> RunRecord:
    """Measure agreement and disagreement of the judgments in a table or a project's folder.

    Parameters
    ----------
    path
        CSV, JSONL or Parquet with item, person, field, value (or a column a field); an export of
        `annotate`; or the folder of a project.
    options
        `AgreementOptions`, or its fields as keywords. A project knows its `levels`, of a table
        those not given are guessed. Without `people` the column `leaning` counts. No
        `smallest_group` is 5, or what the project says.
    """
    chosen = chosen_options(AgreementOptions, options, given)
    people, seed = chosen.people, chosen.seed
    names = parse_columns(chosen.columns, COLUMNS, like="item=ID,person=WHO")
    if names and path.is_dir():
        raise InputError("a project knows its columns", "leave --columns out")
    judged = _project(path) if path.is_dir() else read_judged(path, names)
    if people is not None:
        judged = replace(judged, annotators=read_people(people))
    smallest = chosen.smallest_group or max(SMALLEST, judged.smallest_group or SMALLEST_GROUP)
    told = parse_levels(chosen.levels)
    there = {one.field for one in judged.judgments}
    for name in told:
        if name not in there:
            listed = ", ".join(sorted(there)[:8])
            raise InputError(f"there is no field '{name[:60]}'", f"the fields are {listed}")
    fields, left = by_field(judged.judgments, {**judged.levels, **told})
    spreads = [row for ratings in fields for row in item_spreads(ratings)]
    split = most_split(spreads, _SHOWN)
    measured = [field_agreement(ratings, seed=seed) for ratings in fields]
    groups = _groups(judged, fields, smallest, seed)
    unnamed = []
    if groups["leanings"] and all(row.leaning == OTHERS for row in groups["leanings"]):
        unnamed = [f"no leaning is named: none has {smallest} people or more, with as many others"]
    return RunRecord(
        "agreement",
        seed=seed,
        config={
            "source": judged.source,
            "people": None if people is None else str(people),
            "levels": {ratings.field: ratings.level for ratings in fields},
            "smallest_group": smallest,
            "options": plain_options(chosen),
        },
        models=[],
        results=spreads,
        statistics={
            "fields": measured,
            "most_split": split,
            "texts": {row.item: judged.texts.get(row.item, "") for row in split},
            **groups,
        },
        warnings=[_OPINIONS, *_warnings(judged, left, measured), *unnamed],
    )


def parse_levels(told: str | Mapping[str, str] | None) -> dict[str, str]:
    """Read `severity=ordinal,rule=text`: field and level.

    Examples
    --------
    >>> parse_levels("severity=ordinal, the rule=text")
    {'severity': 'ordinal', 'the rule': 'text'}
    """
    return dict(told) if isinstance(told, Mapping) else parse_pairs(told, "--levels", _LEVELS)


def agreement_so_far(
    service: "AnnotationService", lead: "Person", *, shown: int = 10
) -> AgreementSoFar:
    """Return the agreement so far of a project that is being annotated, for its lead's page.

    Parameters
    ----------
    service, lead
        The open project and who asks; the service refuses who is no lead.
    shown
        How many items.
    """
    judged = _judged(service, lead)
    fields, _ = by_field(judged.judgments, judged.levels)
    measured = tuple(field_agreement(ratings, resamples=_QUICK) for ratings in fields)
    spreads = [row for ratings in fields for row in item_spreads(ratings)]
    items = tuple(
        SplitItem(**asdict(row), text=judged.texts.get(row.item, ""))
        for row in most_split(spreads, shown)
    )
    return AgreementSoFar(measured, items, len(judged.judgments))


def _project(folder: Path) -> Judged:
    from moralscope.annotation.projects import open_project

    with open_project(folder) as service:
        found = _judged(service, service.owner)
        told = [
            Annotator(one.person, one.leaning, one.foundations or None)
            for one in service.facts(service.owner)
        ]
    if not found.judgments:
        raise InputError(f"{folder} holds no submitted answers yet", "annotate items first")
    return replace(found, annotators=told)


def _judged(service: "AnnotationService", lead: "Person") -> Judged:
    rows = service.answers(lead, "main")
    forms = {name: load_form(name) for name in dict.fromkeys(row.form for row in rows)}
    found = from_answers(rows, forms, str(service.project.folder))
    return replace(found, smallest_group=service.project.policies.smallest_group)


def _groups(
    judged: Judged, fields: Sequence[FieldRatings], smallest: int, seed: int
) -> dict[str, Any]:
    """Return everything that names leanings; groups that are too small are in none of it."""
    answering = {one.person for one in judged.judgments}
    told = [one for one in judged.annotators if one.person in answering]
    known = {one.person: one.leaning for one in told}
    leanings = {person: known.get(person) for person in sorted(answering)}
    if not any(leanings.values()):
        large_groups({}, smallest)  # too small a number is refused all the same
        return {"people": len(answering), "leanings": []}
    everyone = [Annotator(person, leaning) for person, leaning in leanings.items()]
    written = Counter(who for who, _ in {(one.person, one.item) for one in judged.judgments})
    apart = group_splits(fields, leanings, smallest, seed=seed)
    by_item = {ratings.field: item_groups(ratings, leanings, smallest) for ratings in fields}
    return {
        "people": len(answering),
        "leanings": leaning_shares(everyone, written, smallest),
        "foundations": foundation_weights(told, smallest, seed=seed),
        "within": [
            row
            for ratings in fields
            for row in group_agreement(ratings, leanings, smallest, seed=seed)
        ],
        "field_splits": group_splits(fields, leanings, smallest, whole=True, seed=seed),
        "item_splits": apart[: max(_SHOWN, len(significant(apart)))],
        "items_compared": len(apart),
        "item_leanings": {field: found for field, found in by_item.items() if found},
    }


def _warnings(judged: Judged, left: Sequence[str], measured: Sequence[FieldAgreement]) -> list[str]:
    found = [_OWN] if judged.own_texts else []
    if judged.staged:
        found.append(f"{judged.staged:,} rows of staging rounds do not count")
    if left:
        more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        found.append(f"free text is not compared: {', '.join(map(_safe, left[:_NAMED]))}{more}")
    for row in measured:
        if not row.items:
            found.append(f"{_safe(row.field)}: no item has two answers")
        elif isnan(row.alpha.value):
            found.append(f"{_safe(row.field)}: alpha is undefined, all answers are the same")
    return found


def _safe(name: str) -> str:
    """Return a field's name without what a terminal would obey."""
    return "".join(char if char.isprintable() else "�" for char in name[:60])
