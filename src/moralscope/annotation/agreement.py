"""`agreement`: how far people agree, which items split them, and who they are.

Reads a table of judgments or an annotation project. `agreement_so_far` is the lead's page's: the
agreement so far, small and fast.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moralscope.annotation.agreement_files import (
    COLUMNS,
    JudgmentSet,
    answer_judgments,
    read_judgments,
    read_people,
)
from moralscope.annotation.disagreement import (
    FieldAgreement,
    GroupSplit,
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
    FoundationWeight,
    GroupAgreement,
    LeaningShare,
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
from moralscope.core.printable import printable
from moralscope.core.records import RunRecord, Statistics, absent
from moralscope.io.tables import parse_columns, parse_pairs

if TYPE_CHECKING:
    from moralscope.annotation.records import Person
    from moralscope.annotation.service import AnnotationService

SMALLEST_GROUP = 5
_SHOWN = 20
_NAMED = 8
_QUICK = 300  # resamples of the lead's page
_LEVELS = "FIELD=LEVEL,FIELD=LEVEL"
_OPINIONS = "agreement is how similarly people judge; it does not say that they are right"
_OWN = (
    "each person judged a rule of their own: people may disagree in the rule and not in its "
    "attributes"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementStatistics(Statistics):
    """How far people agree, which items split them, and who they are."""

    fields: Sequence[FieldAgreement]
    most_split: Sequence[ItemSpread]
    texts: Mapping[str, str]  # of the items most split
    people: int
    leanings: Sequence[LeaningShare]
    """Empty where nobody said a leaning; then what follows is not there."""
    foundations: Sequence[FoundationWeight] | None = absent()
    within: Sequence[GroupAgreement] | None = absent()
    field_splits: Sequence[GroupSplit] | None = absent()
    item_splits: Sequence[GroupSplit] | None = absent()
    items_compared: int | None = absent()
    item_leanings: Mapping[str, Mapping[str, Mapping[str, Mapping[str, int]]]] | None = absent()
    """Field → item → leaning → how often each value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAgreement:
    """Krippendorff's alpha and the share of equal answers; None where there is too little."""

    field: str
    label: str
    level: str
    alpha: float | None
    low: float | None
    high: float | None
    share: float | None
    items: int
    answers: int
    people: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DividingItem:
    """An item on which people differ: `disagreement` is 0 to 1, `counts` how many said what."""

    item: str
    text: str
    field: str
    label: str
    disagreement: float
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class AgreementSoFar:
    """What the lead's page shows: agreement by question, and the items most disagreed on."""

    fields: tuple[QuestionAgreement, ...] = ()
    items: tuple[DividingItem, ...] = ()


def agreement(
    path: str | Path, options: AgreementOptions | None = None, **keywords: Any
) -> RunRecord:
    """Measure agreement and disagreement of the judgments in a table or a project's folder.

    Parameters
    ----------
    path
        CSV, JSONL or Parquet with item, person, field, value (or one column per field); an export
        of `annotate`; or the folder of a project.
    options
        `AgreementOptions`, or its fields as keywords. A project knows its `levels`, of a table
        those not given are guessed. Without `people` the column `leaning` counts. No
        `smallest_group` is 5, or what the project says.
    """
    path = Path(path)
    chosen = chosen_options(AgreementOptions, options, keywords)
    columns = parse_columns(chosen.columns, COLUMNS, like="item=ID,person=WHO")
    if path.is_dir():
        if columns:
            raise InputError("a project knows its columns", "leave --columns out")
        judged = _project_judgments(path)
    else:
        judged = read_judgments(path, columns)
    if chosen.people is not None:
        judged = replace(judged, annotators=read_people(chosen.people))
    smallest = chosen.smallest_group or max(SMALLEST, judged.smallest_group or SMALLEST_GROUP)
    levels = parse_levels(chosen.levels)
    names = {one.field for one in judged.judgments}
    for name in levels:
        if name not in names:
            listed = ", ".join(sorted(names)[:8])
            raise InputError(f"there is no field '{name[:60]}'", f"the fields are {listed}")
    fields, free_texts = by_field(judged.judgments, {**judged.levels, **levels})
    spreads = [row for ratings in fields for row in item_spreads(ratings)]
    split = most_split(spreads, _SHOWN)
    statistics = AgreementStatistics(
        fields=[field_agreement(ratings, seed=chosen.seed) for ratings in fields],
        most_split=split,
        texts={row.item: judged.texts.get(row.item, "") for row in split},
        **_leanings(judged, fields, smallest, chosen.seed),
    )
    warnings = [_OPINIONS, *_warnings(judged, free_texts, statistics.fields)]
    if statistics.leanings and all(row.leaning == OTHERS for row in statistics.leanings):
        warnings.append(
            f"no political leaning is shown: each group needs at least {smallest} people"
        )
    config = {
        "source": judged.source,
        "people": None if chosen.people is None else str(chosen.people),
        "levels": {ratings.field: ratings.level for ratings in fields},
        "smallest_group": smallest,
        "options": plain_options(chosen),
    }
    return RunRecord("agreement", chosen.seed, config, [], spreads, statistics, warnings)


