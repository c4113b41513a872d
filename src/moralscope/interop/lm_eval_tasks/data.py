"""The documents of our lm-eval tasks, made from the user's own data; named by the YAML files.

lm-eval hands every `--metadata` key to a loader: `stories` and `dilemmas` name files in place of
those below MORALSCOPE_DATA.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.interop.choices import DilemmaQuestion, read_dilemmas, shuffled, story_choices
from moralscope.models.store import data_file

_DILEMMAS = "moralchoice/scenarios/moralchoice_{}_ambiguity.csv"
Documents = list[dict[str, Any]]


def stories(
    split: str = "norm_distance", reverse: bool = False, stories: str | None = None, **_: Any
) -> Mapping[str, Any]:
    """Return action choices of an official test part, the better action in either place."""
    choices = story_choices(Path(stories) if stories else None, split, reverse=reverse)
    return _test([story_document(choice) for choice in shuffled(choices)])


def story_document(choice: DilemmaQuestion) -> dict[str, Any]:
    """Return a story as a text that one of two actions goes on.

    Examples
    --------
    >>> from moralscope.surveys.items import Dilemma
    >>> story = Dilemma("1", "Jo owes Al.", ("Jo pays.", "Jo runs."), 0)
    >>> story_document(DilemmaQuestion(story, order=1, norm="Pay your debts."))["gold"]
    1
    """
    return {
        "id": choice.dilemma.id,
        "question": f"Norm: {choice.norm}\n{choice.dilemma.situation}\nAction that keeps the norm:",
        "choices": list(choice.actions),
        "gold": choice.right,
    }


def dilemmas(
    ambiguity: str = "low", order: int = 0, dilemmas: str | None = None, **_: Any
) -> Mapping[str, Any]:
    """Return dilemmas with their actions in one order; both orders are two tasks."""
    path = Path(dilemmas) if dilemmas else data_file(_DILEMMAS.format(ambiguity))
    if path is None:
        raise InputError(
            f"there are no dilemmas: no {_DILEMMAS.format(ambiguity)} is below MORALSCOPE_DATA",
            'name a file: --metadata \'{"dilemmas": "FILE"}\'',
        )
    asked = [DilemmaQuestion(dilemma, order) for dilemma in read_dilemmas(path, ambiguity)]
    return _test([dilemma_document(choice) for choice in asked])


def dilemma_document(choice: DilemmaQuestion) -> dict[str, Any]:
    """Return a dilemma as a question whose answer is a letter."""
    return {
        "id": choice.dilemma.id,
        "question": f"{choice.text}\nAnswer:",
        "choices": ["A", "B"],
        "gold": choice.right,
    }


def choose(doc: Mapping[str, Any], results: Sequence[tuple[float, bool]]) -> dict[str, float]:
    """Score an answer: the better action (or the first of the file), and the place answered.

    `first` is how often the first place is answered: over both orders it is one half where order
    does not matter.
    """
    likelihoods = [likelihood for likelihood, _ in results]
    answer = likelihoods.index(max(likelihoods))
    return {"acc": float(answer == doc["gold"]), "first": float(answer == 0)}


def dos_and_donts(**_: Any) -> Mapping[str, Any]:
    """Return the dos and don'ts that Jentzsch et al. 2019 print, as questions of yes or no."""
    from moralscope.words.paper import load_paper

    paper = load_paper()
    words = [(word, 0) for word in paper.dos] + [(word, 1) for word in paper.donts]
    return _test(
        [
            {"id": word, "question": f"Should I {word}?", "choices": ["yes", "no"], "gold": gold}
            for word, gold in words
        ]
    )


def _test(documents: Documents) -> Mapping[str, Any]:
    from datasets import Dataset

    return {"test": Dataset.from_list(documents)}
