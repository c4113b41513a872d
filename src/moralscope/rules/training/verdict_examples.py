"""What the verdict and the retriever are taught: exchanges that people labelled, and written ones.

The verdict expert reads (prompt, reply) and no rule. DiaSafety (Sun et al. 2022) gives replies that
people found unsafe, by concern; the bad ones of "Unauthorized Expertise" teach the concern alone:
they would teach the verdict to distrust every helpful answer. XSTest (Röttger et al. 2024) gives
replies of chatbots: bad is one that does what a truly unsafe prompt asks. Harmless pairs (Bai et
al. 2022) are ranked. Texts that are no replies (posts, messages) stand alone: those that were
written for moralscope, OpenAI's moderation set (Markov et al. 2022) and HateCheck (Röttger et al.
2021). Replies also come amid much harmless talk: what is bad stays bad there. The
retriever learns which rule a text belongs to.
"""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.io.documents import read_document, shipped_yaml
from moralscope.io.tables import TableFile
from moralscope.models.store import data_file
from moralscope.models.training.heads import CONTRASTIVE, RIDGE, Head
from moralscope.models.training.records import TrainingExample
from moralscope.rules.records import ALIGNMENTS, Annotation
from moralscope.rules.reply_reader import CONCERN, CONCERNS, EXPERTISE, FINE, VERDICT, VERDICTS
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.rules.training.alignment_examples import annotated_examples
from moralscope.rules.verdict import TASK
from moralscope.stories.degree_examples import HALVES
from moralscope.stories.norms.reversal import reverse_norm
from moralscope.stories.story import ORIENTATIONS, MoralStory

RETRIEVAL = "retrieval"
FITTED = ("severity", "consensus", "liberty")  # on the values of our own rulebook
DIASAFETY, XSTEST, HARMLESS = "diasafety", "xstest", "harmless-pairs"
MODERATION, HATECHECK = "moderation", "hatecheck"
TEXTS = "texts"  # the folder of those written for moralscope
_BAD_REPLIES = 5.0  # weight of XSTest's few bad replies
_PAIR_WEIGHT = 0.3
_FOLDERS = {
    DIASAFETY: "diasafety/{}.json",
    XSTEST: "xstest/replies_visible_half.csv",
    HARMLESS: "hh_harmless/pairs_visible_half.jsonl",
    MODERATION: "moderation/samples_visible_half.jsonl",
    HATECHECK: "hatecheck/cases_visible_half.csv",
}
_MODERATED = {  # OpenAI's labels
    "S": "sexual content", "S3": "sexual content", "H": "hate", "H2": "hate",
    "V": "violence", "V2": "violence", "HR": "harassment", "SH": "self-harm",
}  # fmt: skip
_TEXT_WEIGHT = 2.0  # few beside the replies
_TURN = "\n\nAssistant:"
_AMID = (150, 300, 500, 800, 1200)  # characters of talk around a reply: up to 384 tokens
_LONGEST = 600  # characters of a reply that is hidden: with the talk it must fit into a window
_TURNS = 3  # a reply comes amid talk in every third epoch
_TALK_ALONE = 6  # and for so many prompts once with the talk alone, which is fine
_DEV = 10  # every tenth written pair of replies is held out


def verdict_heads(sources: Sequence[str]) -> dict[str, Head]:
    """Return the heads that the sources can teach."""
    heads = {name: Head((name,), RIDGE) for name in FITTED}
    heads[RETRIEVAL] = Head((), CONTRASTIVE, kept=False)
    if DIASAFETY in sources:
        heads |= {VERDICT: Head(VERDICTS), CONCERN: Head(CONCERNS, "multi_label")}
    return heads


def verdict_examples(
    sources: Sequence[str], written: Sequence[Annotation], part: str
) -> list[TrainingExample]:
    """Return examples of verdict and concern of one part; what a half leaves out is in dev."""
    examples: list[TrainingExample] = []
    if DIASAFETY in sources:
        examples += diasafety_examples("train" if part == "train" else "val")
    readers = {
        XSTEST: xstest_examples,
        HARMLESS: harmless_examples,
        MODERATION: moderation_examples,
        HATECHECK: hatecheck_examples,
    }
    for name, read in readers.items():
        for half, kept in HALVES.items():
            if name + half in sources:
                wanted = kept if part == "train" else tuple({0, 1} - set(kept))
                examples += read(wanted)
    examples += [
        TrainingExample(
            VERDICT,
            (row.exchange.prompt, row.exchange.reply),
            int(row.alignment == "disagree"),
            group="verdict written",
        )
        for row in written
    ]
    examples += written_verdicts(part)
    if any(name.startswith((MODERATION, HATECHECK)) for name in sources):
        examples += written_texts(part)
    return [*examples, *amid_talk(examples, harmless_talk(written, part))]


def written_verdicts(part: str) -> list[TrainingExample]:
    """Return a bad and a fine reply to each prompt of `data/verdicts.yaml`."""
    return [
        TrainingExample(VERDICT, (row["prompt"], row[name]), label, group="verdict replies")
        for row in _reply_pairs(part)
        for label, name in enumerate(VERDICTS)
    ]


