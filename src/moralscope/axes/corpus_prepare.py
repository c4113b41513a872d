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
from moralscope.axes.build import EXACT, LocalModels, build_axis, question_encoder
from moralscope.axes.direction import load_paper
from moralscope.axes.drift import int8_drift
from moralscope.axes.options import AXES, ScoreOptions
from moralscope.batch.working import WorkSpec
from moralscope.core.errors import InputError
from moralscope.core.protocols import Axis
from moralscope.core.records import NOT_ADVICE, ModelRef, to_plain
from moralscope.models.encoders import TextEncoder
from moralscope.models.language import generator_refs
from moralscope.models.store import Progress
from moralscope.rules.audit import NOT_AUTHORITY, load_auditor
from moralscope.rules.audit_rows import audit_schema
from moralscope.rules.collect.chatbots import STEPS, prepare_bot
from moralscope.rules.collect.collect import (
    REPLIES_ARE_A_MODELS,
    UNTRAINED,
    collect_config,
    prepare,
)
from moralscope.rules.options import ZERO_SHOT, AuditOptions, CollectOptions
from moralscope.rules.rulebook import load_layers
from moralscope.rules.verdict import read_thresholds

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


def prepare_score(
    options: ScoreOptions, columns: Columns, progress: Progress | None = None
) -> Prepared:
    """Build the axis once, and say what the workers are to do.

    Examples
    --------
    >>> ready = prepare_score(ScoreOptions(encoder="scripted"), {})
    >>> ready.spec.reads, ready.spec.writes.names
    (('action', 'paraphrases'), ['score', 'low', 'high'])
    """
    kind = AXES[options.axis]
    # No cache: a resumed run must fit the same direction to the last bit.
    models = LocalModels(progress=progress, cached=False)
    if options.calibrate:
        model = question_encoder(options, models)
        models = replace(models, given=model)
        if isinstance(model, TextEncoder):
            size = model.calibrate(load_paper().atomic).batch_tokens
            options = replace(options, batch_tokens=size)
    axis = build_axis(options, models, many=True)
    card = axis.card
    sizes = {"arithmetic": card.arithmetic, "batch_tokens": options.batch_tokens}
    config = {**card.config, **(sizes if "batch_tokens" in kind.reads else {})}
    reads = tuple(columns.get(name, name) for name in kind.columns)
    spec = WorkSpec(
        f"{_MODULE}:{works.ScoreWork.__name__}",
        {"options": options, "state": axis.state, "columns": dict(columns)},
        reads,
        works.scored_schema(options.axis),
    )
    decides = {
        **config,
        "questions": card.fingerprint,
        "files": _checksums(options),
        "seed": options.seed,
    }
    return Prepared(
        "score",
        spec,
        reads[:1],
        reads[1:],
        _settings("score", decides, card.models, columns),
        config,
        card.models,
        [NOT_ADVICE, *card.warnings, *card.doubts, *_drift(axis, options, progress)],
        card.statistics,
        columns,
    )


def _drift(light: Axis, options: ScoreOptions, progress: Progress | None) -> list[str]:
    """Say what fewer bits change, measured on actions of the papers: the corpus is not read yet."""
    if not options.eight_bits:
        return []
    if light.card.arithmetic == EXACT:
        name = light.card.models[0].name
        return [f"'{name}' cannot be computed in 8 bits here: scores are those of {EXACT}"]
    exact = build_axis(replace(options, eight_bits=False), LocalModels(progress=progress))
    return [str(int8_drift([], exact, light, options.seed))]


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


def _checksums(options: ScoreOptions) -> dict[str, str]:
    """Name the files that an axis comes from by their content."""
    files = {"axis_file": options.axis_file, "fit_actions": options.fit_actions}
    return {name: sha256(p.read_bytes()).hexdigest() for name, p in files.items() if p is not None}


def _settings(
    job: str, decides: Mapping[str, Any], refs: Sequence[ModelRef], columns: Columns
) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(
        {"job": job, **decides, "models": list(refs), "columns": dict(columns)}
    )
    return plain
