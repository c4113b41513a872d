"""Every printed figure of the first two papers as rows: the paper's value, ours, came out or not.

`reproduce choice` and `reproduce direction` show their tables in the papers' layout; here they are
flat, in the form that `reproduce stories` and `reproduce integrity` have anyway, for one page of
all four papers.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from moralscope.axes.direction.paper import load_paper as load_compass
from moralscope.papers import PaperRow, PaperTable, told
from moralscope.papers.choice import ChoiceReproduction, WordRow
from moralscope.papers.direction import BiasTable, DirectionReproduction, ProjectionRow
from moralscope.stats.correlation import Correlation
from moralscope.words.paper import load_paper

_NO_WEAT = "no word vectors (googlenews-26k), or the published values are not at hand"


def _other(encoder: str, papers: str) -> str:
    return f"other weights: {encoder}, the paper's {papers}"


def choice_tables(found: ChoiceReproduction) -> list[PaperTable]:
    """Return the first paper's figures beside one encoder's.

    Examples
    --------
    >>> from moralscope.papers.choice import reproduce_choice
    >>> tables = choice_tables(reproduce_choice(["scripted"]).results[0])
    >>> row = tables[0].rows[0]
    >>> row.row, row.paper, row.why
    ('dos, mean', -0.007, "other weights: scripted, the paper's USE")
    """
    paper = load_paper()
    groups = (
        ("dos", found.dos, paper.dos_summary),
        ("don'ts", found.donts, paper.donts_summary),
        ("all", found.all, paper.all_summary),
    )
    means = [
        PaperRow(f"{name}, {what}", "sum of biases", attrgetter(what)(ours), None, None, value)
        for name, ours, printed in groups
        for what, value in (("mean", printed.mean), ("sd", printed.sd))
    ]
    tests = [PaperRow("t (Student)", "dos against don'ts", found.student.t, None, None, paper.t)]
    tests += [
        _r(f"r with WEAT {label}", "Figure 4", each, paper.r)
        for label, each in (
            ("as printed", found.weat_printed),
            ("as published", found.weat_published),
            ("of our vectors", found.weat_ours),
        )
    ]
    rankings = [
        PaperRow(row.question, answer, ours, None, None, there)
        for row in found.rankings
        for answer, ours, there in zip(row.answers, row.ours, row.paper, strict=True)
    ]
    listed = (
        ("Means, t and Figure 4", [*means, *tests]),
        ("Table 2: dos and don'ts", [*_words(found.top_dos), *_words(found.top_donts)]),
        ("Table 1: occupations", [*_words(found.female), *_words(found.male)]),
        ("Table 3: rankings", rankings),
    )
    return [_told(name, rows, found.encoder, "USE") for name, rows in listed]


def direction_tables(found: DirectionReproduction) -> list[PaperTable]:
    """Return the second paper's figures, of both its encoders, beside one encoder's.

    Printed m of Table 9 have their sign turned: here good is above zero.
    """
    tables = []
    for name, figure in load_compass().figures.items():
        rows = [
            PaperRow(f"{group}, {what}", "mean bias", attrgetter(what)(ours), None, None, value)
            for group, ours in found.means.items()
            for printed in [attrgetter(group)(figure)]
            for what, value in (("mean", printed.mean), ("sd", printed.sd))
        ]
        rows += [
            _r(f"r with WEAT, {k}", "Figure 2", c, figure.r) for k, c in found.bias_weat.items()
        ]
        label = name.upper()
        tables.append(_told(f"Figure 2 and means, {label}", rows, found.encoder, label))
        for title, table in (("Table 7", found.table7), ("Table 8", found.table8)):
            rows = _biases(table, name)
            tables.append(_told(f"{title}: mean bias, {label}", rows, found.encoder, label))
        pca = found.fits[0]
        rows = _projections([*pca.atomic, *pca.contextual], name)
        tables.append(_told(f"Table 9: moral direction, {label}", rows, found.encoder, label))
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
    return [
        PaperRow(r.action, side, r.ours, r.low, r.high, attrgetter(name)(r))
        for side, rows in (("dos", table.dos), ("don'ts", table.donts))
        for r in rows
    ]


def _projections(rows: Iterable[ProjectionRow], name: str) -> list[PaperRow]:
    return [
        PaperRow(r.action, "-m", r.ours, r.low, r.high, None if m is None else -m)
        for r in rows
        for m in [attrgetter(name)(r)]
    ]
