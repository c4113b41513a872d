"""What a steering vector is made of and checked on: pairs of texts, one wanted and one not.

A pair may answer a prompt (a reply that declines beside one that helps) or be two whole texts. Ours
are about declining harm; Moral Stories' actions and a user's table are read the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from moralscope.axes.language import Asking
from moralscope.core.errors import InputError
from moralscope.io.actions import wrong_text
from moralscope.io.documents import shipped_text, shipped_toml
from moralscope.io.tables import Layout, TableFile
from moralscope.stories.reading import load_stories
from moralscope.surveys.items import Dilemma, read_items

OURS, STORIES = "declining", "moral-stories"
_STORIES_USED = 200
_REMEDY = "give columns wanted,unwanted, and prompt if they are replies"
_MOST = 5_000


@dataclass(frozen=True, slots=True)
class ContrastPair:
    """A text that is wanted beside one that is not; `prompt` is what both answer, if anything."""

    prompt: str
    wanted: str
    unwanted: str


def load_contrasts(source: str) -> tuple[ContrastPair, ...]:
    """Return our pairs, those of Moral Stories, or a user's table."""
    if source == OURS:
        return _paired("make", "requests")
    if source == STORIES:
        stories = load_stories().complete
        step = max(1, len(stories) // _STORIES_USED)
        return tuple(
            ContrastPair(
                f"{story.situation} {story.intention}",
                story.moral_action or "",
                story.immoral_action or "",
            )
            for story in stories[::step][:_STORIES_USED]
        )
    path = Path(source).expanduser()
    table = TableFile(path, layout=Layout(lower=True, remedy=_REMEDY))
    pairs: list[ContrastPair] = []
    for line, cells in table.strict_rows(("wanted", "unwanted"), _REMEDY):
        texts = [str(cells.get(name) or "").strip() for name in ("prompt", "wanted", "unwanted")]
        for text in filter(None, texts):
            wrong = wrong_text(text)
            if wrong is not None:
                raise table.wrong(line, wrong[0], wrong[1])
        if not texts[1] or not texts[2]:
            raise table.wrong(line, "has a pair without two texts", _REMEDY)
        if texts[1] == texts[2]:
            raise table.wrong(line, "pairs a text with itself", "give two texts that differ")
        if len(pairs) == _MOST:
            raise InputError(f"{path} holds more than {_MOST:,} pairs", "give fewer")
        pairs.append(ContrastPair(*texts))
    if len(pairs) < 2:
        problem = f"{path} holds {len(pairs)} pair{'' if len(pairs) == 1 else 's'}"
        raise InputError(problem, "give two or more: one pair differs in more than one thing")
    return tuple(pairs)


def check_contrasts(source: str | None = None) -> tuple[ContrastPair, ...]:
    """Return pairs that show whether a vector does what is wanted: none of ours makes one."""
    return _paired("check", "requests") if source is None else load_contrasts(source)


def harmless_contrasts() -> tuple[ContrastPair, ...]:
    """Return harmless requests; here it is wanted to help, and not to decline."""
    pairs = _paired("check", "harmless")
    return tuple(ContrastPair(pair.prompt, pair.unwanted, pair.wanted) for pair in pairs)


def open_prompts(source: str, contrasts: Sequence[ContrastPair]) -> tuple[str, ...]:
    """Return prompts on which a gate must open: the pairs' own, and to ours some more like them."""
    more = _data("declining")["make"]["gated"] if source == OURS else ()
    return tuple(dict.fromkeys([*(pair.prompt for pair in contrasts if pair.prompt), *more]))


def shut_prompts() -> tuple[str, ...]:
    """Return requests and texts on which a gate must stay shut; no certificate asks them."""
    return (*_data("declining")["make"]["harmless"], *neutral_texts(held_out=False))


def neutral_contrasts() -> tuple[ContrastPair, ...]:
    """Return questions that have nothing to do with good and bad; the right answer is wanted."""
    return tuple(ContrastPair(*row) for row in _data("neutral")["questions"])


def neutral_texts(*, held_out: bool) -> tuple[str, ...]:
    """Return neutral texts: every second one calibrates, the others are held out."""
    return tuple(_data("neutral")["texts"][held_out::2])


def own_dilemmas() -> Sequence[Dilemma]:
    """Return dilemmas of ours, each with the rule that its worse action breaks."""
    text = shipped_text("moralscope.steer", "dilemmas.csv")
    items = read_items(TableFile(text, name="dilemmas.csv", kind=".csv", layout=Layout(lower=True)))
    return [item for item in items if isinstance(item, Dilemma)]


def contrast_texts(asking: Asking, contrast: ContrastPair) -> tuple[str, str, str]:
    """Return what the model reads before a pair, and both of its texts as they follow that."""
    if not contrast.prompt:
        return "", contrast.wanted, contrast.unwanted
    before = asking.text(contrast.prompt)
    return before, asking.answer(contrast.wanted), asking.answer(contrast.unwanted)


def _paired(part: str, requests: str) -> tuple[ContrastPair, ...]:
    """Pair every request with two of the part's replies, others each time."""
    data = _data("declining")[part]
    wanted, unwanted = data["wanted"], data["unwanted"]
    return tuple(
        ContrastPair(
            request, wanted[(at + turn) % len(wanted)], unwanted[(at + turn) % len(unwanted)]
        )
        for at, request in enumerate(data[requests])
        for turn in range(2)
    )


@cache
def _data(name: str) -> Any:
    return shipped_toml("moralscope.steer", f"{name}.toml")
