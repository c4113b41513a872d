"""The moral direction inside a language model: fitted in every layer, one layer chosen by anchors.

Each layer is an encoder whose row of a question is the state at its last token; fitting is that of
encoders. The layer is chosen by actions that were labelled good and bad and not fitted on (the
papers' dos and don'ts; of a labelled fit, those held out in turn): people's answers never choose.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from moralscope.axes.build import AxisModels
from moralscope.axes.direction.axis import DirectionAxis, fit_direction
from moralscope.axes.direction.fitting import LABELLED, Direction
from moralscope.axes.direction.saved import load_direction, save_direction
from moralscope.axes.language import Asking
from moralscope.axes.options import AxisOptions
from moralscope.axes.prompts import question_rows
from moralscope.axes.records import LayerCurve, LayerFigures
from moralscope.axes.templates import Template, load_template
from moralscope.core.errors import InputError
from moralscope.core.protocols import AxisCard, AxisRun, Paraphrases, Report, Row
from moralscope.core.records import ModelRef
from moralscope.io.files import check_writable
from moralscope.models.language.decoding import check_layers
from moralscope.models.language.hidden import HiddenStates, LayerEncoder
from moralscope.stats.correlation import auc
from moralscope.words.paper import load_paper as load_choice_paper


@dataclass(frozen=True, slots=True, eq=False)
class LayeredState:
    """What was read and fitted: enough to build the axis elsewhere."""

    template: Template
    layer: int
    curve: tuple[LayerFigures, ...]
    directions: tuple[Direction, ...]


def build_layered(
    options: AxisOptions,
    models: AxisModels,
    *,
    state: LayeredState | None = None,
    many: bool = False,
) -> "LayeredDirection":
    """Fit a direction in every layer, or in the one that the options name, and choose."""
    model = models.language(options)
    check_layers(model, [] if options.layer is None else [options.layer])
    states = HiddenStates(model, cached=not many)
    asking = Asking.of(model, options.form)
    if state is None:
        if options.save_axis is not None:
            check_writable(options.save_axis)
        state = _fit(options, states, asking)
    axis = LayeredDirection(state, states, asking, seed=options.seed)
    if options.save_axis is not None:
        save_direction(axis.direction, options.save_axis)
    return axis


def _fit(options: AxisOptions, states: HiddenStates, asking: Asking) -> LayeredState:
    template = load_template(options.template)
    if options.axis_file is not None:
        if options.layer is None:
            problem = "a saved direction belongs to one layer of a language model"
            raise InputError(problem, "name it with --layer")
        encoder = LayerEncoder(states, options.layer, asking.text)
        direction = load_direction(options.axis_file, encoder, template)
        return LayeredState(template, options.layer, (), (direction,))
    layers = [options.layer] if options.layer else range(1, states.model.layers + 1)
    paper = load_choice_paper()
    curve, directions = [], []
    for layer in layers:
        encoder = LayerEncoder(states, layer, asking.text)
        direction = fit_direction(options, encoder, template)
        directions.append(direction)
        # Good and bad pairs in the right order, over actions that were not fitted on.
        if direction.fit == LABELLED and direction.validation:
            separation = direction.validation[direction.method]
        else:
            good, bad = (
                [action for action in side if action not in set(direction.actions)]
                for side in (paper.dos, paper.donts)
            )
            rows = question_rows(encoder, template, [*good, *bad])
            scores = direction.project(rows)[:, :, 0].mean(axis=1)
            separation = auc(scores, np.arange(len(scores)) < len(good))
        curve.append(
            LayerFigures(
                layer=layer,
                variance=direction.explained[0],
                separation=separation,
                stability=direction.stability.bootstrap_degrees_median,
            )
        )
    best = max(curve, key=lambda figures: figures.separation).layer
    return LayeredState(template, best, tuple(curve), tuple(directions))


class LayeredDirection(DirectionAxis):
    """A direction of the chosen layer, with the curve over all that were fitted."""

    def __init__(
        self, state: LayeredState, states: HiddenStates, asking: Asking, *, seed: int = 0
    ) -> None:
        layers = [figures.layer for figures in state.curve] or [state.layer]
        direction = state.directions[layers.index(state.layer)]
        encoder = LayerEncoder(states, state.layer, asking.text)
        super().__init__(direction, encoder, state.template, seed=seed)
        self._layered, self._layers = state, layers
        self._states, self._asking = states, asking

    @property
    def card(self) -> AxisCard:
        """What a record says of the axis."""
        card, model = super().card, self._asking.model
        config = {key: value for key, value in card.config.items() if key != "encoder"}
        curve = LayerCurve(chosen=self._layered.layer, curve=self._layered.curve)
        chosen_by = "good and bad actions that were not fitted on"
        return AxisCard(
            config={
                **config,
                "model": model.name,
                "form": self._asking.form,
                "layer": self._layered.layer,
                **({"layer_chosen_by": chosen_by} if len(self._layers) > 1 else {}),
            },
            models=model.refs or (ModelRef(model.name, model.checksum),),
            statistics={**card.statistics, **({"layers": curve} if self._layered.curve else {})},
            warnings=card.warnings,
            doubts=card.doubts,
            own_unit=True,
            arithmetic=card.arithmetic,
            fingerprint=card.fingerprint,
        )

    @property
    def state(self) -> Any:
        """What was read and fitted."""
        return self._layered

    def score_rows(
        self, rows: Sequence[Row], paraphrases: Paraphrases = None, report: Report | None = None
    ) -> AxisRun:
        """Score the actions of rows; say what every other layer would have given them."""
        run = super().score_rows(rows, paraphrases, report)
        if not self._layered.curve:
            return run
        actions = [row["action"] for row in rows]
        scores = []  # (layers, actions)
        for layer, direction in zip(self._layers, self._layered.directions, strict=True):
            encoder = LayerEncoder(self._states, layer, self._asking.text)
            questions = question_rows(encoder, self._layered.template, actions)
            scores.append(direction.project(questions)[:, :, 0].mean(axis=1).tolist())
        layers = replace(self.card.statistics["layers"], scores=scores)
        return AxisRun(
            results=run.results,
            statistics={**run.statistics, "layers": layers},
            warnings=[*run.warnings, *self._asking.model.warnings],
        )