def parse_levels(levels: str | Mapping[str, str] | None) -> dict[str, str]:
    """Read `severity=ordinal,rule=text`: field and level."""
    return dict(levels) if isinstance(levels, Mapping) else parse_pairs(levels, "--levels", _LEVELS)


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
    judged = _service_judgments(service, lead)
    fields, _ = by_field(judged.judgments, judged.levels)
    questions = {field.name: field for field in service.form.fields}
    for form in service.forms:
        questions |= {f"{form.name}: {one.name}": one for one in form.fields}

    def label(name: str) -> str:  # of many choices each is a field: `foundations: care`
        if name in questions:
            return questions[name].label
        asked, _, value = name.rpartition(": ")
        if asked not in questions:
            return name
        return f"{questions[asked].label} {questions[asked].label_of(value) or value}"

    def counts(row: ItemSpread) -> dict[str, int]:
        asked = questions.get(row.field)
        if asked is None:
            return dict(row.counts)
        return {asked.kind.name(asked, value): n for value, n in row.counts.items()}

    measured = [field_agreement(ratings, resamples=_QUICK) for ratings in fields]
    spreads = [row for ratings in fields for row in item_spreads(ratings)]
    return AgreementSoFar(
        tuple(
            QuestionAgreement(
                field=row.field,
                label=label(row.field),
                level=row.level,
                alpha=_finite(row.alpha.value),
                low=_finite(row.alpha.low),
                high=_finite(row.alpha.high),
                share=_finite(row.percent.value),
                items=row.items,
                answers=row.answers,
                people=row.people,
            )
            for row in measured
        ),
        tuple(
            DividingItem(
                item=row.item,
                text=judged.texts.get(row.item, ""),
                field=row.field,
                label=label(row.field),
                disagreement=row.disagreement,
                counts=counts(row),
            )
            for row in most_split(spreads, shown)
        ),
    )


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _project_judgments(folder: Path) -> JudgmentSet:
    from moralscope.annotation.projects import open_project

    with open_project(folder) as service:
        judged = _service_judgments(service, service.owner)
        annotators = [
            Annotator(one.person, one.leaning, one.foundations or None)
            for one in service.facts(service.owner)
        ]
    if not judged.judgments:
        raise InputError(f"{folder} holds no submitted answers yet", "annotate items first")
    return replace(judged, annotators=annotators)


def _service_judgments(service: "AnnotationService", lead: "Person") -> JudgmentSet:
    rows = service.answers(lead, "main")
    forms = {name: load_form(name) for name in dict.fromkeys(row.form for row in rows)}
    judged = answer_judgments(rows, forms, str(service.project.folder))
    return replace(judged, smallest_group=service.project.policies.smallest_group)


def _leanings(
    judged: JudgmentSet, fields: Sequence[FieldRatings], smallest: int, seed: int
) -> dict[str, Any]:
    """Return everything that names leanings; groups that are too small are in none of it."""
    people = {one.person for one in judged.judgments}
    annotators = [one for one in judged.annotators if one.person in people]
    known = {one.person: one.leaning for one in annotators}
    leanings = {person: known.get(person) for person in sorted(people)}
    if not any(leanings.values()):
        large_groups({}, smallest)  # too small a number is refused all the same
        return {"people": len(people), "leanings": []}
    written = Counter(who for who, _ in {(one.person, one.item) for one in judged.judgments})
    splits = group_splits(fields, leanings, smallest, seed=seed)
    by_item = {ratings.field: item_groups(ratings, leanings, smallest) for ratings in fields}
    return {
        "people": len(people),
        "leanings": leaning_shares(leanings, written, smallest),
        "foundations": foundation_weights(annotators, smallest, seed=seed),
        "within": [
            row
            for ratings in fields
            for row in group_agreement(ratings, leanings, smallest, seed=seed)
        ],
        "field_splits": group_splits(fields, leanings, smallest, whole=True, seed=seed),
        "item_splits": splits[: max(_SHOWN, len(significant(splits)))],
        "items_compared": len(splits),
        "item_leanings": {field: items for field, items in by_item.items() if items},
    }


def _warnings(
    judged: JudgmentSet, free_texts: Sequence[str], measured: Sequence[FieldAgreement]
) -> list[str]:
    warnings = [_OWN] if judged.own_texts else []
    if judged.staged:
        warnings.append(f"{judged.staged:,} rows of staging rounds do not count")
    if free_texts:
        names = ", ".join(printable(name[:60]) for name in free_texts[:_NAMED])
        more = f" and {len(free_texts) - _NAMED} more" if len(free_texts) > _NAMED else ""
        warnings.append(f"free text is not compared: {names}{more}")
    for row in measured:
        if not row.items:
            warnings.append(f"{printable(row.field[:60])}: no item has two answers")
        elif isnan(row.alpha.value):
            warnings.append(
                f"{printable(row.field[:60])}: alpha is undefined, all answers are the same"
            )
    return warnings
