"""Examples for the experts of rules, by where they come from: the data at hand, or MIC.csv.

At hand: alignment from Moral Stories (norm-distance split) and SOCIAL-CHEM-101, foundations from
SOCIAL-CHEM-101, split by situation. From MIC.csv: all four, on the file's own or an 80-10-10 split.
Rules that are held out anywhere train nothing.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.io.documents import read_document
from moralscope.models.store import data_file
from moralscope.models.training.heads import Head
from moralscope.models.training.records import UNLABELLED, TrainingExample
from moralscope.models.training.trainer import TrainingData
from moralscope.rules.annotations.reading import (
    PARTS,
    AnnotationFile,
    read_annotations,
    source_warnings,
    split_annotations,
)
from moralscope.rules.records import ALIGNMENTS, Annotation, Exchange
from moralscope.rules.reply_reader import VERDICT
from moralscope.rules.training.alignment_examples import (
    WRITTEN,
    alignment_dev,
    alignment_examples,
    annotated_examples,
    policy_exchanges,
    written_examples,
    written_exchanges,
)
from moralscope.rules.training.attribute_examples import (
    FOUNDATIONS_TASK,
    LOSSES,
    SCALES,
    foundation_examples,
    known_foundations,
    scale_examples,
)
from moralscope.rules.training.organisations import (
    CONDITION,
    CONDITION_HEAD,
    ORGANISATIONS,
    fine_replies,
    organisation_examples,
    unlabelled_pairs,
)
from moralscope.rules.training.replies import RuledAct, as_sentence
from moralscope.rules.training.stories_to_rules import (
    other_wordings,
    social_cases,
    story_cases,
    story_verbs,
)
from moralscope.rules.training.verdict_examples import (
    DIASAFETY,
    fitted_examples,
    harmless_talk,
    norm_examples,
    retrieval_examples,
    rules_amid_talk,
    verdict_examples,
    verdict_heads,
)
from moralscope.rules.verdict import TASK
from moralscope.stories.degree_examples import CONTRAST, HALVES, contrastive_examples
from moralscope.stories.norms.first_person import gender_of, own_act, own_phrase
from moralscope.stories.norms.phrases import starts_with_gerund
from moralscope.stories.norms.reversal import behaviour_of, reversals
from moralscope.stories.reading import load_stories
from moralscope.stories.select_norms import SOCIAL_FILES
from moralscope.stories.splits import part_of
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.train import ALL, ExpertSource, StoriesRecipe
from moralscope.stories.train import DATA as STORIES_DATA

SPLIT = "norm_distance"
STORY_TASKS = "story-tasks"
WRITTEN_WEIGHT = 2.0  # few beside those that templates make, and nearer to what is audited
POLICIES = "policies"  # the group of rules of organisations
EXCHANGES = "exchanges"  # the group of a file of one's own that helps to choose


@dataclass(frozen=True, slots=True)
class AtHand:
    """What to make of the data at hand: which tasks, of which sources, in how many turns."""

    tasks: Sequence[str]
    sources: Sequence[str] = ()
    stories: Path | None = None
    limit: int | None = None
    turns: int = 1
    seed: int = 0
    templates: float = 1.0  # share of the exchanges that templates make of stories and rules


@dataclass(frozen=True, slots=True)
class JudgedExchange:
    """An exchange of a user's YAML file, with a rule and how the reply stands to it."""

    prompt: str
    reply: str
    rule: str
    alignment: str


