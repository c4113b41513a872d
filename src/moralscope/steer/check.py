"""The certificate of a steering vector: what moved as wanted, and what moved besides.

Three models answer the same questions: the plain one, the steered one, and one pushed by a random
vector of equal norm in the same layers. Each change is tested question by question (paired t), all
together Holm-corrected, against nothing and against the random vector. A change is also given in
standard deviations of the plain model's values, so that all can be held against one limit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from moralscope.axes.language import Asking
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import LanguageModel, Report
from moralscope.core.records import Interval, RunRecord
from moralscope.models.language import load_language_model, load_vector
from moralscope.models.language.steering import SteeringVector
from moralscope.models.store import Progress
from moralscope.rules.audit import prepare_auditor
from moralscope.rules.audit_options import AuditOptions
from moralscope.stats.gates import check_gate, parse_gate
from moralscope.stats.significance import holm
from moralscope.steer.calibrate import mean_divergence
from moralscope.steer.contrasts import check_contrasts, neutral_texts, own_dilemmas
from moralscope.steer.measures import (
    CHOICE,
    HARMLESS,
    MASS,
    PERPLEXITY,
    RIGHT,
    Floats,
    Measures,
    Reply,
    Values,
)
from moralscope.steer.options import SteerCheckOptions
from moralscope.surveys.items import Dilemma, read_items
from moralscope.surveys.statistics import mean_interval, t_against_zero

FIGURES = (
    *("wanted", "wanted_p", "collateral", "moved", "perplexity", "mass", "harmless", "right"),
    "kl",
)
_SURE = 0.05
_ROUNDING = 1e-9
_PARTS = 5  # steps of the work with one model
NOT_SAFE = (
    "a certificate says what moved among the things that were looked at; what was not looked at "
    "may have moved too"
)


@dataclass(frozen=True, slots=True)
class Moved:
    """One measure of the plain, the steered and the randomly pushed model.

    `change` is steered less plain over `n` questions, `effect` the same in standard deviations of
    the plain values, `random` what the random vector changes. `p_random` tests steered against
    random. `wanted`: the vector is meant to move it.
    """

    figure: str
    wanted: bool
    n: int
    plain: float
    steered: float
    change: Interval
    effect: float
    p: float
    p_holm: float
    random: float
    p_random: float
    p_random_holm: float


@dataclass(frozen=True, slots=True)
class ReplyTriple:
    """What the three models wrote to one request, with the audit's scores."""

    request: str
    harmless: bool
    plain: str
    steered: str
    random: str
    scores: tuple[float, float, float]


def check_vector(
    model: str | LanguageModel | None = None,
    options: SteerCheckOptions | None = None,
    *,
    report: Report | None = None,
    progress: Progress | None = None,
    **given: Any,
) -> RunRecord:
    """Certify a steering vector and return a run record.

    Parameters
    ----------
    model
        The language model that the vector was made for, by name or loaded; else the one that the
        vector names.
    options
        `SteerCheckOptions`, or its fields as keywords: `vector`, `pairs`, `survey`, `target`,
        `replies`, `experts`, `gate`.
    report
        Called with (done, total) as the work goes on.
    """
    chosen = chosen_options(SteerCheckOptions, options, given)
    limits = parse_gate(chosen.gate, FIGURES) if chosen.gate is not None else None
    vector = load_vector(chosen.vector)
    measures = _measures(chosen, progress)
    named = model or chosen.model or vector.info.model
    plain = load_language_model(named, progress=progress) if isinstance(named, str) else named
    steered = vector.steer(plain)
    random = plain.steered(random_like(vector, chosen.seed))
    models = {"plain": plain, "steered": steered, "random": random}
    done = iter(range(1, 1 + _PARTS * len(models)))

    def told() -> None:
        if report:
            report(next(done), _PARTS * len(models))

    askings = {name: Asking.of(each, chosen.form) for name, each in models.items()}
    found = {name: measures.of(each, told) for name, each in askings.items()}
    rows = compare({name: values for name, (values, _) in found.items()}, measures)
    kl, random_kl = (_divergence(plain, each) for each in (steered, random))
    figures, largest = _figures(rows, kl)
    return RunRecord(
        "steer check",
        seed=chosen.seed,
        config={
            "vector": str(chosen.vector),
            "model": plain.name,
            "form": askings["plain"].form,
            "layers": list(vector.info.layers),
            "method": vector.info.method,
            "strength": vector.info.strength,
            "pairs": chosen.pairs or "declining, held out",
            "control": "a random vector of equal norm in every layer",
            "options": plain_options(chosen),
        },
        models=steered.refs,
        results=rows,
        statistics={
            "figures": figures,
            "largest": largest,
            "random_kl": random_kl,
            "replies": _triples([replies for _, replies in found.values()]),
            "gate": check_gate(limits, {"": figures}) if limits is not None else None,
        },
        warnings=[NOT_SAFE, *_doubts(rows), *plain.warnings],
    )


