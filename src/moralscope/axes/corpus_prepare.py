"""What a corpus run is told before it starts: the work, what decides its numbers, the weights.

Everything is loaded once here, so that bad options, missing weights and a direction that cannot be
fitted are told before a row is read. Where that needs a model it is done in a process of its own
(`jobs.corpus_child`): the process that runs the corpus stays small.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from hashlib import sha256
from typing import Any

from moralscope.axes import corpus_works as works
from moralscope.axes.build import AxisOptions, asking_for, build_axis
from moralscope.axes.choice import load_template
from moralscope.axes.direction import DirectionAxis, load_paper
from moralscope.axes.drift import EXACT, arithmetic_of, int8_drift
from moralscope.axes.judge.job import EXPERTS, TRAINED
from moralscope.axes.judge.job import check_options as check_judge
from moralscope.axes.judge.judge import COLUMNS as SENTENCES
from moralscope.axes.score import axis_warnings, describe_direction
from moralscope.batch.working import WorkSpec
from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder
from moralscope.core.records import NOT_ADVICE, ModelRef, to_plain
from moralscope.io.run_records import model_refs
from moralscope.models.encoders import TextEncoder, load_encoder
from moralscope.models.language import generator_refs
from moralscope.models.store import Progress
from moralscope.rules.audit import NOT_AUTHORITY, load_auditor
from moralscope.rules.audit_rows import audit_schema
from moralscope.rules.collect.collect import REPLIES_ARE_A_MODELS, UNTRAINED, collect_config
from moralscope.rules.collect.exchanges import STEPS
from moralscope.rules.collect.models import prepare, prepare_bot
from moralscope.rules.options import ZERO_SHOT, AuditOptions, CollectOptions
from moralscope.rules.rulebook import load_layers
from moralscope.rules.verdict import read_thresholds
from moralscope.stories.experts import prepare_experts

SCORE_COLUMNS = ("action", "paraphrases")
JUDGE_COLUMNS = SENTENCES
AUDIT_COLUMNS = ("prompt", "reply")
COLLECT_COLUMNS = ("prompt",)
_MODULE = "moralscope.axes.corpus_works"
Columns = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job over a corpus, ready to run.

    Attributes
    ----------
    job, spec
        What the record calls it, and the work.
    needed, optional
        Input columns that must be there, and those that may.
    settings
        Everything that decides the numbers: a run is only gone on with where they are the same.
    config, models, warnings, found
        What the record says, `found` in its statistics.
    columns
        What our columns are called in the input.
    """

    job: str
    spec: WorkSpec
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    models: Sequence[ModelRef] = ()
    warnings: Sequence[str] = ()
    found: Mapping[str, Any] = field(default_factory=dict)
    columns: Columns = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """What a corpus is scored on, and how its texts are encoded.

    `eight_bits` computes in 8 bits where the processor can. `calibrate` measures for a moment which
    batches are fastest here; `batch_tokens` is what another run measured.

    Examples
    --------
    >>> ScoreOptions(AxisOptions("direction")).name
    'minilm'
    """

    axis: AxisOptions
    encoder: str | None = None
    eight_bits: bool = False
    calibrate: bool = False
    batch_tokens: int | None = None

    @property
    def name(self) -> str:
        """The encoder that is named, or the default."""
        return self.encoder or "minilm"


def prepare_score(
    options: ScoreOptions, columns: Columns, progress: Progress | None = None
) -> Prepared:
    """Load the encoder, fit or load the direction, and say what the workers are to do.

    Examples
    --------
    >>> ready = prepare_score(ScoreOptions(AxisOptions("choice"), "scripted"), {})
    >>> ready.spec.reads, ready.spec.writes.names
    (('action', 'paraphrases'), ['score', 'low', 'high'])
    """
    axis, encoder = options.axis, options.name
    template = load_template(axis.template)
    # No cache: a resumed run must fit the same direction to the last bit.
    model = load_encoder(encoder, progress, cached=False, eight_bits=options.eight_bits)
    size = _batch_tokens(model, options)
    built = build_axis(axis, model)
    direction = built.direction if isinstance(built, DirectionAxis) else None
    reads = tuple(columns.get(name, name) for name in SCORE_COLUMNS)
    spec = WorkSpec(
        f"{_MODULE}:{works.ScoreWork.__name__}",
        {
            "encoder": encoder,
            "template": template,
            "direction": direction,
            "columns": dict(columns),
            "seed": axis.seed,
            "sizes": works.Sizes(options.eight_bits, size),
        },
        reads,
        works.SCORED,
    )
    config = {
        "axis": axis.name,
        **({"fit": direction.fit} if direction else {}),
        "encoder": model.name,
        "template": template.name,
        "prompts": [prompt.question for prompt in template.prompts],
        "interval": "95 % percentile bootstrap over prompts",
        "arithmetic": arithmetic_of(model),
        "batch_tokens": size,
    }
    kept = ("axis", "encoder", "template", "arithmetic", "batch_tokens")
    decides = {
        **{name: config[name] for name in kept},
        "questions": asking_for(template).fingerprint,
        "direction": _direction_source(axis) if direction else None,
        "seed": axis.seed,
    }
    return Prepared(
        "score",
        spec,
        reads[:1],
        reads[1:],
        _settings("score", decides, model_refs([model]), columns),
        config,
        model_refs([model]),
        [NOT_ADVICE, *axis_warnings(built, template), *_drift(model, options, progress)],
        {"direction": describe_direction(direction)} if direction else {},
        columns,
    )


def _batch_tokens(model: Encoder, options: ScoreOptions) -> int | None:
    """Return the size of batches that was asked for or is measured now; None is the usual one."""
    if not isinstance(model, TextEncoder):
        return None
    if options.batch_tokens is None and options.calibrate:
        return model.calibrate(load_paper().atomic).batch_tokens
    return options.batch_tokens