def examples_at_hand(wanted: AtHand) -> TrainingData:
    """Make examples of alignment and foundations, and of verdicts where there are sources of them.

    `limit` takes only so many stories, and so many rules, of each part.
    """
    tasks, path, limit = wanted.tasks, wanted.stories, wanted.limit
    turns, seed = wanted.turns, wanted.seed
    social = _social()
    rows = social.annotations
    split = split_annotations(rows, seed=seed)
    rules = {part: split.of(rows, part) for part in PARTS}
    read = load_stories(path).stories if TASK in tasks else ()
    member = part_of(read, SPLIT, "action") if TASK in tasks else {}
    stories = {part: [one for one in read if member.get(one.id) == part] for part in PARTS}
    held = {_plain(row.rule) for part in ("dev", "test") for row in rules[part]}
    held |= {_plain(story.norm or "") for part in ("dev", "test") for story in stories[part]}
    rules["train"] = [row for row in rules["train"] if _plain(row.rule) not in held]
    rules = {part: some[:limit] for part, some in rules.items()}
    stories = {part: some[:limit] for part, some in stories.items()}
    parts: dict[str, list[TrainingExample]] = {part: [] for part in PARTS}
    heads: dict[str, Head] = {}
    counts: dict[str, Any] = {"bad_rules": social.bad_rules}
    if TASK in tasks:
        heads[TASK] = Head(ALIGNMENTS)
        counts |= _add_alignment(parts, stories, rules, story_verbs(read), wanted)
    if FOUNDATIONS_TASK in tasks:
        names = known_foundations(rows)
        heads[FOUNDATIONS_TASK] = Head(names, LOSSES[FOUNDATIONS_TASK])
        parts["train"] += foundation_examples(rules["train"], names, other_wordings, turns)
        for part in ("dev", "test"):
            parts[part] += foundation_examples(rules[part], names)
    data = [*(["moral-stories", "written"] if TASK in tasks else []), "social-chem-101"]
    if TASK in tasks and DIASAFETY in wanted.sources:
        heads |= verdict_heads(wanted.sources)
        _add_verdicts(parts, stories, rules["train"], wanted)
        data += [name for name in wanted.sources if name not in data]
    if TASK in tasks and ORGANISATIONS in wanted.sources:
        heads[CONDITION] = CONDITION_HEAD
        for part in ("train", "dev"):
            parts[part] += organisation_examples(part, seed)[:limit]
            parts[part] += fine_replies(part)[:limit] if VERDICT in heads else []
        parts["train"] += unlabelled_pairs(seed)[:limit] if UNLABELLED in wanted.sources else []
    return TrainingData(parts, heads, names=data, counts=counts)


def add_story_tasks(
    examples: TrainingData, sources: Sequence[str], stories: Path | None, limit: int | None
) -> TrainingData:
    """Add the tasks of stories and their heads: one body then reads stories and rules."""
    named = tuple(name for name in sources if name in STORIES_DATA)
    recipe = StoriesRecipe(
        task=ALL, sources=named, split=SPLIT, contrast=True, behaviours=True, limit=limit
    )
    added = ExpertSource(ALL, stories).data(recipe)
    parts = {part: [*rows, *added.parts.get(part, ())] for part, rows in examples.parts.items()}
    return replace(examples, parts=parts, heads={**examples.heads, **added.heads})


def _add_verdicts(
    parts: dict[str, list[TrainingExample]],
    stories: Mapping[str, Sequence[MoralStory]],
    social: Sequence[Annotation],
    wanted: AtHand,
) -> None:
    """Add what teaches the verdict, the retriever and the norm as stated."""
    exchanges = _written(wanted.limit)
    written = exchanges[WRITTEN]
    for part, rows in written.items():
        parts[part] += verdict_examples(wanted.sources, rows, part)[: wanted.limit]
    parts["train"] += norm_examples(stories["train"], wanted.turns)
    taught = [*written["train"], *exchanges[POLICIES]["train"]]
    parts["train"] += retrieval_examples(taught, stories["train"], social)
    parts["train"] += rules_amid_talk(taught, harmless_talk(written["train"], "train"))
    parts["dev"] += rules_amid_talk(written["dev"], harmless_talk(written["dev"], "dev"))
    parts["train"] += fitted_examples()
    parts["dev"] += retrieval_examples(written["dev"], (), ())
    for half, kept in HALVES.items():
        if CONTRAST + half in wanted.sources:
            labels = (ALIGNMENTS.index("disagree"), ALIGNMENTS.index("agree"))
            parts["train"] += contrastive_examples(TASK, labels, wanted.turns, kept)[: wanted.limit]


