"""The page of `stories evaluate`: grid, norm sensitivity, calibration, confusion, mistakes."""

from collections.abc import Sequence
from typing import Any

from moralscope.core.records import RunRecord
from moralscope.pages import Presentation
from moralscope.pages.charts import line_marks
from moralscope.pages.closing import JUDGE_LIMITS
from moralscope.pages.page import Block, Chart, Column, Page, Section, Table, columns, head
from moralscope.pages.words import text
from moralscope.stories.evaluate import EvaluateStatistics, TaskEvaluation

_COLOURS = ("good", "bad", "third", "fourth", "muted", "ink")
_NAMED = (Column("setting", wide=28), Column("split", wide=13))
_TEMPERATURE, _WHOLE = Column("", "number", 2), Column("", "whole")
_WORDS = 15
_DIAGONAL = {
    "type": "scatter",
    "mode": "lines",
    "name": "as sure as right",
    "hover": False,
    "x": [0.5, 1.0],
    "y": [0.5, 1.0],
    "line": {"color": "muted", "dash": "dot", "width": 1.5},
}


def evaluate_page(record: RunRecord) -> Page:
    """Lay out a record of `stories evaluate`."""
    cells: list[TaskEvaluation] = list(record.results)
    config = record.config
    heads = head(
        *_NAMED,
        "accuracy: interval | paper: number 2 | F1: number | paper : number 2 | ECE: number",
        "stories: whole",
    )
    rows: list[list[Any]] = []
    for cell in cells:
        ours, degrees = cell.measured, cell.calibration.temperature if cell.calibration else None
        f1 = (ours.f1.value, cell.paper_f1, ours.ece, ours.stories)
        more = (Column("", "number").write(ours.f1_macro.value), _TEMPERATURE.write(degrees))
        shown = [*_names(cell), ours.accuracy, cell.paper_accuracy, *f1]
        rows.append([*shown, *more, _WHOLE.write(cell.seen)])
    details = ["macro F1", "temperature fitted on dev", "stories seen in training, left out"]
    grid = Table("Grid, beside the paper's", heads, rows, details)
    confusions = []
    for cell in cells:
        labels, counts = cell.confusion.labels, cell.confusion.counts
        title = f"{cell.task}, {cell.split}: rows are right, columns called"
        rows = [[label, *row] for label, row in zip(labels, counts, strict=False)]
        heads = [Column("right"), *columns(*labels, kind="whole")]
        confusions.append(Table(title, heads, rows))
    prose = ["Intervals are 95 % bootstraps over stories. F1 is that of the positive class."]
    sections = [
        Section("Accuracy and F1", prose, [grid], shown="all"),
        *_optional(
            "Does it read the norm?",
            "The norm is reversed and the right answer with it; or it is swapped for one of "
            "another story: 'swapped' is how often the expert says that it does not concern the "
            "action. One half is chance for reversed norms.",
            _norms(cells),
        ),
        *_calibration(cells),
        Section("What is taken for what", [], confusions),
        *_optional(
            f"Against {config.get('against')}",
            "A positive difference: these experts are right more often.",
            _paired(cells, str(config.get("against"))),
        ),
        *_optional(
            "What single words reach",
            "A bag of words, trained on the same split. Where it comes near the expert, the "
            "expert may read words and no norm.",
            _words(cells),
        ),
        *_optional(
            "Surest mistakes",
            "The wrong decisions that the expert was surest of. Open a row to see what was read "
            "before the sentence.",
            _mistakes(cells),
            shown="report",
        ),
    ]
    part = "" if config.get("part") == "all" else f"the {config.get('part')} part of "
    values = (config.get(name) for name in ("stories", "complete_stories"))
    sizes = [f"{value:,}" if isinstance(value, int) else text(value) for value in values]
    about = (
        f"{config.get('experts')} on {part}{sizes[0]} stories "
        f"({sizes[1]} of them with all seven sentences)"
    )
    tiles = [
        (f"{cell.measured.accuracy.value:.3f}", _names(cell)[0])
        for cell in cells
        if cell.split in ("norm_distance", "all")
    ]
    title = f"Moral Stories experts: {config.get('experts')}"
    return Page(title, [f"{about}, {len(cells)} settings."], tiles[:6], sections, headline=about)


