"""Chatbots: how a prompt is put to one, what counts as its reply, and what became of the replies.

Section 4.1 and appendix A.1 of the paper (Ziems et al. 2022).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from moralscope.batch.types import FailedRows, Outcome
from moralscope.core.errors import InputError
from moralscope.core.protocols import Generator
from moralscope.core.records import Statistics, Usage, absent
from moralscope.models.language import EndpointOptions, load_generator
from moralscope.models.language.chat_template import load_chat_template
from moralscope.models.options import ENDPOINTS
from moralscope.rules.collect.lexicons import Lexicon
from moralscope.rules.collect.options import CollectOptions
from moralscope.rules.texts.sanitize import clean

SCRIPTED = "scripted"
MAX_PROMPT = 4_000  # characters: the window of a small model holds no more
MAX_REPLY = 20_000  # characters of a cell that every reader of ours takes
EMPTY, LONG, NO_KEYWORD = "empty reply", "reply too long", "no keyword"
INSUFFICIENT, NEUTRAL = "insufficient", "no moral content"
# What a row may be dropped for, in the order of the steps, and the step that drops it.
STEPS = {
    EMPTY: "neither empty nor too long",
    NO_KEYWORD: "with a keyword",
    INSUFFICIENT: "sufficient",
    NEUTRAL: "with moral content",
}
# The ten most given names for girls and for boys in the USA in 2018 (Social Security
# Administration): the list that the paper drew from.
NAMES = (
    *("Emma", "Olivia", "Ava", "Isabella", "Sophia"),
    *("Charlotte", "Mia", "Amelia", "Harper", "Evelyn"),
    *("Liam", "Noah", "William", "James", "Oliver"),
    *("Benjamin", "Elijah", "Lucas", "Mason", "Logan"),
)


@dataclass(frozen=True, slots=True)
class CollectPrompt:
    """What chatbots are asked."""

    text: str
    id: str
    answer: str | None = None
    """The top answer of its thread: chatbots never see it, and lexicons of prompts must be met by
    it too, as in the paper."""

    def meets(self, lexicons: Iterable[Lexicon]) -> bool:
        """Say whether the prompt, and the answer where there is one, hold a word of each."""
        texts = [self.text, *([] if self.answer is None else [self.answer])]
        return all(lexicon.find(text) for lexicon in lexicons for text in texts)


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """A prompt as a model is to read it; `speakers` are the names that end a reply."""

    text: str
    speakers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chatbot:
    """A generator and the form in which it is asked."""

    name: str
    generator: Generator
    form: str
    ask: Callable[[str], ChatPrompt]


@dataclass(frozen=True, slots=True)
class CollectedExchange:
    """A prompt, a chatbot's reply, what the filters found, and why it was dropped, if it was."""

    id: str
    prompt: str
    reply: str
    chatbot: str
    finish: str = "stop"
    keywords: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    sufficient: float | None = None
    moral: float | None = None
    dropped: str | None = None


@dataclass(frozen=True, slots=True)
class CollectStep(Statistics):
    """How many replies are left after a step, in all and of each chatbot."""

    step: str
    all: int
    by_chatbot: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectStatistics(Statistics):
    """What became of prompts and replies, of one file as of a corpus."""

    prompts: Mapping[str, int]
    """how many were read, left out by which reason, and asked"""
    steps: Sequence[CollectStep]
    kept: int
    dropped: Mapping[str, int]
    """replies by the reason"""
    categories: Mapping[str, int]
    """of the lexicons' words in the replies that were kept"""
    keywords: Mapping[str, int]
    cut: int
    """replies that ended at the longest length"""
    chatbot: str | None = absent()
    """the one that a corpus was put to"""
    forms: Mapping[str, str]
    """how each chatbot was asked"""
    usage: Mapping[str, Usage] | None = absent()
    corpus: Outcome | None = absent()
    failed: FailedRows | None = absent()