def _written(limit: int | None) -> dict[str, dict[str, list[Annotation]]]:
    """Return the exchanges written for our rules and for organisations' ones, by part."""
    every = {WRITTEN: written_exchanges(), POLICIES: policy_exchanges()}
    return {
        name: {
            part: [row for row in rows if row.split == part][:limit] for part in ("train", "dev")
        }
        for name, rows in every.items()
    }


def examples_of_file(
    file: AnnotationFile, tasks: Sequence[str], limit: int | None, seed: int
) -> TrainingData:
    """Make examples of the tasks that the annotations of a file have values for."""
    split = split_annotations(file.annotations, seed=seed)
    rows = {part: split.of(file.annotations, part)[:limit] for part in PARTS}
    parts: dict[str, list[TrainingExample]] = {part: [] for part in PARTS}
    heads: dict[str, Head] = {}
    names = known_foundations(rows["train"])
    for task in tasks:
        if task == TASK:
            made = {part: annotated_examples(some) for part, some in rows.items()}
        elif task == FOUNDATIONS_TASK:
            made = {part: foundation_examples(some, names) for part, some in rows.items()}
        else:
            made = {part: scale_examples(some, task) for part, some in rows.items()}
        if not made["train"] or not made["dev"]:
            raise InputError(
                f"{file.source} has no {task} to learn from in its train and dev parts",
                "give a file with that column, or train another attribute",
            )
        if task in SCALES and len({row.values for row in made["train"]}) == 1:
            raise InputError(
                f"{task} is {made['train'][0].values[0]:g} in every row of {file.source}",
                "nothing can be learnt from it: 'moralscope rules stats' shows each value",
            )
        labels = {TASK: ALIGNMENTS, FOUNDATIONS_TASK: names}
        heads[task] = Head(labels.get(task, (task,)), LOSSES.get(task, "cross_entropy"))
        for part in PARTS:
            parts[part] += made[part]
    counts = {"official": split.official, "exchanges_in_two_parts": split.moved}
    warnings = [*source_warnings(file)]
    return TrainingData(
        parts, heads, names=[Path(file.source).name], counts=counts, warnings=warnings
    )


def exchange_examples(path: Path) -> list[TrainingExample]:
    """Read exchanges with a rule and its alignment (CSV as MIC.csv, or YAML) to choose by."""
    if path.suffix in (".yaml", ".yml"):
        remedy = "write a list of prompt, reply, rule and alignment"
        plain = read_document(path, "", remedy, max_bytes=50_000_000).yaml_values()
        rows = [
            Annotation(Exchange(row.prompt, row.reply), row.rule, row.alignment)
            for row in decode(list[JudgedExchange], plain, str(path), remedy=remedy)
            if row.alignment in ALIGNMENTS
        ]
    else:
        rows = list(read_annotations(path, kind="mic").annotations)
    examples = annotated_examples(rows, EXCHANGES)
    if not examples:
        raise InputError(f"{path} has no exchange with an alignment", "give prompt, reply, rule, …")
    return examples


def ruled_at_hand(seed: int) -> dict[str, list[RuledAct]]:
    """Return SOCIAL-CHEM-101 and Moral Stories by part; no rule that is held out is in train."""
    rows = _social().annotations
    split = split_annotations(rows, seed=seed)
    stories = load_stories().stories
    member, verbs = part_of(stories, SPLIT, "action"), story_verbs(stories)
    ruled: dict[str, list[RuledAct]] = {}
    for part in PARTS:
        some = [story for story in stories if member.get(story.id) == part]
        kinds = (_of_situations(split.of(rows, part)), _of_stories(some, verbs), _of_norms(some))
        ruled[part] = list(chain(*kinds))
    held_out = {_plain(row.rule) for part in ("dev", "test") for row in ruled[part]}
    ruled["train"] = [row for row in ruled["train"] if _plain(row.rule) not in held_out]
    return ruled