def _optional(title: str, prose: str, table: Table, shown: str = "all") -> list[Section]:
    return [Section(title, [prose], [table], shown=shown, gap=True)] if table.rows else []


def _names(cell: TaskEvaluation) -> tuple[str, str]:
    """Return setting and split with spaces to break a line at."""
    return cell.task.replace("+", " + "), cell.split.replace("_", " ")


def _norms(cells: Sequence[TaskEvaluation]) -> Table:
    titles = head(
        *_NAMED,
        "wording: whole | reversed: interval | as written: number | share: share 0",
        "swapped: number",
    )
    rows = []
    for cell in cells:
        for norms in cell.reversed:
            swapped = None if norms.variant or not cell.swapped else cell.swapped.rejected.value
            figures = norms.accuracy, norms.original.value, norms.coverage, swapped
            rows.append([*_names(cell), norms.variant + 1, *figures])
    return Table("Norm sensitivity", titles, rows)


def _paired(cells: Sequence[TaskEvaluation], against: str) -> Table:
    titles = head(
        *_NAMED,
        Column(f"less {against}", "signed interval"),
        "only this right: whole | only the other: whole | p (McNemar): p",
    )
    rows = [
        [*_names(cell), test.difference, test.only_second, test.only_first, test.p]
        for cell in cells
        if (test := cell.against)
    ]
    return Table("Paired tests", titles, rows)


def _words(cells: Sequence[TaskEvaluation]) -> Table:
    titles = head(
        *_NAMED,
        "bag of words: interval | expert: number | words for: wide 20 | words against: wide 20",
    )
    rows = []
    for cell in cells:
        if cell.shortcut:
            sides = (cell.shortcut.for_positive, cell.shortcut.for_negative)
            words = [", ".join(word.word for word in side[:_WORDS]) for side in sides]
            figures = cell.shortcut.accuracy, cell.measured.accuracy.value
            rows.append([*_names(cell), *figures, *words])
    return Table("Lexical shortcuts", titles, rows)


def _mistakes(cells: Sequence[TaskEvaluation]) -> Table:
    titles = [*columns("setting", "sentence", "right", "called"), Column("P(right)", "number")]
    rows: list[list[Any]] = []
    for cell in cells:
        setting, split = _names(cell)
        for mistake in cell.mistakes:
            called = mistake.target, mistake.right, mistake.called, mistake.probability
            rows.append([setting, *called, mistake.grounding, mistake.id, split])
    return Table("Mistakes", titles, rows, ("read before it", "story", "split"))


def _calibration(cells: Sequence[TaskEvaluation]) -> list[Section]:
    """Draw a reliability diagram for each split: accuracy against confidence, a line a task."""
    blocks: list[Block] = []
    for split in dict.fromkeys(cell.split for cell in cells):
        traces = []
        for index, cell in enumerate(cell for cell in cells if cell.split == split):
            bins = [one for one in cell.measured.reliability if one.n]
            colour = _COLOURS[index % len(_COLOURS)]
            points = [(one.confidence, one.accuracy) for one in bins]
            hover = [
                f"{cell.task}: {one.accuracy:.2f} right at {one.confidence:.2f}, {one.n} samples"
                for one in bins
            ]
            traces += [line_marks(cell.task, points, colour, hovertext=hover)] if bins else []
        if traces:
            about = f"Share of right decisions against confidence on {split}, {len(traces)} lines."
            layout = {
                "xaxis": {"title": "confidence"},
                "yaxis": {"title": "share of right decisions"},
            }
            title = f"Reliability, {split}"
            blocks.append(Chart(title, about, [_DIAGONAL, *traces], layout, height=420))
    prose = "On the dotted line a probability can be taken at its word; below it, it is too sure."
    return [Section("Calibration", [prose], blocks)] if blocks else []


_SHOWN = Presentation(evaluate_page, (TaskEvaluation, EvaluateStatistics), JUDGE_LIMITS)
PRESENTATIONS = {"stories evaluate": _SHOWN}