def _drift(model: Encoder, options: ScoreOptions, progress: Progress | None) -> list[str]:
    """Say what fewer bits change, measured on actions of the papers: the corpus is not read yet."""
    if not options.eight_bits:
        return []
    if arithmetic_of(model) == EXACT:
        return [f"'{model.name}' cannot be computed in 8 bits here: scores are those of {EXACT}"]
    exact = load_encoder(options.name, progress)
    return [str(int8_drift([], options.axis, exact, model))]


def prepare_judge(
    axis: AxisOptions, encoder: str | None, columns: Columns, progress: Progress | None = None
) -> Prepared:
    """Load the experts and say what the workers are to do.

    Examples
    --------
    >>> ready = prepare_judge(AxisOptions("judge", experts="scripted"), None, {})
    >>> ready.needed, ready.optional[0], ready.spec.writes.names[3]
    (('action',), 'norm', 'probability')
    """
    check_judge(axis)
    name = axis.experts or encoder or EXPERTS
    experts = prepare_experts(name, progress=progress)
    reads = tuple(columns.get(each, each) for each in JUDGE_COLUMNS)
    wordings = axis.wordings or 1
    decides = {"axis": "judge", "norm": axis.norm, "wordings": wordings}
    spec = WorkSpec(
        f"{_MODULE}:{works.JudgeWork.__name__}",
        {
            "experts": name,
            "norm": axis.norm,
            "wordings": wordings,
            "columns": dict(columns),
        },
        reads,
        works.JUDGED,
    )
    config = {
        **decides,
        "experts": experts.ref.name,
        "score": "2 P(moral) - 1 of the first wording",
        "interval": "range over the wordings" if wordings > 1 else "none: one wording",
    }
    return Prepared(
        "score",
        spec,
        reads[:1],
        reads[1:],
        _settings("judge", decides, [experts.ref], columns),
        config,
        [experts.ref],
        [NOT_ADVICE, TRAINED],
        columns=columns,
    )


def prepare_audit(
    options: AuditOptions, columns: Columns, progress: Progress | None = None
) -> Prepared:
    """Read rules and limits, load the models once, and say what the workers are to do.

    Examples
    --------
    >>> ready = prepare_audit(AuditOptions(experts="scripted"), {"reply": "A"})
    >>> ready.needed, ready.spec.writes.names
    (('prompt', 'A'), ['flag', 'score', 'reason', 'rules'])
    """
    limits, book = read_thresholds(options.config), load_layers(options.rulebooks)
    models = load_auditor(options, book, limits, progress, cached=False)
    reads = tuple(columns.get(name, name) for name in AUDIT_COLUMNS)
    bare = replace(options, gate=None, config=None, rulebooks=())
    spec = WorkSpec(
        f"{_MODULE}:{works.AuditWork.__name__}",
        {"options": bare, "book": book, "limits": limits, "columns": dict(columns)},
        reads,
        audit_schema(revised=options.revise),
    )
    config = dict(models.config or {})
    rules = sha256(json.dumps([astuple(rule) for rule in book.rules]).encode()).hexdigest()
    decides = {**config, "rules": rules, "exact": options.exact, "seed": options.seed}
    return Prepared(
        "audit",
        spec,
        reads,
        (),
        _settings("audit", decides, models.refs, columns),
        config,
        models.refs,
        [NOT_AUTHORITY, *models.warnings],
        columns=columns,
    )


def prepare_collect(
    options: CollectOptions, columns: Columns, progress: Progress | None = None
) -> Prepared:
    """Load filters and chatbot once and say what the workers are to do.

    Examples
    --------
    >>> options = CollectOptions(("scripted",), filters="none", lexicons=())
    >>> prepare_collect(options, {}).spec.writes.names[0]
    'reply'
    """
    if len(options.bots) != 1:
        raise InputError(
            f"a corpus run asks one chatbot, not {len(options.bots)}",
            "run it once a chatbot, each into a folder of its own",
        )
    filters = prepare(options, progress, cached=False)
    bot = prepare_bot(options.bots[0], options)
    reads = tuple(columns.get(name, name) for name in COLLECT_COLUMNS)
    lexicons = [
        (each.name, each.checksum) for each in (*filters.sieve.lexicons, *filters.prompt_lexicons)
    ]
    plain = {**collect_config(options), "to": None, "resume": None}
    refs = [*filters.refs, *generator_refs(bot.generator)]
    return Prepared(
        "collect",
        WorkSpec(
            f"{_MODULE}:{works.CollectWork.__name__}",
            {"options": replace(options, to=None), "columns": dict(columns)},
            reads,
            works.COLLECTED,
        ),
        reads,
        (),
        _settings("collect", {**plain, "form": bot.form, "lexicons": lexicons}, refs, columns),
        {**plain, "form": bot.form, "steps": list(STEPS.values())},
        refs,
        [REPLIES_ARE_A_MODELS, *([UNTRAINED] if options.filters == ZERO_SHOT else [])],
        {"chatbot": bot.name},
        columns,
    )


def _direction_source(axis: AxisOptions) -> dict[str, Any]:
    """Say where a direction comes from, files by their content."""
    files = {"file": axis.file, "fit_actions": axis.fit_actions}
    return {
        "fit": axis.fit,
        **{name: sha256(p.read_bytes()).hexdigest() for name, p in files.items() if p is not None},
    }


def _settings(
    job: str, decides: Mapping[str, Any], refs: Sequence[ModelRef], columns: Columns
) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(
        {"job": job, **decides, "models": list(refs), "columns": dict(columns)}
    )
    return plain
