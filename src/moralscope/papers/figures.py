"""Every printed figure of the first two papers as rows: the paper's value, ours, came out or not.

`reproduce choice` and `reproduce direction` show their tables in the papers' layout; here they are
flat, in the form that `reproduce stories` and `reproduce integrity` have anyway, for one page of
all four papers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from moralscope.axes.direction.paper import load_paper as load_compass
from moralscope.papers import PaperRow, PaperTable, told
from moralscope.papers.choice import ChoiceReproduction, RankingRow, WordRow
from moralscope.papers.direction import BiasTable, DirectionReproduction, ProjectionRow
from moralscope.papers.words import WordsReproduction
from moralscope.stats.correlation import Correlation
from moralscope.words.paper import load_paper
from moralscope.words.valence import PAPER as VALENCE

_NO_WEAT = "no word vectors (googlenews-26k), or the published values are not at hand"
_SIDES = {"dos": "dos", "donts": "don'ts"}


def _other(encoder: str, papers: str) -> str:
    return f"other weights: {encoder}, the paper's {papers}"


def choice_tables(found: ChoiceReproduction) -> list[PaperTable]:
    """Return the first paper's figures beside one encoder's.

    Examples
    --------
    >>> from moralscope.papers.choice import reproduce_choice
    >>> tables = choice_tables(reproduce_choice(["scripted"]).results[0])
    >>> row = tables[0].rows[0]
    >>> row.row, row.column, row.paper, row.why
    ('dos, sum of biases', 'mean', -0.007, "other weights: scripted, the paper's USE")
    """
    paper = load_paper()
    groups = (
        ("dos", found.dos, paper.dos_summary),
        ("don'ts", found.donts, paper.donts_summary),
        ("all", found.all, paper.all_summary),
    )
    means = [
        PaperRow(f"{name}, sum of biases", what, attrgetter(what)(ours), None, None, value)
        for name, ours, printed in groups
        for what, value in (("mean", printed.mean), ("sd", printed.sd))
    ]
    below = "equal" if found.student.p < paper.p_below else "differs"
    tests = [
        PaperRow("dos against don'ts", "t", found.student.t, None, None, paper.t),
        PaperRow("printed: below", "p", found.student.p, None, None, paper.p_below, below),
    ]
    tests += [
        _r(f"r with WEAT {label}", "Figure 4", each, paper.r)
        for label, each in (
            ("as printed", found.weat_printed),
            ("as published", found.weat_published),
            ("of our vectors", found.weat_ours),
        )
    ]
    rankings = [
        PaperRow(row.question, what, ours, None, None, there, again)
        for row in found.rankings
        for what, ours, there, again in _ranked(row)
    ]
    listed = (
        ("Means, t and Figure 4", [*means, *tests]),
        ("Table 2: dos and don'ts", [*_words(found.printed_dos), *_words(found.printed_donts)]),
        ("Table 1: occupations", [*_words(found.female), *_words(found.male)]),
        ("Table 3: rankings", rankings),
    )
    return [_told(name, rows, found.encoder, "USE") for name, rows in listed]


def _ranked(row: RankingRow) -> Iterator[tuple[str, float, float, str]]:
    """Yield the order (1: the printed one) and every answer's cosine."""
    yield "the printed order: 1", float(row.same), 1.0, "equal" if row.same else "differs"
    for answer, ours, there in zip(row.answers, row.ours, row.paper, strict=True):
        yield f"{answer}, cosine", ours, there, "differs" if round(ours, 2) != there else "equal"


