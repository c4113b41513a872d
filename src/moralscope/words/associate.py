"""`words associate`: words against two association sets, or the tests of Caliskan et al.

Returns run records. Words that the vectors do not hold are always named, never replaced.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import WordVectors
from moralscope.core.records import NOT_ADVICE, ModelRef, RunRecord, Statistics, values_of
from moralscope.io.actions import ActionList, check_actions
from moralscope.stats.summary import Summary, summarise
from moralscope.words.association import WordAssociation, weat
from moralscope.words.options import PLURAL, AssociateOptions
from moralscope.words.vectors import load_vectors
from moralscope.words.word_sets import CALISKAN, PrintedEffect, WordSets, load_word_sets

JOB = "words associate"
ALL = "all"
_LEVEL = 0.05
_NAMED = 12  # words that a warning names
_NEAREST = 3  # missing words that the nearest are looked up for
_SUGGESTED = 3
_ALIKE = 70  # of 100: from here on words count as spelt alike


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationTest:
    """A test's figures beside the published ones; all None, with a `problem`, if impossible."""

    name: str
    about: str
    published: Mapping[str, PrintedEffect]
    effect_size: float | None = None
    low: float | None = None
    high: float | None = None
    statistic: float | None = None
    p: float | None = None
    p_low: float | None = None
    p_high: float | None = None
    exact: bool | None = None
    partitions: int | None = None
    compared: int | None = None
    n_x: int | None = None
    n_y: int | None = None
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociateStatistics(Statistics):
    """The scores in sum, and the words that the vectors do not hold."""

    scores: Summary
    missing: Sequence[str]
    nearest: Mapping[str, Sequence[str]]  # words that are spelt like the first missing ones
    missing_in_sets: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class TestsStatistics(Statistics):
    """How many tests were run and came out."""

    run: int
    significant: int
    stand_ins: Mapping[str, str]  # another form of a word that the vectors do not hold


def associate(
    words: Sequence[str] | ActionList,
    options: AssociateOptions | None = None,
    *,
    vectors: str | WordVectors | None = None,
    **fields: Any,
) -> RunRecord:
    """Score words by Eq. 1 of Jentzsch et al. 2019; positive leans to A, negative to B.

    Parameters
    ----------
    words
        What is to be scored; a word that the vectors do not hold gets a score of None. Where they
        hold none of them, the call is refused with the nearest words.
    options
        `AssociateOptions`, or its fields as keywords. The seed is that of the bootstrap over the
        words of the sets behind every interval.
    vectors
        A name, a file, or any object with the `WordVectors` protocol; else what the options name.

    Examples
    --------
    >>> record = associate(["gift", "zzz"], vectors="scripted")
    >>> [(row.word, row.score is None) for row in record.results]
    [('gift', False), ('zzz', True)]
    """
    asked = chosen_options(AssociateOptions, options, fields)
    listed = (words if isinstance(words, ActionList) else check_actions(words)).actions
    model = _vectors(vectors, asked)
    chosen = _chosen(asked.sets, model)
    axis = WordAssociation(model, chosen.positive, chosen.negative, seed=asked.seed)
    rows = axis.associate(listed)
    scores = [row.score for row in rows if row.score is not None]
    missing = list(dict.fromkeys(row.word for row in rows if row.score is None))
    nearest = {word: nearest_words(word, model) for word in missing[:_NEAREST]}
    if not scores:
        named = "; ".join(_with_nearest(word, near) for word, near in nearest.items())
        raise InputError(
            f"nothing was found: {model.name} has no vector for {_few(missing)}", named
        )
    set_words = {*chosen.positive, *chosen.negative}
    in_sets = sorted(
        {word for word in listed if (word.lower() if model.case == "lower" else word) in set_words}
    )
    set_missing = {"positive": axis.missing_positive, "negative": axis.missing_negative}
    return RunRecord(
        JOB,
        seed=asked.seed,
        config={
            "vectors": model.name,
            "case": model.case,
            "sets": chosen.name,
            "positive": chosen.positive,
            "negative": chosen.negative,
            "interval": "95 % percentile bootstrap over the words of the sets",
            "words": len(listed),
            "options": plain_options(asked),
        },
        models=[ModelRef(model.name, model.checksum)],
        results=rows,
        statistics=AssociateStatistics(
            scores=summarise(scores), missing=missing, nearest=nearest, missing_in_sets=set_missing
        ),
        warnings=[
            NOT_ADVICE,
            *_duplicate_note(model),
            *_missing_note(f"of {len(set(listed))} words", missing),
            *(_with_nearest(word, near) for word, near in nearest.items() if near),
            *(
                note
                for name, lost in set_missing.items()
                for note in _missing_note(
                    f"of {len(chosen.lists[name])} {name} words of {chosen.name}", lost
                )
            ),
            *(
                [
                    f"{len(in_sets)} words stand in the sets themselves, where their cosine is 1, "
                    f"as in the papers: {_few(in_sets)}"
                ]
                if in_sets
                else []
            ),
        ],
    )


