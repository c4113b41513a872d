"""Moral axes by name: the one place that turns a user's options into a `MoralAxis`.

Every job that scores (score, compare, edit, teach) asks here, so each works for any axis.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from moralscope.axes.choice import ChoiceMachine, Template, load_template
from moralscope.axes.choice import load_paper as load_choice_paper
from moralscope.axes.direction import (
    Anchors,
    Asking,
    Direction,
    DirectionAxis,
    fit_labelled,
    fit_pca,
    load_direction,
    load_paper,
)
from moralscope.axes.judge.judge import Judge
from moralscope.axes.labels import read_labelled
from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder
from moralscope.core.records import ActionScore
from moralscope.core.registry import registry
from moralscope.stories.experts import prepare_experts

Report = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class AxisOptions:
    """Which axis, and how it comes about.

    `fit` is for a direction: `pca` or `labelled`; `file` is a saved one, `fit_actions` a list of
    the user's own to fit it on. The seed moves intervals, never scores. `experts`, `norm` and
    `wordings` are the judge's: its experts (else those on the encoder's base), what actions are
    judged against, and how many wordings of an action are asked about.
    """

    name: str = "choice"
    template: str = "moral"
    fit: str = "pca"
    file: Path | None = None
    seed: int = 0
    fit_actions: Path | None = None
    experts: str | None = None
    norm: str | None = None
    wordings: int | None = None


class Axis(Protocol):
    """A `MoralAxis` as jobs use it: with paraphrases and progress."""

    @property
    def name(self) -> str: ...

    def score(
        self,
        actions: Sequence[str],
        paraphrases: Sequence[Sequence[str]] | None = None,
        report: Report | None = None,
    ) -> list[ActionScore]: ...


def build_axis(options: AxisOptions, encoder: Encoder) -> Axis:
    """Return the axis that the options name.

    Examples
    --------
    >>> from moralscope.models.encoders import load_encoder
    >>> axis = build_axis(AxisOptions("direction"), load_encoder("scripted"))
    >>> [row.action for row in axis.score(["kill people", "kill time"])]
    ['kill people', 'kill time']
    """
    build: Callable[[AxisOptions, Encoder], Axis] = registry.get("axis", options.name)
    return build(options, encoder)


def build_direction(options: AxisOptions, encoder: Encoder) -> DirectionAxis:
    """Return a direction fitted or loaded; what was fitted is its `direction`.

    Examples
    --------
    >>> from moralscope.models.encoders import load_encoder
    >>> build_direction(AxisOptions("direction"), load_encoder("scripted")).direction.vector.shape
    (64,)
    """
    asking = asking_for(load_template(options.template))
    fit: Callable[[AxisOptions, Encoder, Asking], Direction] = registry.get("fit", options.fit)
    if options.file and options.fit_actions:
        raise InputError(
            "--axis-file is fitted already and --fit-actions fits anew", "give one of them"
        )
    if options.file:
        direction = load_direction(options.file, encoder, asking)
    else:
        direction = fit(options, encoder, asking)
    return DirectionAxis(direction, encoder, asking, seed=options.seed)


def asking_for(template: Template) -> Asking:
    """Say how a template asks about actions, for rooms that have no templates of their own.

    Examples
    --------
    >>> asking_for(load_template("moral")).questions("lie")[1]
    'Should I lie?'
    """
    parts = [template.with_article, *(astuple(prompt) for prompt in template.prompts)]
    return Asking(
        template=template.name,
        fingerprint=sha256(json.dumps(parts).encode()).hexdigest(),
        questions=template.questions,
        positive=tuple(prompt.positive for prompt in template.prompts),
        negative=tuple(prompt.negative for prompt in template.prompts),
    )


def _choice(options: AxisOptions, encoder: Encoder) -> Axis:
    if options.file or options.fit_actions or options.fit != "pca":
        raise InputError(
            "the choice axis is not fitted: it has no --fit, --fit-actions or --axis-file",
            "add --axis direction, or leave them out",
        )
    return ChoiceMachine(encoder, load_template(options.template), seed=options.seed)


def check_judge(options: AxisOptions) -> None:
    """Refuse what a judge has no use for: it asks no questions and is not fitted here."""
    if options.file or options.fit_actions or (options.fit, options.template) != ("pca", "moral"):
        raise InputError(
            "the judge axis has no --template, --fit, --fit-actions or --axis-file",
            "leave them out; 'moralscope stories train' makes experts of your own",
        )


def _judge(options: AxisOptions, encoder: Encoder) -> Axis:
    check_judge(options)
    experts = prepare_experts(options.experts or encoder.name)
    return Judge(experts, norm=options.norm, wordings=options.wordings)


def _fit_pca(options: AxisOptions, encoder: Encoder, asking: Asking) -> Direction:
    if options.fit_actions is None:
        return fit_pca(encoder, asking, load_paper().atomic, seed=options.seed)
    listed = read_labelled(options.fit_actions, all_labelled=False)
    if bool(listed.good) != bool(listed.bad):
        side = "bad" if listed.good else "good"
        raise InputError(
            f"{options.fit_actions} labels no action {side}",
            "label some actions good and some bad to fix the sign, or none",
        )
    anchors = Anchors(listed.good, listed.bad) if listed.good else None
    return fit_pca(encoder, asking, listed.actions, anchors, seed=options.seed)


def _fit_labelled(options: AxisOptions, encoder: Encoder, asking: Asking) -> Direction:
    if options.fit_actions is None:
        paper = load_choice_paper()
        labels = Anchors(paper.dos, paper.donts)
    else:
        listed = read_labelled(options.fit_actions, all_labelled=True)
        labels = Anchors(listed.good, listed.bad)
    return fit_labelled(encoder, asking, labels, seed=options.seed)


registry.add("axis", "choice", _choice)
registry.add("axis", "direction", build_direction)
registry.add("axis", "judge", _judge)
registry.add("fit", "pca", _fit_pca)
registry.add("fit", "labelled", _fit_labelled)
