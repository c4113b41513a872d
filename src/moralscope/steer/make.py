"""Make a steering vector from pairs of texts, at a strength that moves the model by a fixed KL."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.axes.language import Asking
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import LanguageModel
from moralscope.core.records import Interval, ModelRef, RunRecord, Statistics, absent
from moralscope.io.files import check_writable
from moralscope.models.language import load_language_model
from moralscope.models.language.steering import SteeringVector, VectorInfo, save_vector
from moralscope.models.store import Progress
from moralscope.steer.calibrate import Step, calibrate
from moralscope.steer.contrasts import (
    OURS,
    ContrastPair,
    check_contrasts,
    harmless_contrasts,
    load_contrasts,
    neutral_texts,
)
from moralscope.steer.fit import LayerFit, fit_layers, middle_layers, pair_states
from moralscope.steer.measures import preferences
from moralscope.steer.options import SteerMakeOptions
from moralscope.surveys.statistics import mean_interval

_STAYS = 0.05  # nats by which helping with harmless requests may move
_LOOKED_AT = 80  # pairs of a user's
UNCHECKED = (
    "a vector may move more than what it was made for: run 'moralscope steer check' before you "
    "use it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthCalibration:
    """The strength of a vector, and what it moves the next word by on neutral text."""

    target: float  # the KL that was asked for
    kl: float
    strength: float
    texts: int


@dataclass(frozen=True, slots=True)
class Selectivity:
    """What a vector moves, in nats per token: a first look, of which `steer check` says more."""

    wanted: Interval  # wanted over unwanted replies
    harmless: Interval  # helping with harmless requests, which should stay

    @property
    def is_selective(self) -> bool:
        """Whether it moves what is wanted and leaves harmless requests alone."""
        stays = abs(self.harmless.value) <= _STAYS or self.harmless.low <= 0 <= self.harmless.high
        return self.wanted.low > 0 and stays


@dataclass(frozen=True, slots=True)
class VectorStatistics(Statistics):
    """How strong a vector is, of how many pairs it was made, and what it moves."""

    calibration: StrengthCalibration
    pairs: int
    selectivity: Selectivity | None = absent()


def make_vector(
    model: str | LanguageModel | None = None,
    options: SteerMakeOptions | None = None,
    *,
    step: Step | None = None,
    progress: Progress | None = None,
    **fields: Any,
) -> RunRecord:
    """Make a steering vector, save it, and return what is known of it.

    Parameters
    ----------
    model
        A name, a folder, a hub id, or a local `LanguageModel`; else what the options name.
    options
        `SteerMakeOptions`, or its fields as keywords: `pairs`, `layers`, `method`, `kl`, `save`.
    step
        Told each strength that was tried, and its KL.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = make_vector("scripted", save=Path(folder) / "v.safetensors", kl=0.1)
    >>> record.statistics["calibration"].target
    0.1
    """
    chosen = chosen_options(SteerMakeOptions, options, fields)
    check_writable(chosen.save)
    contrasts = load_contrasts(chosen.pairs)
    name = model or chosen.model
    if isinstance(name, str) and chosen.save.resolve().parent == Path(name).resolve():
        problem = f"a file in {name} would change the model's own checksum"
        raise InputError(problem, "save the vector elsewhere")
    loaded = load_language_model(name, progress=progress) if isinstance(name, str) else name
    vector, layers, calibration = build_vector(loaded, contrasts, chosen, step)
    save_vector(vector, chosen.save)
    info = vector.info
    shown = check_contrasts() if chosen.pairs == OURS else contrasts[:_LOOKED_AT]
    selectivity = measure_selectivity(loaded, vector, shown, chosen.form)
    warnings = [UNCHECKED]
    if not selectivity.is_selective:
        warnings.append(
            f"this vector is not selective: it moves what is wanted by "
            f"{selectivity.wanted.value:+.2f} nats and helping with harmless requests by "
            f"{selectivity.harmless.value:+.2f}; do not use it as it is"
        )
    return RunRecord(
        "steer make",
        seed=chosen.seed,
        config={
            "model": loaded.name,
            "pairs": chosen.pairs,
            "layers": list(info.layers),
            "method": info.method,
            "kl": chosen.kl,
            "strength": info.strength,
            "saved": str(chosen.save),
            "options": plain_options(chosen),
        },
        models=loaded.refs or (ModelRef(loaded.name, loaded.checksum),),
        results=layers,
        statistics=VectorStatistics(calibration, len(contrasts), selectivity),
        warnings=[*warnings, *loaded.warnings],
    )


def measure_selectivity(
    model: LanguageModel, vector: SteeringVector, contrasts: Sequence[ContrastPair], form: str
) -> Selectivity:
    """Return what a vector changes in replies that are wanted, and to harmless requests.

    One pair a request: enough to see what a certificate would refuse.
    """
    spans = []
    askings = [Asking.of(one, form) for one in (model, vector.steer(model))]
    for pairs in (contrasts, harmless_contrasts()):
        looked = list({pair.prompt or at: pair for at, pair in enumerate(pairs)}.values())
        plain, steered = (preferences(asking, looked) for asking in askings)
        spans.append(mean_interval((steered - plain).tolist()))
    return Selectivity(*spans)


def build_vector(
    model: LanguageModel,
    contrasts: Sequence[ContrastPair],
    options: SteerMakeOptions,
    step: Step | None = None,
) -> tuple[SteeringVector, list[LayerFit], StrengthCalibration]:
    """Fit a vector in every layer that is to be steered and find its strength."""
    if not model.layers:
        raise InputError(f"'{model.name}' cannot be steered", "use a local model")
    layers = options.layer_numbers or middle_layers(model.layers)
    if layers[-1] > model.layers:
        problem = f"{model.name} has no layer {layers[-1]}"
        raise InputError(problem, f"its layers are 1 to {model.layers}")
    asking = Asking.of(model, options.form)
    rows, figures = fit_layers(*pair_states(asking, contrasts, layers), layers, options.method)
    texts = neutral_texts(held_out=False)
    vectors = dict(zip(layers, rows, strict=True))
    strength, kl = calibrate(model, vectors, options.kl, texts, step)
    info = VectorInfo(
        model=model.name,
        checksum=model.checksum,
        width=model.dimension,
        layers=tuple(layers),
        method=options.method,
        strength=strength,
        kl=kl,
        source=options.pairs,
        blocks=model.block_path,
    )
    calibration = StrengthCalibration(target=options.kl, kl=kl, strength=strength, texts=len(texts))
    return SteeringVector(info, rows.astype(np.float32)), figures, calibration