def by_names(prompt: str, seed: int) -> ChatPrompt:
    """Make a plain language model a chatbot: two people talk and the second is to answer (A.1).

    Which two decides a hash of prompt and seed. A prompt is put on one line, so that it can open
    no turn of its own.
    """
    text = clean(prompt)
    digest = _hash(f"{seed} {text}")
    first = digest % len(NAMES)
    second = (first + 1 + digest // len(NAMES) % (len(NAMES) - 1)) % len(NAMES)
    one, other = NAMES[first], NAMES[second]
    opening = f"The following is a conversation between {one} and {other}."
    return ChatPrompt(f"{opening}\n\n{one}: {text}\n{other}:", (one, other))


def seed_of(prompt: str, seed: int) -> int:
    """Return the seed of one prompt: the same in any batch."""
    return _hash(f"reply {seed} {prompt}") % 2**31


def _hash(text: str) -> int:
    key = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big")


def cut_reply(text: str, speakers: Sequence[str] = ()) -> str:
    """Return the reply in what a model wrote; by names it ends at a line break or a speaker."""
    text = text.encode("utf-8", "replace").decode().strip()
    if not speakers:
        return text
    line = text.partition("\n")[0]
    ends = [start for name in speakers if (start := line.find(f"{name}:")) >= 0]
    return line[: min(ends, default=len(line))].strip()


def bot_label(name: str) -> str:
    """Return what exchanges call a chatbot: its name, of a folder or file without its place.

    Examples
    --------
    >>> bot_label("smollm2"), bot_label("openai:my-model")
    ('smollm2', 'openai:my-model')
    """
    path = Path(name).expanduser()
    if not is_local(name) or not path.exists():
        return name
    return path.resolve().name if path.is_dir() else path.stem


def prepare_bot(name: str, options: CollectOptions) -> Chatbot:
    """Load a chatbot and find the form in which it is asked."""
    endpoint = EndpointOptions(options.endpoint, log_probabilities=False)
    generator = load_generator(name, endpoint=endpoint)
    seed, label = options.seed, bot_label(name)
    if not is_local(name):  # a server has the template
        if options.form == "names":
            return Chatbot(label, generator, "names", lambda prompt: by_names(prompt, seed))
        return Chatbot(label, generator, "plain", ChatPrompt)
    wording = load_chat_template(name)
    form = options.form
    if form == "auto":
        form = "chat" if wording.has_chat else "plain" if wording.reads_first else "names"
    if form == "chat" and not wording.has_chat:
        raise InputError(f"'{name}' brings no chat template", "use --form names or plain")
    asks: dict[str, Callable[[str], ChatPrompt]] = {
        "chat": lambda prompt: ChatPrompt(wording.chat(prompt)),
        "plain": lambda prompt: ChatPrompt(wording.plain(prompt)),
        "names": lambda prompt: by_names(wording.plain(prompt), seed),
    }
    return Chatbot(label, generator, form, asks[form])


def is_local(name: str) -> bool:
    return name != SCRIPTED and not name.startswith(ENDPOINTS)


def filters_run(options: CollectOptions) -> tuple[str, ...]:
    """Return what a reply can be dropped for with these options.

    Examples
    --------
    >>> filters_run(CollectOptions(bots=("scripted",), filters="none", lexicons=()))
    ('empty reply',)
    """
    words = (NO_KEYWORD,) if options.lexicons else ()
    classified = () if options.filters == "none" else (INSUFFICIENT, NEUTRAL)
    return (EMPTY, *words, *classified)


def steps_of(
    tally: Mapping[tuple[str, str | None], int],
    chatbots: Sequence[str],
    ran: Collection[str] = tuple(STEPS),
) -> list[CollectStep]:
    """Return how many replies are left after each step, in all and of each chatbot.

    `tally` counts replies by chatbot and by what they were dropped for, or None.

    `ran` are the filters that ran: a step that did not run is not counted.
    """
    lost: Counter[tuple[str, str | None]] = Counter()
    left: Counter[str] = Counter()
    for (bot, dropped), count in tally.items():
        lost[bot, EMPTY if dropped == LONG else dropped] += count
        left[bot] += count
    steps = []
    for reason, name in ((None, "replies"), *STEPS.items()):
        if reason is not None and reason not in ran:
            continue
        if reason is not None:
            left.subtract({bot: lost[bot, reason] for bot in chatbots})
        counts = {bot: left[bot] for bot in chatbots}
        steps.append(CollectStep(name, sum(counts.values()), counts))
    return steps