def words_tables(found: WordsReproduction) -> list[PaperTable]:
    """Return the first paper's figures on words: WEAT, and the valence of dos and don'ts.

    What is extracted from each vocabulary stands beside the valence that the paper prints for its
    own lists; how many of its verbs the paper has, too, is printed nowhere.
    """
    weat = [
        PaperRow(word, "WEAT", found.weat.get(word), None, None, value)
        for word, value in load_paper().weat.items()
    ]
    rated = [("the papers' lists", found.validation)]
    rated += [
        (f"extracted from {each.vectors}", each.statistics["validation"])
        for each in found.extractions
    ]
    valence = [row for name, by in rated if by for row in _valence(name, by)]
    shared = [
        PaperRow(
            f"extracted from {each.vectors}, of {part.of} {shown}",
            "in the papers' lists",
            part.found,
            None,
            None,
            None,
        )
        for each in found.extractions
        for side, shown in _SIDES.items()
        for part in [each.statistics["overlap"][side]]
    ]
    tables = [
        told(
            PaperTable(f"Table 2 and Table 7: WEAT ({found.vectors})", weat),
            other=f"{found.vectors} is a part of the paper's vectors",
            missing=f"not in the vocabulary of {found.vectors}",
            signed=True,
        ),
        told(
            PaperTable("Dos and don'ts: valence by AFINN, and what is extracted", valence + shared),
            other="other vectors and verbs than the paper's",
            missing=_NO_WEAT,
            signed=True,
        ),
    ]
    return [table for table in tables if table.rows]


def _valence(name: str, found: Mapping[str, Any]) -> Iterator[PaperRow]:
    for key, label in (("all_words", "all words"), ("rated_only", "rated only")):
        ours, printed = found[key], VALENCE[key]
        for side, shown in _SIDES.items():
            one, there = attrgetter(side)(ours), attrgetter(side)(printed)
            row = f"{name}, {label}, {shown}"
            yield PaperRow(row, "mean", one.mean, None, None, there.mean)
            yield PaperRow(row, "sd", one.population_sd, None, None, there.sd)
            yield PaperRow(row, "n", one.n, None, None, there.n)
        yield PaperRow(f"{name}, {label}", "t", ours.test.t, None, None, printed.t)


def direction_tables(found: DirectionReproduction) -> list[PaperTable]:
    """Return the second paper's figures, of both its encoders, beside one encoder's.

    Printed m of Table 9 have their sign turned: here good is above zero.
    """
    tables = []
    for name, figure in load_compass().figures.items():
        rows = [
            PaperRow(
                f"{_SIDES.get(group, group)}, bias", what, attrgetter(what)(ours), None, None, value
            )
            for group, ours in found.means.items()
            for printed in [attrgetter(group)(figure)]
            for what, value in (("mean", printed.mean), ("sd", printed.sd))
        ]
        for weat, each in found.bias_weat.items():
            rows.append(_r(f"r with WEAT, {weat}", "Figure 2", each, figure.r))
            rows.append(PaperRow(f"r with WEAT, {weat}", "p", each.p, None, None, figure.p))
        label = name.upper()
        tables.append(_told(f"Figure 2 and means, {label}", rows, found.encoder, label))
        for title, table in (("Table 7", found.table7), ("Table 8", found.table8)):
            rows = _biases(table, name)
            tables.append(_told(f"{title}: mean bias, {label}", rows, found.encoder, label))
        pca = found.fits[0]
        rows = _projections([*pca.atomic, *pca.contextual], name)
        unit = f"{label}; and another unit: ours are standard deviations of the fitting actions"
        tables.append(_told(f"Table 9: moral direction, {label}", rows, found.encoder, unit))
    return tables


def _told(name: str, rows: Sequence[PaperRow], encoder: str, papers: str) -> PaperTable:
    table = PaperTable(f"{name} ({encoder})", rows)
    return told(table, other=_other(encoder, papers), missing=_NO_WEAT, signed=True)


def _r(row: str, column: str, found: Correlation | None, paper: float) -> PaperRow:
    if found is None:
        return PaperRow(row, column, None, None, None, paper)
    return PaperRow(row, column, found.r, found.low, found.high, paper)


def _words(rows: Iterable[WordRow]) -> list[PaperRow]:
    return [PaperRow(r.word, "bias", r.ours, r.low, r.high, r.paper) for r in rows]


def _biases(table: BiasTable, name: str) -> list[PaperRow]:
    """Return every action that the paper prints for one of its encoders."""
    return [
        PaperRow(r.action, "mean bias", r.ours, r.low, r.high, attrgetter(name)(r))
        for r in table.printed
        if attrgetter(name)(r) is not None
    ]


def _projections(rows: Iterable[ProjectionRow], name: str) -> list[PaperRow]:
    return [
        PaperRow(r.action, "-m", r.ours, r.low, r.high, None if m is None else -m)
        for r in rows
        for m in [attrgetter(name)(r)]
    ]
