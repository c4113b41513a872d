"""Train a generator of rules of thumb: exchanges → lessons → the one loop → a folder.

On the user's MIC.csv as in section 5.1 of Ziems et al. 2022, or, where no file is named, on
SOCIAL-CHEM-101 and Moral Stories put into the form of exchanges: the shipped adapter's command. The
epoch is the one whose rules, written for exchanges of the dev part, have the best BLEU.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import ModelRef, RunRecord
from moralscope.models.adapters import AdapterShape
from moralscope.models.language.conversion import resolve_base
from moralscope.models.language.making import TextMaking, make_generator, save_generator
from moralscope.models.store import Progress, Store
from moralscope.models.training import Schedule
from moralscope.models.training.folders import CHECKPOINT, named_base, training_folder
from moralscope.models.training.loop import Report
from moralscope.models.training.texts import TextLesson
from moralscope.rules.reading import load_annotations
from moralscope.rules.records import Annotation
from moralscope.rules.rule_lessons import (
    MARKERS,
    Ruled,
    annotated_lessons,
    as_sentence,
    ruled_lessons,
)
from moralscope.rules.splits import PARTS, split_annotations
from moralscope.rules.stories_to_rules import story_verbs
from moralscope.rules.training_data import SPLIT, social_files
from moralscope.stories.cards import DATA, Card, figure_table, rounded
from moralscope.stories.data_files import load_stories
from moralscope.stories.norms.first_person import gender_of, own_act, own_phrase
from moralscope.stories.norms.phrases import starts_with_gerund
from moralscope.stories.norms.reversal import behaviour_of
from moralscope.stories.splits import part_of
from moralscope.stories.story import ORIENTATIONS, MoralStory

TASK = "rule"
DEFAULT = Schedule(epochs=3, learning_rate=1e-3, batch_size=96, patience=3, average=0.99)
# Section 5.1; the epochs 1, 2, 3 and 5 are looks of one run here, not four runs.
PAPER = Schedule(
    epochs=5, learning_rate=3e-5, batch_size=16, warmup=0.0, weight_decay=0.0, patience=5
)
MAX_INPUT, MAX_OUTPUT = 256, 40  # tokens
WRITTEN = 256  # exchanges of a group for which a rule is written at each look at dev
_TEXT = """# Rules of thumb: a generator on {base}

Trained by moralscope on `{base}`: an exchange (prompt, reply) in, a rule of thumb out.

- **Base:** {base}. An adapter works on these weights only (`expert.json` has their sha256).
- **Data:** {data}.
  Trained on the *train* part only{limit}; the BLEU of rules written for dev chose the epoch.
- **Licence:** Apache-2.0 (the base and the data keep theirs).
- **Made by:** `{command}`
- **Figures** (BLEU of one sampled rule, and loss a token of what people wrote):

{table}

Descriptive, never authoritative: a rule is what some people, of one place and time, would say of a
reply; several, even conflicting ones, may apply at once.
"""


@dataclass(frozen=True, slots=True)
class RuleTrainOptions:
    """What to train on what. `rank` None trains every weight of the base.

    Parameters
    ----------
    data
        MIC.csv or a file like it; None is SOCIAL-CHEM-101 and Moral Stories below MORALSCOPE_DATA.
    columns
        Our name of a column → the file's, for `data`.
    base
        A generator of the store, a folder or a hub id: causal or encoder-decoder.
    base_is
        The store's entry whose weights the base folder holds (a copy elsewhere).
    paper
        Section 5.1: every weight, rate 3e-5, batch 16, up to five epochs.
    rule_only
        Learn the rule's tokens alone; else a causal base learns all of [prompt; reply; rule].
    max_length
        Tokens of an exchange that are read.
    limit
        Lessons of each part that are kept, at most, spread evenly over the data.
    schedule
        What differs from `DEFAULT`, or from `PAPER`.

    Examples
    --------
    >>> RuleTrainOptions(paper=True).adapter is None, RuleTrainOptions().adapter.rank
    (True, 16)
    """

    data: Path | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    base: str = "smollm2"
    base_is: str | None = None
    rank: int | None = 16
    paper: bool = False
    rule_only: bool = False
    max_length: int = MAX_INPUT
    limit: int | None = None
    schedule: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def adapter(self) -> AdapterShape | None:
        """The adapter's shape; None trains every weight, as the paper does."""
        return None if self.rank is None or self.paper else AdapterShape(self.rank)

    @property
    def whole_schedule(self) -> Schedule:
        """The schedule that these options mean."""
        return replace(PAPER if self.paper else DEFAULT, seed=self.seed, **self.schedule)


