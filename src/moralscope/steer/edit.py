"""Remove a direction from an encoder's embeddings, keep the moral one, and say what changed.

Returns run records with both biases before and after. What is removed is never fitted on the
occupations that are measured; a second template that took no part in the removal stands beside the
papers' own, because removing a measuring stick proves little.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from moralscope.axes.build import LocalModels, build_axis
from moralscope.axes.choice import ChoiceMachine
from moralscope.axes.direction.axis import build_direction
from moralscope.axes.options import AxisOptions
from moralscope.axes.prompts import question_rows
from moralscope.axes.score import DEMO_ACTIONS
from moralscope.axes.templates import Prompt, Template, load_template
from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Encoder, Floats
from moralscope.core.records import NOT_ADVICE, RunRecord, Statistics
from moralscope.io.documents import read_document
from moralscope.io.files import check_writable, model_refs
from moralscope.models.encoders import load_encoder
from moralscope.models.encoders.edited import Edit, EditedEncoder, save_edit
from moralscope.models.store import data_file
from moralscope.stats.correlation import Correlation, correlate
from moralscope.steer.linear import (
    Leakage,
    answer_differences,
    leakage,
    leaning,
    pair_components,
    subspace,
)
from moralscope.steer.options import AXES, EditOptions
from moralscope.steer.pairs import (
    BUILT_IN,
    DirectionPairs,
    held_out_questions,
    load_pairs,
    neutral_words,
)
from moralscope.words.paper import load_paper

PROFESSIONS = "weat/professions.json"
_HIDDEN = (
    "a linear edit hides a direction, it does not make a model forget it: see how well the side of "
    "an occupation can still be inferred (Gonen & Goldberg 2019)"
)


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """One word or action on one axis, before and after."""

    text: str
    group: str
    axis: str
    before: float
    after: float
    change: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BiasChange:
    """Mean absolute bias of a word list under a template, before and after."""

    words: str
    template: str
    held_out: bool  # no answer of the template took part in the removal
    n: int
    before: float
    after: float
    fall: float  # in percent, as all falls
    centred_before: float
    """After the template's offset, its mean on neutral words for people, is subtracted."""
    centred_after: float
    centred_fall: float
    spread_fall: float


@dataclass(frozen=True, slots=True)
class PairDistance(Statistics):
    """How far the two sides of the pairs lie apart; they took part in the removal."""

    before: float
    after: float
    fall: float


@dataclass(frozen=True, slots=True)
class LeakageChange(Statistics):
    """How well the side of the words that leaned most can be told, before and after."""

    words: str
    before: Leakage
    after: Leakage


@dataclass(frozen=True, slots=True, kw_only=True)
class EditStatistics(Statistics):
    """What an edit took out, and what stayed."""

    gender: Sequence[BiasChange]
    moral: Mapping[str, Correlation]  # of the scores before and after, by axis
    pairs: PairDistance
    leakage: LeakageChange