@cache
def _reply_pairs(part: str) -> tuple[Mapping[str, str], ...]:
    files = "verdicts.yaml", "verdicts_kinds.yaml", "verdicts_support.yaml"
    rows = (row for name in files for row in enumerate(shipped_yaml("moralscope.rules", name)))
    return tuple(row for index, row in rows if (index % _DEV == 0) == (part != "train"))


def written_texts(part: str) -> list[TrainingExample]:
    """Return a bad and a fine text of each pair below `data/texts`, and which is the worse."""
    examples: list[TrainingExample] = []
    for name in ("hate", "moderation"):
        for index, row in enumerate(shipped_yaml("moralscope.rules", f"{TEXTS}/{name}.yaml")):
            if (index % _DEV == 0) == (part != "train"):
                pairs = [("", row[label]) for label in VERDICTS]
                for bad, pair in enumerate(pairs):
                    concerns = (row["concern"],) if bad else ()
                    examples += _text(pair[1], concerns, bool(bad), "verdict texts")
                examples.append(
                    TrainingExample(VERDICT, pairs[1], 1, group="texts in pairs", other=pairs[0])
                )
    return examples


def moderation_examples(kept: Sequence[int]) -> list[TrainingExample]:
    """Return OpenAI's texts, ten by ten of each half."""
    examples: list[TrainingExample] = []
    table = TableFile(_file(MODERATION)).strict_rows(("prompt",), "take the published file")
    for index, (_, row) in enumerate(table):
        if index // 10 % 2 in kept:
            concerns = [name for label, name in _MODERATED.items() if str(row.get(label)) == "1"]
            examples += _text(row["prompt"], concerns, bool(concerns), "verdict moderation")
    return examples


def hatecheck_examples(kept: Sequence[int]) -> list[TrainingExample]:
    """Return HateCheck's cases; those of one template are in one half."""
    columns = ("test_case", "label_gold", "templ_id")
    examples: list[TrainingExample] = []
    for _, row in TableFile(_file(HATECHECK)).strict_rows(columns, "take the published file"):
        if int(row["templ_id"]) % 2 in kept:
            bad = row["label_gold"] == "hateful"
            examples += _text(row["test_case"], ["hate"] * bad, bad, "verdict hatecheck")
    return examples


def _text(
    text: str, concerns: Collection[str], bad: bool, group: str
) -> tuple[TrainingExample, TrainingExample]:
    """Return a text that is no reply, as an example of the verdict and of the concern."""
    pair, values = ("", text.strip()), tuple(float(name in concerns) for name in CONCERNS)
    concern = TrainingExample(CONCERN, pair, 0, 0.5, "concern of texts", values=values)
    return TrainingExample(VERDICT, pair, int(bad), _TEXT_WEIGHT, group), concern


def harmless_talk(written: Iterable[Annotation], part: str) -> list[str]:
    """Return replies that nobody minds, to hide others amid them."""
    fine = [row.exchange.reply for row in written if row.alignment == "neither"]
    return fine + [row[FINE] for row in _reply_pairs(part)]


def amid_talk(rows: Sequence[TrainingExample], talk: Sequence[str]) -> list[TrainingExample]:
    """Return exchanges with their replies amid harmless talk: the verdict stays what it was."""
    rng = random.Random(0)  # noqa: S311
    examples = []
    for index, row in enumerate(
        row for row in rows if row.task == VERDICT and row.pair[0] and not row.other
    ):
        prompt, reply = row.pair
        if len(reply) > _LONGEST:
            continue
        example = replace(row, weight=1.0, group="verdict amid talk", turn=(index % _TURNS, _TURNS))
        examples.append(replace(example, pair=(prompt, amid(reply, talk, rng))))
        if index % _TALK_ALONE == 0:
            alone = (prompt, amid("", talk, rng))
            examples.append(replace(example, pair=alone, label=VERDICTS.index(FINE), weight=0.5))
    return examples


def rules_amid_talk(rows: Sequence[Annotation], talk: Sequence[str]) -> list[TrainingExample]:
    """Return exchanges beside their rule, the reply amid harmless talk: it agrees as it did."""
    rng = random.Random(0)  # noqa: S311
    hidden = [
        replace(row, exchange=replace(row.exchange, reply=amid(row.exchange.reply, talk, rng)))
        for row in rows
    ]
    return [
        replace(lesson, turn=(index % _TURNS, _TURNS))
        for index, lesson in enumerate(annotated_examples(hidden, "alignment amid talk"))
    ]


def amid(reply: str, talk: Sequence[str], rng: random.Random) -> str:
    """Return a reply with harmless talk before and after it."""
    length, parts = rng.choice(_AMID), [reply] if reply else []
    while sum(map(len, parts)) < length + len(reply):
        parts.insert(rng.randint(0, len(parts)), rng.choice(talk))
    return rng.choice((" ", " ", "\n\n")).join(parts)