def train_generator(
    options: RuleTrainOptions,
    out: Path,
    *,
    report: Report | None = None,
    progress: Progress | None = None,
) -> RunRecord:
    """Train, choose the epoch on dev by BLEU, write the generator with its card to `out`.

    Raises
    ------
    InputError
        No data, data without a dev part, or a folder of other things.
    """
    schedule = options.whole_schedule
    if not schedule.learning_rate > 0:
        raise InputError("a learning rate is more than 0", "1e-3 is usual for an adapter")
    lessons, dev = _lessons(options)
    base, base_sha256 = resolve_base(options.base, store=Store(), progress=progress)
    name, base_sha256 = named_base(options.base, base, base_sha256, options.base_is)
    making = TextMaking(
        base,
        MARKERS,
        schedule,
        options.adapter,
        limits=(options.max_length, MAX_OUTPUT),
        written=WRITTEN,
        overlap="BLEU",
        whole=not options.rule_only,
    )
    with training_folder(out):
        learner, history = make_generator(making, lessons, dev, out / CHECKPOINT, report)
        figures = {"dev": history.looks[history.best]}
        card = _card(options, name, figures)
        facts = {
            "base": name,
            "base_sha256": base_sha256,
            "markers": list(MARKERS),
            "tasks": [TASK],
            "card": card.facts,
        }
        save_generator(out, learner, facts, card.text)
    return RunRecord(
        job="rules train",
        seed=schedule.seed,
        config={
            **asdict(options),
            "data": str(options.data) if options.data else None,
            "task": "generator",
            "schedule": asdict(schedule),
            "out": str(out),
        },
        models=[ModelRef(name, base_sha256)],
        results=history.looks,
        statistics={
            "lessons": dict(Counter(row.group for row in lessons)),
            "dev_lessons": dict(Counter(row.group for row in dev)),
            "figures": figures,
            "history": asdict(history),
        },
    )


def _lessons(options: RuleTrainOptions) -> tuple[list[TextLesson], list[TextLesson]]:
    """Return what is learnt and what is looked at, no exchange in both."""
    if options.data is not None:
        rows = load_annotations(options.data, kind="mic", columns=options.columns).annotations
        split = split_annotations(rows, seed=options.seed)
        train, dev = (annotated_lessons(split.of(rows, part)) for part in ("train", "dev"))
    else:
        parts = _at_hand(options.seed)
        train, dev = (ruled_lessons(parts[part], options.seed) for part in ("train", "dev"))
    for part, own in (("train", train), ("dev", dev)):
        if not own:
            raise InputError(
                f"the {part} part holds no exchange with a rule", "give a file with more rows"
            )
    return _some(train, options.limit), _some(dev, options.limit)


def _at_hand(seed: int) -> dict[str, list[Ruled]]:
    """Return SOCIAL-CHEM-101 and Moral Stories by part; no rule that is held out is in train."""
    files = [load_annotations(path, kind="social-chem") for path in social_files()]
    rows = [row for file in files for row in file.annotations]
    split = split_annotations(rows, seed=seed)
    stories = load_stories().stories
    member, verbs = part_of(stories, SPLIT, "action"), story_verbs(stories)
    found: dict[str, list[Ruled]] = {}
    for part in PARTS:
        told = [each for each in stories if member.get(each.id) == part]
        ruled = (_of_situations(split.of(rows, part)), _of_stories(told, verbs), _of_norms(told))
        found[part] = list(chain(*ruled))
    held_out = {_plain(row.rule) for part in ("dev", "test") for row in found[part]}
    found["train"] = [row for row in found["train"] if _plain(row.rule) not in held_out]
    return found