def edit(
    encoder: str | Encoder | None = None, options: EditOptions | None = None, **fields: Any
) -> RunRecord:
    """Remove a direction and return both biases before and after.

    Parameters
    ----------
    encoder
        A name, a folder, a hub id, or any object with the `Encoder` protocol; else what the
        options name.
    options
        `EditOptions`, or its fields as keywords: `remove`, which is `gender` or any name of your
        own with `pairs`; the axes to `keep`; `strength`, `source`, `components`, `seed`; and where
        to `save` the edit, of which `load_edited` makes the encoder again.

    Examples
    --------
    >>> record = edit("scripted", keep=["choice"], strength=0.5)
    >>> record.config["edited"], record.statistics["gender"][0].n
    ('scripted-gender', 20)
    """
    chosen = chosen_options(EditOptions, options, fields)
    pairs = check_edit(chosen)
    edited = edited_encoder(encoder, chosen)
    base, seed = edited.base, chosen.seed
    if chosen.save is not None:
        save_edit(edited.edit, chosen.save)
    gender = list(_gender_changes(edited, chosen))
    moral = {axis: _moral_changes(edited, axis, seed) for axis in AXES}
    first, second = (list(side) for side in zip(*pairs.sentences, strict=True))
    apart, left_apart = (
        float(np.linalg.norm(model.encode(first) - model.encode(second), axis=1).mean())
        for model in (base, edited)
    )
    warnings = [NOT_ADVICE, _HIDDEN]
    if chosen.strength == 0:
        warnings.append("strength 0 removes nothing")
    if data_file(PROFESSIONS) is None:
        warnings.append(
            f"set MORALSCOPE_DATA to a folder with {PROFESSIONS} for all 320 professions"
        )
    if any(not table.held_out for table, _ in gender):
        warnings.append(
            "the gender template's own answers were removed with it: read the held-out template "
            "for what carries over to other words"
        )
    return RunRecord(
        "edit",
        seed=seed,
        config={
            "encoder": base.name,
            "edited": edited.name,
            "remove": chosen.remove,
            "source": edited.edit.source,
            "dimensions_removed": len(edited.edit.basis),
            "keep": list(chosen.keep),
            "strength": chosen.strength,
            "saved": str(chosen.save) if chosen.save else None,
            "options": plain_options(chosen),
        },
        models=model_refs([base, edited]),
        results=[
            *(row for _, rows in gender for row in rows),
            *(row for rows in moral.values() for row in rows),
        ],
        statistics=EditStatistics(
            gender=[table for table, _ in gender],
            moral={axis: _agreement(rows, seed) for axis, rows in moral.items()},
            pairs=PairDistance(apart, left_apart, _fall(apart, left_apart)),
            leakage=_leakages(edited, seed),
        ),
        warnings=warnings,
    )


def edited_encoder(
    encoder: str | Encoder | None = None, options: EditOptions | None = None, **fields: Any
) -> EditedEncoder:
    """Return the encoder without the direction, for use wherever an encoder is.

    Examples
    --------
    >>> edited_encoder("scripted", keep=["choice"]).name
    'scripted-gender'
    """
    chosen = chosen_options(EditOptions, options, fields)
    pairs = load_pairs(chosen.remove, chosen.pairs)
    name = encoder or chosen.encoder
    base = load_encoder(name) if isinstance(name, str) else name
    kept = [np.empty((0, base.dimension))]  # what the axes hold their questions against
    if "choice" in chosen.keep:
        kept.append(answer_differences(base, _answers(load_template("moral"))))
    if "direction" in chosen.keep:
        axis = build_direction(AxisOptions(axis="direction"), LocalModels(base))
        kept.append(axis.direction.vector[None])
    removed, about = [], []
    # The template measures gender: it says nothing about a direction of the user's own.
    if chosen.source != "pairs" and pairs.name in BUILT_IN:
        removed.append(answer_differences(base, _answers(load_template(pairs.name))))
        about.append(f"the answers of the {pairs.name} template")
    if chosen.source != "template" or not removed:
        removed.append(pair_components(base, pairs.sentences, chosen.components))
        about.append(
            f"{len(removed[-1])} components of {len(pairs.words)} pairs "
            f"in {len(pairs.sentences)} sentence pairs"
        )
    return EditedEncoder(
        base,
        Edit(
            name=chosen.remove,
            basis=subspace(np.concatenate(removed), np.concatenate(kept)),
            strength=chosen.strength,
            encoder=base.name,
            checksum=base.checksum,
            source=" and ".join(about),
        ),
    )


def check_edit(options: EditOptions) -> DirectionPairs:
    """Refuse files that cannot be read or written before any weights are loaded."""
    if options.save is not None:
        check_writable(options.save)
    return load_pairs(options.remove, options.pairs)


def _answers(template: Template) -> list[tuple[str, str]]:
    return [(prompt.positive, prompt.negative) for prompt in template.prompts]


