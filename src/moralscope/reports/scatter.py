"""Scatter figures: one axis against the other, a colour per group, r beside them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError, MoralscopeError
from moralscope.core.records import RunRecord

_COLOURS = {"dos": "#1b7f4d", "don'ts": "#b3261e"}
_FORMATS = (".svg", ".png", ".pdf")


def draw_scatter(record: RunRecord, path: Path) -> None:
    """Draw a `words correlate` record: association against bias (Jentzsch et al. 2019, Figure 4).

    Parameters
    ----------
    record
        What `correlate_words` returned.
    path
        A .svg, .png or .pdf file; the same record gives the same SVG.
    """
    if path.suffix.lower() not in _FORMATS:
        raise InputError(f"{path} is no figure file", f"end its name in {', '.join(_FORMATS)}")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "moralscope"
    figure = Figure(figsize=(7.0, 5.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    pairs = [pair for pair in record.results if pair.association is not None]
    for group in sorted({pair.group for pair in pairs}):
        chosen = [pair for pair in pairs if pair.group == group]
        axes.scatter(
            [pair.bias for pair in chosen],
            [pair.association for pair in chosen],
            s=18,
            color=_COLOURS.get(group, "#444444"),
            label=_label(group, record.statistics["correlation"].within),
        )
    for number, pair in enumerate(_extremes(pairs)):
        place, offset = (pair.bias, pair.association), (3, 3 if number % 2 else -9)
        axes.annotate(pair.word, place, fontsize=7, xytext=offset, textcoords="offset points")
    found = record.statistics["correlation"]
    axes.set_xlabel(f"question/answer bias, {record.config['encoder']}")
    axes.set_ylabel(f"association (Eq. 1), {record.config['vectors']}")
    axes.set_title(
        f"r = {found.r:.2f}{found.stars} ({found.low:.2f} … {found.high:.2f}), n = {found.n}"
    )
    axes.legend(frameon=False)
    _save(figure, path)


def _label(group: str, within: Mapping[str, Any]) -> str:
    inner = within.get(group)
    return f"{group}: r = {inner.r:+.2f}{inner.stars}, n = {inner.n}" if inner else group


def _extremes(pairs: Sequence[Any]) -> list[Any]:
    """Return the words worth naming: the five farthest out at each end of the bias."""
    ordered = sorted(pairs, key=lambda pair: pair.bias)
    return ordered if len(ordered) <= 10 else [*ordered[:5], *ordered[-5:]]


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise MoralscopeError(
            f"{path} could not be written ({error.strerror})", "choose another place"
        ) from error