def _plain(rule: str) -> str:
    return " ".join(rule.casefold().strip(" .!").split())


def _of_situations(rows: Iterable[Annotation]) -> Iterator[Ruled]:
    """Yield each situation as a reply, and the action its rule judges, after the situation."""
    for row in rows:
        told = row.exchange.prompt
        if starts_with_gerund(told):
            told = f"I am {told[:1].lower()}{told[1:]}"
        yield Ruled(row.rule, told=told, group="situations")
        act = own_phrase(row.action) if row.action else None
        if act is not None:
            yield Ruled(row.rule, act, context=as_sentence(told), group="situations")


def _of_stories(stories: Sequence[MoralStory], verbs: frozenset[str]) -> Iterator[Ruled]:
    """Yield what was done in each story, in the first person where that is clear.

    A moral action without its context is left out: nobody could tell which norm it keeps.
    """
    for story in stories:
        context = " ".join(filter(None, (story.situation, story.intention)))
        gender = gender_of((story.intention or "").split())
        for orientation in ORIENTATIONS if context else ("immoral",):
            act = story.action(orientation)
            if act and story.norm:
                yield Ruled(story.norm, own_act(act, verbs, gender), act, context, "stories")


def _of_norms(stories: Iterable[MoralStory]) -> Iterator[Ruled]:
    """Yield the behaviour that each norm judges, as something done, meant or asked about."""
    for norm in dict.fromkeys(story.norm for story in stories if story.norm):
        behaviour, _ = behaviour_of(norm) or ("", 0)
        act = own_phrase(behaviour)
        if act is not None:
            yield Ruled(norm, act, group="norms")


def _some(lessons: Sequence[TextLesson], limit: int | None) -> list[TextLesson]:
    """Return `limit` lessons, spread evenly."""
    if limit is None or len(lessons) <= limit:
        return list(lessons)
    return [lessons[place * len(lessons) // limit] for place in range(limit)]


def _card(options: RuleTrainOptions, base: str, figures: Mapping[str, Mapping[str, float]]) -> Card:
    """Describe what was trained; folders and files of this machine are named without a place."""
    short = Path(base).name if Path(base).is_dir() else base
    data = (
        [f"annotated exchanges of {options.data.name}"]
        if options.data
        else [DATA["social-chem-101"], f"{DATA['moral-stories']} (split {SPLIT})"]
    )
    command = _command(options, short)
    facts = {
        "base": short,
        "data": data,
        "trained_on": {"part": "train", "limit": options.limit},
        "licence": "Apache-2.0",
        "epochs": figures["dev"]["epoch"],
        "seed": options.seed,
        "metrics": {part: rounded(rows) for part, rows in figures.items()},
        "command": command,
    }
    text = _TEXT.format(
        base=short,
        data=" and ".join(data),
        limit=f", {options.limit} lessons of it" if options.limit else "",
        command=command,
        table=figure_table(figures),
    )
    return Card(facts, text)


def _command(options: RuleTrainOptions, base: str) -> str:
    """Return the command that does the same again: what it leaves out is a default."""
    schedule = options.whole_schedule
    words = [f"moralscope rules train generator --base {base}"]
    words += [f"--data {options.data.name}"] if options.data else []
    if options.columns:
        words.append(f"--columns {','.join('='.join(pair) for pair in options.columns.items())}")
    if options.paper:
        words.append("--paper")
    else:
        words.append("--full" if options.rank is None else f"--rank {options.rank}")
    words.append(f"--epochs {schedule.epochs} --learning-rate {schedule.learning_rate}")
    words.append(f"--batch {schedule.batch_size} --max-length {options.max_length}")
    words.append(f"--patience {schedule.patience} --seed {options.seed}")
    words += ["--rule-only"] if options.rule_only else []
    words += [f"--limit {options.limit}"] if options.limit else []
    return " ".join(words)