def associate_tests(
    tests: str | Sequence[str] = ALL,
    options: AssociateOptions | None = None,
    *,
    vectors: str | WordVectors | None = None,
    **fields: Any,
) -> RunRecord:
    """Run association tests (WEAT) beside the published effect sizes.

    A test that cannot be run on these vectors has a `problem` in place of figures; if none can,
    that is an error.

    Parameters
    ----------
    tests
        `all` (Caliskan's ten), names, or files with target sets x and y.
    options, vectors
        As in `associate`. A word out of vocabulary is left out, or its plural (or singular) stands
        in where the vectors hold that; either way it is named.

    Examples
    --------
    >>> record = associate_tests(["caliskan-7"], vectors="scripted")
    >>> record.results[0].published["glove"].d, record.results[0].exact
    (1.06, True)
    """
    asked = chosen_options(AssociateOptions, options, fields)
    names = CALISKAN if tests == ALL else [tests] if isinstance(tests, str) else tests
    model = _vectors(vectors, asked)
    chosen = [_chosen(name, model) for name in names]
    stand_ins: dict[str, str] = {}
    if asked.missing == PLURAL:
        for index, sets in enumerate(chosen):
            chosen[index], forms = sets.with_plurals(model)
            stand_ins |= forms
    pairs = [f"{form} for {word}" for word, form in stand_ins.items()]
    rows = []
    for sets in chosen:
        row = AssociationTest(name=sets.name, about=sets.about, published=sets.published)
        targets = sets.targets()
        try:
            test = weat(model, targets, permutations=asked.permutations, seed=asked.seed)
        except InputError as error:
            rows.append(replace(row, problem=error.problem))
            continue
        rows.append(
            replace(
                row,
                **values_of(
                    test, "effect_size", "low", "high", "statistic", "n_x", "n_y", "missing"
                ),
                **values_of(test.p, "p", "exact", "partitions", "compared"),
                p_low=test.p.low,
                p_high=test.p.high,
            )
        )
    problems = [row.problem for row in rows if row.problem]
    if len(problems) == len(rows):
        raise InputError(
            f"no test can be run on {model.name}: {problems[0] if problems else 'none was named'}",
            "choose other tests, other vectors or another case policy (exact, lower)",
        )
    return RunRecord(
        JOB,
        seed=asked.seed,
        config={
            "vectors": model.name,
            "case": model.case,
            "tests": [sets.name for sets in chosen],
            "permutations": asked.permutations,
            "missing": asked.missing,
            "effect_size": "difference of means / population standard deviation over x and y",
            "interval": "95 % percentile bootstrap over target words; p: Clopper-Pearson",
            "options": plain_options(asked),
        },
        models=[ModelRef(model.name, model.checksum)],
        results=rows,
        statistics=TestsStatistics(
            run=len(rows) - len(problems),
            significant=sum(row.p is not None and row.p < _LEVEL for row in rows),
            stand_ins=stand_ins,
        ),
        warnings=[
            NOT_ADVICE,
            *_duplicate_note(model),
            *([f"another form stands in for a missing word: {_few(pairs)}"] if pairs else []),
            *(note for sets, row in zip(chosen, rows, strict=True) for note in _notes(sets, row)),
        ],
    )


def _vectors(vectors: str | WordVectors | None, options: AssociateOptions) -> WordVectors:
    name = vectors or options.vectors
    return load_vectors(name, case=options.case) if isinstance(name, str) else name


def _chosen(name: str, model: WordVectors) -> WordSets:
    """Load sets; where the vectors lower words, lower them here too, so that overlaps show."""
    sets = load_word_sets(name)
    return sets.lowered() if model.case == "lower" else sets


def _notes(sets: WordSets, row: AssociationTest) -> list[str]:
    """Say everything that makes a test's figures weaker than they look."""
    if row.problem:
        return [f"{row.name} could not be run: {row.problem}"]
    lost = [
        f"{len(words)} of {len(sets.lists[name])} in {name}"
        for name, words in row.missing.items()
        if words
    ]
    notes = [f"{row.name} lacks words out of vocabulary: {', '.join(lost)}"] if lost else []
    both = sorted({*sets.x, *sets.y} & {*sets.positive, *sets.negative})
    if both:
        notes.append(f"{row.name} has words both as target and in a set: {_few(both)}")
    if row.partitions and 1 / row.partitions > _LEVEL:
        notes.append(
            f"{row.name} has only {row.partitions} partitions of the words found: "
            f"its p cannot be below {1 / row.partitions:.2f}"
        )
    return notes


def _missing_note(of_what: str, missing: Sequence[str]) -> list[str]:
    return [f"{len(missing)} {of_what} are out of vocabulary: {_few(missing)}"] if missing else []


def nearest_words(word: str, model: WordVectors) -> tuple[str, ...]:
    """Return the words of a vocabulary that are spelt most like one that it lacks."""
    from rapidfuzz import fuzz, process

    near = process.extract(
        word, model.words, scorer=fuzz.ratio, limit=_SUGGESTED, score_cutoff=_ALIKE
    )
    return tuple(known for known, _, _ in near)


def _with_nearest(word: str, near: Sequence[str]) -> str:
    if not near:
        return f"nothing is spelt like '{word[:40]}'"
    return f"instead of '{word[:40]}' there is {', '.join(near)}"


def _duplicate_note(model: WordVectors) -> list[str]:
    count = model.duplicates
    return [f"{model.name} holds {count} duplicate words: the first is used"] if count else []


def _few(words: Sequence[str]) -> str:
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more