def _gender_changes(
    edited: EditedEncoder, options: EditOptions
) -> Iterator[tuple[BiasChange, list[ScoreChange]]]:
    """Yield a table and its rows for every word list under both gender templates."""
    encoders = edited.base, edited
    used = options.source != "pairs" and edited.edit.name in BUILT_IN
    prompts = tuple(Prompt(*question) for question in held_out_questions())
    paraphrased = Template("held-out", prompts, with_article=True)
    for words, occupations in _occupations().items():
        for template, held_out in ((load_template("gender"), not used), (paraphrased, True)):
            before, after = scores = [_bias(model, template, occupations) for model in encoders]
            offsets = [_bias(model, template, neutral_words()).mean() for model in encoders]
            centred = [biases - offset for biases, offset in zip(scores, offsets, strict=True)]
            size, left, centred_size, centred_left = (
                float(np.abs(biases).mean()) for biases in (*scores, *centred)
            )
            table = BiasChange(
                words=words,
                template=template.name,
                held_out=held_out,
                n=len(occupations),
                before=size,
                after=left,
                fall=_fall(size, left),
                centred_before=centred_size,
                centred_after=centred_left,
                centred_fall=_fall(centred_size, centred_left),
                spread_fall=_fall(float(before.std()), float(after.std())),
            )
            texts = [(text, words) for text in occupations]
            yield table, _changes(texts, template.name, before.tolist(), after.tolist())


def _moral_changes(edited: EditedEncoder, axis: str, seed: int) -> list[ScoreChange]:
    """Score the papers' dos and don'ts and the demo's actions; a direction is fitted anew."""
    paper = load_paper()
    groups = {"dos": paper.dos, "don'ts": paper.donts, "demo": DEMO_ACTIONS}
    texts = [(action, name) for name, group in groups.items() for action in group]
    options = AxisOptions(axis=axis, seed=seed)
    before, after = (
        [row.score for row in build_axis(options, LocalModels(model)).score([a for a, _ in texts])]
        for model in (edited.base, edited)
    )
    return _changes(texts, axis, before, after)


def _agreement(rows: Sequence[ScoreChange], seed: int) -> Correlation:
    before, after, groups = zip(*((row.before, row.after, row.group) for row in rows), strict=True)
    return correlate(before, after, groups, seed=seed)


def _leakages(edited: EditedEncoder, seed: int) -> LeakageChange:
    """Tell the occupations that leaned most to either side apart, before and after."""
    words, occupations = list(_occupations().items())[-1]
    template = load_template("gender")
    indices, sides = leaning(_bias(edited.base, template, occupations))
    chosen = [occupations[index] for index in indices]
    before, after = (
        leakage(question_rows(encoder, template, chosen).mean(axis=1), sides, seed=seed)
        for encoder in (edited.base, edited)
    )
    return LeakageChange(words, before, after)


def _bias(encoder: Encoder, template: Template, words: Sequence[str]) -> Floats:
    return np.asarray(ChoiceMachine(encoder, template).biases(words).mean(axis=1))


def _changes(
    texts: Sequence[tuple[str, str]], axis: str, before: Sequence[float], after: Sequence[float]
) -> list[ScoreChange]:
    rows = zip(texts, before, after, strict=True)
    return [ScoreChange(text, group, axis, old, new, new - old) for (text, group), old, new in rows]


def _fall(before: float, after: float) -> float:
    """Return how much smaller the second is, in percent of the first."""
    return 100 * (1 - after / before) if before else float("nan")


def _occupations() -> dict[str, Sequence[str]]:
    """Return the paper's 20 occupations and, where the user has them, Bolukbasi's professions."""
    paper = load_paper()
    lists: dict[str, Sequence[str]] = {"occupations (Table 1)": [*paper.female, *paper.male]}
    path = data_file(PROFESSIONS)
    if path is None:
        return lists
    remedy = "copy the published file again"
    plain = read_document(path, "professions", remedy).json_values()
    rows = decode(list[tuple[str, float, float]], plain, str(path), remedy=remedy)
    if not rows:
        raise InputError(f"{path} holds no professions", remedy)
    names = [name.replace("_", " ") for name, *_ in rows]  # such as "film_star"
    return {**lists, "professions (Bolukbasi)": names}