def _of_situations(rows: Iterable[Annotation]) -> Iterator[RuledAct]:
    """Yield each situation as a reply, and the action its rule judges, after the situation."""
    for row in rows:
        situation = row.exchange.prompt
        if starts_with_gerund(situation):
            situation = f"I am {situation[:1].lower()}{situation[1:]}"
        yield RuledAct(row.rule, reply=situation, group="situations")
        act = own_phrase(row.action) if row.action else None
        if act is not None:
            yield RuledAct(row.rule, act, context=as_sentence(situation), group="situations")


def _of_stories(stories: Sequence[MoralStory], verbs: frozenset[str]) -> Iterator[RuledAct]:
    """Yield what was done in each story, in the first person where that is clear.

    A moral action without its context is left out: nobody could tell which norm it keeps.
    """
    for story in stories:
        context = " ".join(filter(None, (story.situation, story.intention)))
        gender = gender_of((story.intention or "").split())
        for orientation in ORIENTATIONS if context else ("immoral",):
            act = story.action(orientation)
            if act and story.norm:
                yield RuledAct(story.norm, own_act(act, verbs, gender), act, context, "stories")


def _of_norms(stories: Iterable[MoralStory]) -> Iterator[RuledAct]:
    """Yield the behaviour that each norm judges, as something done, meant or asked about."""
    for norm in dict.fromkeys(story.norm for story in stories if story.norm):
        behaviour, _ = behaviour_of(norm) or ("", 0)
        act = own_phrase(behaviour)
        if act is not None:
            yield RuledAct(norm, act, group="norms")


def social_files() -> list[Path]:
    """Return the files of SOCIAL-CHEM-101 below MORALSCOPE_DATA."""
    paths = [path for name in SOCIAL_FILES if (path := data_file(name))]
    if not paths:
        raise InputError(
            f"no {SOCIAL_FILES[0]} is below MORALSCOPE_DATA",
            "'moralscope data where social-chem-101' says where it comes from",
        )
    return paths


def _social() -> AnnotationFile:
    files = [read_annotations(path, kind="social-chem") for path in social_files()]
    rows = tuple(row for file in files for row in file.annotations)
    return replace(files[0], annotations=rows, bad_rules=sum(file.bad_rules for file in files))


def _plain(text: str) -> str:
    return " ".join(text.casefold().strip(" .!").split())


def _add_alignment(
    parts: dict[str, list[TrainingExample]],
    stories: Mapping[str, Sequence[MoralStory]],
    rules: Mapping[str, Sequence[Annotation]],
    verbs: frozenset[str],
    wanted: AtHand,
) -> dict[str, Any]:
    turns, seed, share = wanted.turns, wanted.seed, wanted.templates
    cases = {part: story_cases(some, verbs) for part, some in stories.items()}
    social = social_cases(rules["train"])
    made = alignment_examples(cases["train"].matters, turns=turns, seed=seed)
    made += alignment_examples(social.matters, turns=turns, seed=seed, weight=0.7)
    rng = random.Random(f"{seed} templates")  # noqa: S311
    parts["train"] += [row for row in made if share == 1 or rng.random() < share]
    for part in ("dev", "test"):
        parts[part] += alignment_dev(cases[part].matters, seed)
    written = _written(wanted.limit)
    for name, exchanges in written.items():
        taught = written_examples(exchanges["train"], reversals, weight=WRITTEN_WEIGHT, seed=seed)
        parts["train"] += taught
        parts["dev"] += annotated_examples(exchanges["dev"], name)
    return {
        "written": {part: len(rows) for part, rows in written[WRITTEN].items()},
        "rewritten": {
            **{f"stories {part}": [some.rewritten, some.acts] for part, some in cases.items()},
            "social-chem-101 train": [social.rewritten, social.acts],
        },
    }
