"""Norms for new stories, selected from SOCIAL-CHEM-101 as Moral Stories did.

Emelin et al. 2021, section 2.1: norms come from the categories Morality/Ethics and Social Norms,
"ignoring controversial or value-neutral entries". The columns are those that Forbes et al. 2020
published. Rows about one rule are taken together: people's agreement is averaged, and their
judgments must lie on one side. Each rule is removed by the first filter that it fails.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import RunRecord, Statistics
from moralscope.io.files import check_writable, csv_bytes, write_whole
from moralscope.io.tables import Layout, LineProblem, TableFile, name_problems
from moralscope.models.store import data_file
from moralscope.stories.norms.reading import parse_norm
from moralscope.stories.options import NormsOptions

SOCIAL_FILES = ("social_chem/obligatory_sc101.csv", "social_chem/optional_sc101.csv")
RULE, CATEGORIES, AGREE = "rot", "rot-categorization", "rot-agree"
BAD, JUDGMENT = "rot-bad", "action-moral-judgment"
_COLUMNS = (RULE, CATEGORIES, AGREE, BAD, JUDGMENT)
_REMEDY = f"give SOCIAL-CHEM-101 as published (TSV or CSV) with {', '.join(_COLUMNS)}"
# Where a second judgment may begin: "It's fine to ask, but it's rude to insist."
_SECOND = re.compile(
    r"(?:[;.!?]\s+|,?\s+(?:but|however|whereas|while|though|although|and)\s+)"
    r"(?=(?:it'?s|it is|it isn'?t|you should|one should|people should|you must) )",
    re.I,
)


@dataclass(frozen=True, slots=True)
class SelectedNorm:
    """A norm, its categories, and what people said of it."""

    norm: str
    categories: tuple[str, ...]
    agree: float  # how many people agree, 0 to 4: the mean
    judgment: float  # of the action, -2 (very bad) to 2 (very good): the mean
    people: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NormsStatistics(Statistics):
    """How many rules there were, and what each filter removed."""

    rows: int
    malformed: int
    rules: int
    removed: Mapping[str, int]  # by filter
    kept: int
    drawn: int
    categories: Mapping[str, int]
    sides: Mapping[str, int]  # good and bad


@dataclass(slots=True)
class _Rule:
    """What the rows about one rule say."""

    text: str
    categories: dict[str, None]
    agree: list[float]
    judgments: list[float]
    bad: bool = False
    rows: int = 0


def select_norms(
    file: Path | None = None,
    options: NormsOptions | None = None,
    *,
    malformed: str = "stop",
    **fields: Any,
) -> RunRecord:
    """Select norms from `file`, or from the user's copy below MORALSCOPE_DATA.

    `options` are `NormsOptions`, or its fields as keywords. Every malformed line is named;
    `malformed="skip"` leaves them out.
    """
    chosen = chosen_options(NormsOptions, options, fields)
    files = [file] if file else [path for name in SOCIAL_FILES if (path := data_file(name))]
    if not files:
        raise InputError(
            "there are no rules: no file was named, and SOCIAL-CHEM-101 is not below "
            "MORALSCOPE_DATA",
            "'moralscope data where social-chem-101' says where it comes from",
        )
    rules: dict[str, _Rule] = {}
    problems: list[LineProblem] = []
    for path in map(Path.expanduser, files):
        kind = ".csv" if path.suffix.lower() == ".tsv" else None
        table = TableFile(path, kind=kind, layout=Layout(delimiters="\t,", remedy=_REMEDY))
        for line, cells in table.rows(_COLUMNS):
            wrong = cells if isinstance(cells, str) else _add(cells, rules)
            if wrong:
                problems.append(LineProblem(line, wrong, str(path)))
    if problems and malformed == "stop":
        raise InputError(
            name_problems(files[0], problems), "fix them, or leave them out: --malformed skip"
        )
    kept, removed = _filter(rules.values(), chosen)
    drawn = kept
    if chosen.count is not None and chosen.count < len(kept):
        drawn = Random(chosen.seed).sample(kept, chosen.count)  # noqa: S311 - no secret
    warnings = []
    if problems:
        warnings.append(f"{len(problems):,} malformed lines were left out, first: {problems[0]}")
    if drawn and len({norm.judgment > 0 for norm in drawn}) == 1:
        side = "good" if drawn[0].judgment > 0 else "bad"
        warnings.append(f"every norm judges its action {side}: is the file a part of the whole?")
    return RunRecord(
        "stories norms",
        seed=chosen.seed,
        config={"source": [str(path) for path in files], "options": plain_options(chosen)},
        results=drawn,
        statistics=NormsStatistics(
            rows=sum(rule.rows for rule in rules.values()),
            malformed=len(problems),
            rules=len(rules),
            removed=removed,
            kept=len(kept),
            drawn=len(drawn),
            categories=dict(Counter(name for norm in drawn for name in norm.categories)),
            sides=dict(Counter("good" if norm.judgment > 0 else "bad" for norm in drawn)),
        ),
        warnings=warnings,
    )


def write_norms(norms: Sequence[SelectedNorm], path: Path) -> None:
    """Write norms as the items of an `annotate` project that writes stories (CSV)."""
    check_writable(path)
    rows = (
        (norm.norm, "|".join(norm.categories), f"{norm.agree:g}", f"{norm.judgment:g}")
        for norm in norms
    )
    write_whole(path, [csv_bytes([("norm", "categories", "agree", "judgment"), *rows])])


def _add(cells: Mapping[str, Any], rules: dict[str, _Rule]) -> str:
    """Add a row to its rule; return what is wrong with it."""
    text = " ".join(str(cells[RULE] or "").split())
    if not text:
        return f"has no text under '{RULE}'"
    numbers = []
    for name in (AGREE, BAD, JUDGMENT):
        cell = str(cells[name] if cells[name] is not None else "").strip()
        try:
            numbers.append(float(cell) if cell else None)
        except ValueError:
            return f"has {cell[:40]!r} under '{name}', no number"
    agree, bad, judgment = numbers
    rule = rules.setdefault(text.casefold().rstrip(".!"), _Rule(text, {}, [], []))
    rule.categories.update(dict.fromkeys(filter(None, str(cells[CATEGORIES] or "").split("|"))))
    rule.agree += [] if agree is None else [agree]
    rule.judgments += [] if judgment is None else [judgment]
    rule.bad |= bool(bad)
    rule.rows += 1
    return ""


def _filter(
    rules: Iterable[_Rule], options: NormsOptions
) -> tuple[list[SelectedNorm], dict[str, int]]:
    wanted = set(options.categories)
    filters: dict[str, Callable[[_Rule], bool]] = {
        "marked as unclear": lambda rule: rule.bad,
        "other categories": lambda rule: not wanted & set(rule.categories),
        "not rated by people": lambda rule: not (rule.agree and rule.judgments),
        "controversial": lambda rule: fmean(rule.agree) < options.agree,
        "value-neutral": lambda rule: not any(rule.judgments),
        "people judge both ways": lambda rule: min(rule.judgments) < 0 < max(rule.judgments),
        # Two parts of the rule are norms by themselves.
        "more than one judgment": lambda rule: (
            sum(parse_norm(part) is not None for part in _SECOND.split(rule.text)) > 1
        ),
    }
    removed = dict.fromkeys(filters, 0)
    kept = []
    for rule in rules:
        failed = next((name for name, fails in filters.items() if fails(rule)), None)
        if failed:
            removed[failed] += 1
            continue
        means = fmean(rule.agree), fmean(rule.judgments)
        kept.append(SelectedNorm(rule.text, tuple(rule.categories), *means, rule.rows))
    return kept, removed
