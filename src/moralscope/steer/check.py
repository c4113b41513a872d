"""The certificate of a steering vector: what moved as wanted, and what moved besides.

Three models answer the same questions: the plain one, the steered one, and one pushed by a random
vector of equal norm in the same layers. Each change is tested question by question (paired t), all
together Holm-corrected, against nothing and against the random vector. A change is also given in
standard deviations of the plain model's values, so that all can be held against one limit.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from moralscope.axes.language import Asking
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import LanguageModel, Report
from moralscope.core.records import Interval, RunRecord, Statistics
from moralscope.models.language import load_language_model, load_vector
from moralscope.models.language.steering import SteeringVector
from moralscope.models.store import Progress
from moralscope.rules.audit import prepare_auditor
from moralscope.rules.audit_options import AuditOptions
from moralscope.stats.gates import GateResult, check_gate, parse_gate
from moralscope.stats.significance import holm
from moralscope.steer.contrasts import check_contrasts, neutral_texts, own_dilemmas
from moralscope.steer.fit import mean_divergence
from moralscope.steer.measures import CHOICE, HARMLESS, MASS, PERPLEXITY, RIGHT, Measures, Values
from moralscope.steer.options import SteerCheckOptions
from moralscope.surveys.items import Dilemma, read_items
from moralscope.surveys.statistics import mean_interval, t_against_zero

_SURE = 0.05
_ROUNDING = 1e-9
_PARTS = 5  # steps of the work with one model
NOT_SAFE = (
    "a certificate says what moved among the things that were looked at; what was not looked at "
    "may have moved too"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureChange:
    """One measure of the plain, the steered and the randomly pushed model."""

    figure: str
    wanted: bool  # the vector is meant to move it
    n: int  # questions
    plain: float
    steered: float
    change: Interval  # steered less plain
    effect: float  # the change in standard deviations of the plain values
    p: float
    p_holm: float
    random: float  # what the random vector changes
    p_random: float  # of steered against random
    p_random_holm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTriple:
    """What the three models wrote to one request, with the audit's scores."""

    request: str
    harmless: bool
    plain: str
    steered: str
    random: str
    scores: tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFigures(Statistics):
    """What a gate may ask for."""

    wanted: float  # in standard deviations, as collateral, harmless and right
    wanted_p: float  # of wanted against the random vector, Holm-corrected
    collateral: float  # the largest change that was not wanted
    moved: float  # how many measures moved that should not have
    perplexity: float  # growth on neutral text: 0.2 is 20 %
    mass: float
    harmless: float
    right: float
    kl: float  # of the next word on held-out neutral text


FIGURES = tuple(field.name for field in fields(CertificateFigures))


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateStatistics(Statistics):
    """What a certificate says in sum."""

    figures: CertificateFigures
    largest: str  # the name of the largest collateral
    random_kl: float  # what the random vector moves the next word by
    replies: Sequence[ReplyTriple]
    gate: GateResult | None