def diasafety_examples(part: str) -> list[TrainingExample]:
    """Return DiaSafety's exchanges: each one's concern, and its verdict."""
    rows = read_document(
        _file(DIASAFETY, part), "exchanges", "see 'moralscope data where diasafety'", 50_000_000
    ).json_values()
    examples = []
    for row in rows:
        pair, concern = (row["context"].strip(), row["response"].strip()), row["category"].lower()
        bad = row["label"] == "Unsafe"
        values = tuple(float(bad and name == concern) for name in CONCERNS)
        examples.append(TrainingExample(CONCERN, pair, 0, 0.5, values=values))
        if not (bad and concern == EXPERTISE):
            examples.append(TrainingExample(VERDICT, pair, int(bad), group="verdict diasafety"))
    return examples


def xstest_examples(kept: Sequence[int]) -> list[TrainingExample]:
    """Return XSTest's replies to every second prompt, or to all: bad ones weigh more."""
    examples = []
    prompts: dict[str, int] = {}
    for _, row in TableFile(_file(XSTEST)).strict_rows(("type", "prompt", "reply", "label"), ""):
        half = prompts.setdefault(row["prompt"], len(prompts)) % 2
        bad = row["type"].startswith("contrast_") and row["label"] == "1_full_compliance"
        if half in kept and row["reply"].strip():
            weight = _BAD_REPLIES if bad else 1.0
            pair = (row["prompt"], row["reply"])
            examples.append(
                TrainingExample(VERDICT, pair, int(bad), weight, group="verdict xstest")
            )
    return examples


def harmless_examples(kept: Sequence[int]) -> list[TrainingExample]:
    """Return pairs of replies, the one that people preferred above the other."""
    examples = []
    for index, (_, row) in enumerate(
        TableFile(_file(HARMLESS)).strict_rows(("chosen", "rejected"), "")
    ):
        (prompt, better), (other, worse) = _last_turn(row["chosen"]), _last_turn(row["rejected"])
        if index % 2 in kept and better and worse and better != worse:
            examples.append(
                TrainingExample(
                    VERDICT,
                    (prompt, better),
                    VERDICTS.index(FINE),
                    _PAIR_WEIGHT,
                    "harmless pairs",
                    other=(other, worse),
                )
            )
    return examples


def _last_turn(dialogue: str) -> tuple[str, str]:
    """Return what the human said last, and the reply."""
    before, _, reply = dialogue.rpartition(_TURN)
    return before.rpartition("\n\nHuman:")[2].strip(), reply.strip()


def norm_examples(stories: Sequence[MoralStory], turns: int) -> list[TrainingExample]:
    """Return norms beside bare actions, as stated and reversed, as lessons of alignment."""
    examples = []
    agree, disagree = ALIGNMENTS.index("agree"), ALIGNMENTS.index("disagree")
    for index, story in enumerate(stories):
        norms = (story.norm, reverse_norm(story.norm, variant=index % 8) if story.norm else None)
        for flipped, norm in enumerate(norms):
            for orientation in ORIENTATIONS if norm else ():
                action = story.action(orientation)
                keeps = (orientation == "moral") != bool(flipped)
                if action and norm:
                    turn = ((index + flipped) % turns, turns)
                    label = agree if keeps else disagree
                    examples.append(TrainingExample(TASK, (norm, action), label, 0.7, turn=turn))
    return examples


def retrieval_examples(
    written: Sequence[Annotation], stories: Sequence[MoralStory], social: Sequence[Annotation]
) -> list[TrainingExample]:
    """Return texts with the rule that they belong to; stories and situations now and then."""
    examples = [
        _with_rule((row.exchange.prompt, row.exchange.reply), row.rule, "retrieval")
        for row in written
    ]
    for index, story in enumerate(stories):
        action = story.immoral_action
        if action and story.norm:
            examples.append(
                replace(_with_rule(("", action), story.norm), turn=(index % 4, 4), weight=0.5)
            )
    for index, row in enumerate(social):
        text = row.exchange.prompt
        examples.append(replace(_with_rule(("", text), row.rule), turn=(index % 4, 4), weight=0.5))
    return examples


def _with_rule(pair: tuple[str, str], rule: str, group: str = "") -> TrainingExample:
    return TrainingExample(RETRIEVAL, pair, 0, group=group, other=("", rule))


def fitted_examples() -> list[TrainingExample]:
    """Return our own rules with severity and consensus, and whether they are about liberty."""
    examples = []
    for rule in shipped_rulebook().rules:
        values: dict[str, Any] = {
            "severity": rule.severity,
            "consensus": rule.consensus,
            "liberty": float("liberty" in (rule.foundations or ())),
        }
        examples += [
            TrainingExample(name, ("", rule.text), 0, values=(float(value),))
            for name, value in values.items()
            if value is not None
        ]
    return examples


def _file(name: str, part: str = "") -> Path:
    path = data_file(_FOLDERS[name].format(part))
    if path is None:
        raise InputError(
            f"the source '{name}' needs {_FOLDERS[name].format(part)} below MORALSCOPE_DATA",
            f"'moralscope data where {name}' says where it comes from",
        )
    return path
