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
from moralscope.models.language.decoding import check_layers
from moralscope.models.language.steering import SteeringVector, VectorInfo, save_vector
from moralscope.models.store import Progress
from moralscope.steer.contrasts import (
    OURS,
    ContrastPair,
    check_contrasts,
    harmless_contrasts,
    load_contrasts,
    neutral_texts,
    open_prompts,
    shut_prompts,
)
from moralscope.steer.fit import (
    GateFit,
    LayerFit,
    Step,
    calibrate,
    fit_gate,
    fit_layers,
    middle_layers,
    pair_states,
)
from moralscope.steer.measures import preferences
from moralscope.steer.options import SteerMakeOptions
from moralscope.surveys.statistics import mean_interval

_STAYS = 0.05  # nats by which helping with harmless requests may move
_KL = 0.1  # of a vector whose KL is not given; with a gate, where the search begins
_LOOKED_AT = 80  # pairs of a user's
_MOVES = 0.8  # nats, of the prompts that made the vector: new ones move less far
_MOST_KL = 1.0  # at which the search for that ends
_TRIED = 20  # prompts that the search looks at
_GATE_PROMPTS = 10
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
        return self.wanted.low > 0 and abs(self.harmless.value) <= _STAYS


@dataclass(frozen=True, slots=True)
class VectorStatistics(Statistics):
    """How strong a vector is, of how many pairs it was made, and what it moves."""

    calibration: StrengthCalibration
    pairs: int
    selectivity: Selectivity | None = absent()
    gate: GateFit | None = absent()


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
    vector, layers, calibration, gate = build_vector(loaded, contrasts, chosen, step)
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
            + (", or give a smaller --kl" if chosen.gate else ", or make it with --gate")
        )
    elif max(-selectivity.harmless.low, selectivity.harmless.high) > _STAYS:
        line = "helping with harmless requests moves little, but a change of more than"
        warnings.append(f"{line} {_STAYS} nats cannot be excluded")
    return RunRecord(
        "steer make",
        seed=chosen.seed,
        config={
            "model": loaded.name,
            "pairs": chosen.pairs,
            "layers": list(info.layers),
            "method": info.method,
            "kl": calibration.target,
            "strength": info.strength,
            "saved": str(chosen.save),
            "options": plain_options(chosen),
        },
        models=loaded.refs or (ModelRef(loaded.name, loaded.checksum),),
        results=layers,
        statistics=VectorStatistics(calibration, len(contrasts), selectivity, gate),
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
) -> tuple[SteeringVector, list[LayerFit], StrengthCalibration, GateFit | None]:
    """Fit a vector in every layer that is to be steered, its gate if any, and find its strength."""
    if not model.layers:
        raise InputError(f"'{model.name}' cannot be steered", "use a local model")
    layers = options.layer_numbers or middle_layers(model.layers)
    check_layers(model, layers[-1:])
    prompts = open_prompts(options.pairs, contrasts)
    if options.gate and len(prompts) < _GATE_PROMPTS:
        problem = f"a gate is made of {_GATE_PROMPTS} prompts or more, not of {len(prompts)}"
        raise InputError(problem, "give pairs with a prompt, or leave --gate out")
    asking = Asking.of(model, options.form)
    rows, figures = fit_layers(*pair_states(asking, contrasts, layers), layers, options.method)
    gate, fit = fit_gate(asking, prompts, shut_prompts()) if options.gate else (None, None)
    texts = neutral_texts(held_out=False)
    vectors = dict(zip(layers, rows, strict=True))
    looked = list({pair.prompt: pair for pair in contrasts}.values())[:_TRIED]
    plain = preferences(asking, looked) if gate and options.kl is None else None
    target = options.kl or _KL
    while True:
        strength, kl = calibrate(model, vectors, target, texts, step)
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
            gate_layer=gate.layer if gate else 0,
            gate_limit=gate.limit if gate else 0.0,
        )
        vector = SteeringVector(info, rows.astype(np.float32), gate.rows if gate else None)
        if plain is None or fit is None or target * 2 > _MOST_KL:
            break
        moved = preferences(Asking.of(vector.steer(model), options.form), looked) - plain
        if moved.mean() * fit.opened >= _MOVES:  # the gate opens on fewer prompts that are new
            break
        target *= 2
    calibration = StrengthCalibration(target=target, kl=kl, strength=strength, texts=len(texts))
    return vector, figures, calibration, fit