def check_vector(
    model: str | LanguageModel | None = None,
    options: SteerCheckOptions | None = None,
    *,
    report: Report | None = None,
    progress: Progress | None = None,
    **fields: Any,
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
    chosen = chosen_options(SteerCheckOptions, options, fields)
    limits = parse_gate(chosen.gate, FIGURES) if chosen.gate is not None else None
    vector = load_vector(chosen.vector)
    measures = _prepare_measures(chosen, progress)
    name = model or chosen.model or vector.info.model
    plain = load_language_model(name, progress=progress) if isinstance(name, str) else name
    steered = vector.steer(plain)
    random = vector.push(plain, random_like(vector, chosen.seed))
    models = (plain, steered, random)
    done = iter(range(1, 1 + _PARTS * len(models)))

    def step() -> None:
        if report:
            report(next(done), _PARTS * len(models))

    askings = [Asking.of(one, chosen.form) for one in models]
    answers = [measures.of(asking, step) for asking in askings]
    rows = compare(*(values for values, _ in answers), is_wanted=measures.wanted)
    texts = neutral_texts(held_out=True)
    distributions = list(plain.distributions(texts))
    kl, random_kl = (mean_divergence(distributions, one, texts) for one in (steered, random))
    by_name = {row.figure: row for row in rows}
    choice = by_name[CHOICE]
    moved = [row for row in rows if not row.wanted and row.p_holm < _SURE]
    worst = max(moved, key=lambda row: abs(row.effect), default=None)
    figures = CertificateFigures(
        wanted=choice.effect,
        wanted_p=choice.p_random_holm,
        collateral=abs(worst.effect) if worst else 0.0,
        moved=float(len(moved)),
        perplexity=math.expm1(by_name[PERPLEXITY].change.value),
        mass=by_name[MASS].change.value,
        harmless=by_name[HARMLESS].effect,
        right=by_name[RIGHT].effect,
        kl=kl,
    )
    warnings = [NOT_SAFE]
    if choice.change.value <= 0 or not choice.p_random_holm < _SURE:
        warnings.append("the vector does not move what is wanted more than a random one does")
    return RunRecord(
        "steer check",
        seed=chosen.seed,
        config={
            "vector": str(chosen.vector),
            "model": plain.name,
            "form": askings[0].form,
            "layers": list(vector.info.layers),
            "method": vector.info.method,
            "strength": vector.info.strength,
            "pairs": chosen.pairs or "declining, held out",
            "control": "a random vector of equal norm in every layer",
            "options": plain_options(chosen),
        },
        models=steered.refs,
        results=rows,
        statistics=CertificateStatistics(
            figures=figures,
            largest=worst.figure if worst else "nothing moved",
            random_kl=random_kl,
            replies=[
                ReplyTriple(
                    request=first.request,
                    harmless=first.harmless,
                    plain=first.reply,
                    steered=second.reply,
                    random=third.reply,
                    scores=(first.score, second.score, third.score),
                )
                for first, second, third in zip(*(replies for _, replies in answers), strict=True)
            ],
            gate=check_gate(limits, {"": figures}) if limits is not None else None,
        ),
        warnings=[*warnings, *plain.warnings],
    )


def random_like(vector: SteeringVector, seed: int) -> dict[int, Any]:
    """Return random vectors, each as long as that of its layer."""
    generator = np.random.default_rng(seed)
    rows = {}
    for layer, row in vector.added.items():
        drawn = generator.standard_normal(len(row)).astype(np.float32)
        rows[layer] = drawn * np.float32(np.linalg.norm(row) / np.linalg.norm(drawn))
    return rows


def compare(
    plain: Values, steered: Values, random: Values, *, is_wanted: Callable[[str], bool]
) -> list[MeasureChange]:
    """Test every measure of the steered model against the plain one and against chance."""
    change = {figure: steered[figure] - before for figure, before in plain.items()}
    tests = [t_against_zero(change[figure].tolist()) for figure in plain]
    controls = [t_against_zero((steered[figure] - random[figure]).tolist()) for figure in plain]
    corrected = zip(tests, holm(tests), controls, holm(controls), strict=True)
    rows = []
    for (figure, before), (p, p_holm, p_random, p_random_holm) in zip(
        plain.items(), corrected, strict=True
    ):
        mean = float(change[figure].mean())
        spread = float(before.std(ddof=1)) if len(before) > 1 else 0.0
        if spread > _ROUNDING:
            effect = mean / spread
        else:
            effect = 0.0 if abs(mean) <= _ROUNDING else math.copysign(math.inf, mean)
        rows.append(
            MeasureChange(
                figure=figure,
                wanted=is_wanted(figure),
                n=len(before),
                plain=float(before.mean()),
                steered=float(steered[figure].mean()),
                change=mean_interval(change[figure].tolist()),
                effect=effect,
                p=p,
                p_holm=float(p_holm),
                random=float((random[figure] - before).mean()),
                p_random=p_random,
                p_random_holm=float(p_random_holm),
            )
        )
    return rows


def _prepare_measures(options: SteerCheckOptions, progress: Progress | None) -> Measures:
    """Read what is asked before any language model is loaded."""
    contrasts = check_contrasts(options.pairs)
    items = own_dilemmas() if options.survey is None else read_items(options.survey)
    dilemmas = [
        item
        for item in items
        if isinstance(item, Dilemma) and (item.better is not None or any(item.breaks))
    ]
    if not dilemmas:
        problem = f"{options.survey} does not say which action of a dilemma is right"
        raise InputError(problem, "add a column better, or breaks1, breaks2, …")
    auditor = None
    if options.replies and any(pair.prompt for pair in contrasts):
        auditor = prepare_auditor(
            AuditOptions(experts=options.experts, evidence="no"), progress=progress
        )
    targets = frozenset(name.strip() for name in options.target.split(",") if name.strip())
    return Measures(contrasts, dilemmas, targets, options.replies, auditor, options.seed)