def random_like(vector: SteeringVector, seed: int) -> dict[int, Any]:
    """Return random vectors, each as long as that of its layer."""
    generator = np.random.default_rng(seed)
    found = {}
    for layer, row in vector.added.items():
        drawn = generator.standard_normal(len(row)).astype(np.float32)
        found[layer] = drawn * np.float32(np.linalg.norm(row) / np.linalg.norm(drawn))
    return found


def compare(values: Mapping[str, Values], measures: Measures) -> list[Moved]:
    """Test every measure of the steered model against the plain one and against chance."""
    plain, steered, random = (values[name] for name in ("plain", "steered", "random"))
    change = {figure: steered[figure] - plain[figure] for figure in plain}
    tests = [t_against_zero(change[figure].tolist()) for figure in plain]
    controls = [t_against_zero((steered[figure] - random[figure]).tolist()) for figure in plain]
    corrected = zip(tests, holm(tests), controls, holm(controls), strict=True)
    return [
        Moved(
            figure=figure,
            wanted=measures.wanted(figure),
            n=len(before),
            plain=float(before.mean()),
            steered=float(steered[figure].mean()),
            change=mean_interval(change[figure].tolist()),
            effect=_effect(change[figure], before),
            p=p,
            p_holm=float(p_holm),
            random=float((random[figure] - before).mean()),
            p_random=p_random,
            p_random_holm=float(p_random_holm),
        )
        for (figure, before), (p, p_holm, p_random, p_random_holm) in zip(
            plain.items(), corrected, strict=True
        )
    ]


def _effect(change: Floats, plain: Floats) -> float:
    """Return a mean change in standard deviations of what it changes."""
    spread, mean = float(plain.std(ddof=1)) if len(plain) > 1 else 0.0, float(change.mean())
    if spread > _ROUNDING:
        return mean / spread
    return 0.0 if abs(mean) <= _ROUNDING else math.copysign(math.inf, mean)


def _measures(options: SteerCheckOptions, progress: Progress | None) -> Measures:
    """Read what is asked before any language model is loaded."""
    contrasts = check_contrasts(options.pairs)
    asked = own_dilemmas() if options.survey is None else read_items(options.survey)
    dilemmas = [item for item in asked if isinstance(item, Dilemma)]
    useful = [item for item in dilemmas if item.better is not None or any(item.breaks)]
    if not useful:
        problem = f"{options.survey} says of no dilemma which action is right"
        raise InputError(problem, "add a column better, or breaks1, breaks2, …")
    auditor = None
    if options.replies and any(each.prompt for each in contrasts):
        auditor = prepare_auditor(AuditOptions(experts=options.experts), progress=progress)
    targets = frozenset(name.strip() for name in options.target.split(",") if name.strip())
    return Measures(contrasts, useful, targets, options.replies, auditor, options.seed)


def _divergence(plain: LanguageModel, steered: LanguageModel) -> float:
    texts = neutral_texts(held_out=True)
    return mean_divergence(list(plain.distributions(texts)), steered, texts)


def _figures(rows: Sequence[Moved], kl: float) -> tuple[dict[str, float], str]:
    """Return what a gate may ask for, and the name of what moved most besides."""
    by_name = {row.figure: row for row in rows}
    moved = [row for row in rows if not row.wanted and row.p_holm < _SURE]
    worst = max(moved, key=lambda row: abs(row.effect), default=None)
    figures = {
        "wanted": by_name[CHOICE].effect,
        "wanted_p": by_name[CHOICE].p_random_holm,
        "collateral": abs(worst.effect) if worst else 0.0,
        "moved": float(len(moved)),
        "perplexity": math.expm1(by_name[PERPLEXITY].change.value),
        "mass": by_name[MASS].change.value,
        "harmless": by_name[HARMLESS].effect,
        "right": by_name[RIGHT].effect,
        "kl": kl,
    }
    return figures, worst.figure if worst else "nothing moved"


def _triples(replies: Sequence[Sequence[Reply]]) -> list[ReplyTriple]:
    return [
        ReplyTriple(
            plain.request,
            plain.harmless,
            plain.reply,
            steered.reply,
            random.reply,
            (plain.score, steered.score, random.score),
        )
        for plain, steered, random in zip(*replies, strict=True)
    ]


def _doubts(rows: Sequence[Moved]) -> list[str]:
    choice = next(row for row in rows if row.figure == CHOICE)
    if choice.change.value <= 0 or not choice.p_random_holm < _SURE:
        return ["the vector does not move what is wanted more than a random one does"]
    return []
