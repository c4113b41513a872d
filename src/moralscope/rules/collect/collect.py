"""Ask chatbots, filter what they reply, and return exchanges ready to annotate or to audit.

Prompts → replies (kept on disk as they come) → keywords → sufficiency → moral content; how many
are left after each step is in the record. Section 4.1, appendices A and B of Ziems et al. 2022.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Report
from moralscope.core.records import ModelRef, RunRecord, Usage
from moralscope.io.journal import Journal
from moralscope.models.language import generator_refs
from moralscope.models.language.chat_template import model_folder
from moralscope.models.language.decoding import check_request
from moralscope.models.store import Progress
from moralscope.rules.collect.chatbots import (
    Chatbot,
    ChatPrompt,
    CollectedExchange,
    CollectPrompt,
    CollectStatistics,
    bot_label,
    cut_reply,
    filters_run,
    is_local,
    prepare_bot,
    seed_of,
    steps_of,
)
from moralscope.rules.collect.files import PromptFile, check_place, read_prompts, write_exchanges
from moralscope.rules.collect.filters import Filters, Sieve, load_filters
from moralscope.rules.collect.options import ZERO_SHOT, CollectOptions
from moralscope.rules.records import first_notes
from moralscope.rules.texts.exchanges import blocks

__all__ = ["CollectOptions", "Filters", "check_options", "collect", "prepare"]

LoadBot = Callable[[str, CollectOptions], Chatbot]
REPLIES_ARE_A_MODELS = "replies are what these chatbots said, they are not moral advice"
UNTRAINED = (
    "sufficiency and moral content are judged by similarities alone: look at a sample, or train "
    "classifiers on labelled replies with 'moralscope collect-train'"
)
_BLOCK = 16  # replies that are asked for, and put on the disk, at once
_SIFTED = 512  # replies that are filtered at once
_TOP = 20  # keywords


def check_options(options: CollectOptions) -> None:
    """Refuse options that cannot be met before anything is loaded.

    Examples
    --------
    >>> check_options(CollectOptions(bots=("scripted",)))
    """
    name, count = Counter(map(bot_label, options.bots)).most_common(1)[0]
    if count > 1:
        raise InputError(f"'{name}' is named {count} times", "name each chatbot once")
    check_request([], options.decoding, [])
    if options.to is not None:
        check_place(options.to)


def prepare(
    options: CollectOptions, progress: Progress | None = None, *, cached: bool = True
) -> Filters:
    """Load the filters and fetch the weights of every chatbot, which are loaded one at a time.

    Without `cached` the filters keep no row on disk.
    """
    check_options(options)
    for name in filter(is_local, options.bots):
        model_folder(name, progress=progress)
    return load_filters(options, progress, cached=cached)


def collect(
    prompts: str | Path | PromptFile | Sequence[CollectPrompt],
    options: CollectOptions | None = None,
    *,
    ready: Filters | None = None,
    load: LoadBot = prepare_bot,
    report: Report | None = None,
    **changes: Any,
) -> RunRecord:
    """Ask every chatbot every prompt, filter the replies, and write what is kept.

    Parameters
    ----------
    prompts
        A file of prompts, what `rules.collect.files.read_prompts` returns of one, or prompts.
    options
        `CollectOptions`, or its fields as keywords; `to` names the file of exchanges. A run that
        was killed goes on where it stopped, and one with other filters asks no bot again.
    ready
        What `prepare` made; else it is made from the options.
    load
        Makes a chatbot from its name: for one of your own.
    report
        Called with (replies, total) as the work goes on.

    Examples
    --------
    >>> asked = [CollectPrompt("Do you steal?", "1")]
    >>> record = collect(asked, bots=("scripted",), filters="none", lexicons=())
    >>> [(row.id, row.prompt, row.dropped) for row in record.results]
    [('1/scripted', 'Do you steal?', None)]
    """
    options = chosen_options(CollectOptions, options, changes)
    check_options(options)
    if isinstance(prompts, str | Path):
        prompts = read_prompts(Path(prompts))
    elif not isinstance(prompts, PromptFile):
        if not prompts:
            raise InputError("there are no prompts", "give at least one")
        prompts = PromptFile("given", prompts, len(prompts))
    if options.to and options.to.resolve() == Path(prompts.source).resolve():
        raise InputError(f"{options.to} holds the prompts", "choose another --to")
    filters = ready or prepare(options)
    asked = [prompt for prompt in prompts.prompts if prompt.meets(filters.prompt_lexicons)]
    if not asked:
        raise InputError(
            f"no prompt of {prompts.source} holds a word of every --prompt-lexicon",
            "give other prompts or lexicons",
        )
    counts = {"read": prompts.read, **prompts.left_out}
    if filters.prompt_lexicons:
        counts["without a keyword"] = len(prompts.prompts) - len(asked)
    rows, bots = _ask_all(asked, options, filters.sieve, load, report)
    if options.to is not None:
        write_exchanges(rows, options.to)
    tally = Counter((row.chatbot, row.dropped) for row in rows)
    kept = [row for row in rows if row.dropped is None]
    keywords = Counter(word for row in kept for word in row.keywords)
    cut = sum(row.finish == "length" for row in rows)
    warnings = [REPLIES_ARE_A_MODELS, *([UNTRAINED] if options.filters == ZERO_SHOT else [])]
    if cut:
        most = options.decoding.max_tokens
        warnings.append(f"{cut:,} of {len(rows):,} replies were cut at {most} tokens")
    if rows and not kept:
        warnings.append("no exchange was kept")
    return RunRecord(
        "collect",
        seed=options.seed,
        config={
            **collect_config(options),
            "source": prompts.source,
            "options": plain_options(options),
        },
        models=[*filters.refs, *(ref for bot in bots for ref in bot.refs)],
        results=rows,
        statistics=CollectStatistics(
            prompts={**counts, "asked": len(asked)},
            steps=steps_of(tally, [bot.name for bot in bots], filters_run(options)),
            kept=len(kept),
            dropped=Counter(row.dropped for row in rows if row.dropped is not None),
            categories=Counter(name for row in kept for name in row.categories),
            keywords=dict(keywords.most_common(_TOP)),
            cut=cut,
            forms={bot.name: bot.form for bot in bots},
            usage={bot.name: bot.usage for bot in bots if bot.usage is not None},
        ),
        warnings=[*warnings, *first_notes([note for bot in bots for note in bot.notes])],
    )


@dataclass(frozen=True, slots=True)
class _AskedBot:
    """What a record says of a chatbot that was asked."""

    name: str
    form: str
    refs: tuple[ModelRef, ...]
    notes: tuple[str, ...]
    usage: Usage | None


def _ask_all(
    prompts: Sequence[CollectPrompt],
    options: CollectOptions,
    sieve: Sieve,
    load: LoadBot,
    report: Report | None,
) -> tuple[list[CollectedExchange], list[_AskedBot]]:
    """Ask one chatbot after the other; only one is in memory."""
    path = options.to.with_name(f"{options.to.name}.replies") if options.to else None
    try:
        journal = Journal(path, {"job": "collect"}, fresh=not options.resume)
    except InputError as error:  # what hinders is told in terms of --to
        raise InputError(error.problem, error.remedy.replace("--out", "--to")) from error
    rows: list[CollectedExchange] = []
    bots: list[_AskedBot] = []
    total = len(options.bots) * len(prompts)

    def step(done: int) -> None:
        if report:
            report(len(bots) * len(prompts) + done, total)

    try:
        with journal.told_on_interrupt("replies"):
            for name in options.bots:
                bot = load(name, options)
                replies = _replies(bot, prompts, options, journal, step)
                rows += [row for block in blocks(replies, _SIFTED) for row in sieve.sift(block)]
                model = bot.generator
                notes = tuple(f"{bot.name}: {line}" for line in model.warnings)
                bots.append(
                    _AskedBot(bot.name, bot.form, generator_refs(model), notes, model.usage)
                )
                del bot, model, replies
    finally:
        journal.close()
    return rows, bots


def _replies(
    bot: Chatbot,
    prompts: Sequence[CollectPrompt],
    options: CollectOptions,
    journal: Journal,
    step: Callable[[int], None],
) -> Iterator[CollectedExchange]:
    """Yield a bot's replies in the order of the prompts; asks only what is not on the disk."""
    asked = [bot.ask(prompt.text) for prompt in prompts]
    seeds = [seed_of(prompt.text, options.seed) for prompt in prompts]
    decoding = options.decoding
    keys = []  # a reply is named by all that decides it
    for chat, seed in zip(asked, seeds, strict=True):
        seeded = seed if decoding.strategy == "nucleus" else 0
        parts = [bot.generator.checksum, chat.text, asdict(decoding), seeded]
        keys.append(sha256(json.dumps(parts).encode()).hexdigest()[:32])
    fields = ("key", "text", "finish")
    rows = {
        row["key"]: number
        for number, row in enumerate(journal)
        if isinstance(row, dict) and all(isinstance(row.get(name), str) for name in fields)
    }
    missing = [index for index, key in enumerate(keys) if key not in rows]
    step(len(prompts) - len(missing))
    for start in range(0, len(missing), _BLOCK):
        block = missing[start : start + _BLOCK]
        made = bot.generator.generate(
            [asked[index].text for index in block], decoding, [seeds[index] for index in block]
        )
        results: list[dict[str, str]] = []
        for index, candidates in zip(block, made, strict=True):
            rows[keys[index]] = len(journal) + len(results)
            best = candidates[0]
            results.append({"key": keys[index], "text": best.text, "finish": best.finish})
        journal.append({"results": results})
        step(len(prompts) - len(missing) + start + len(block))
    for prompt, chat, key in zip(prompts, asked, keys, strict=True):
        kept = journal[rows[key]]
        yield read_reply(bot, prompt, chat, kept["text"], kept["finish"])


def read_reply(
    bot: Chatbot, prompt: CollectPrompt, asked: ChatPrompt, text: str, finish: str
) -> CollectedExchange:
    """Return the exchange in what a bot wrote."""
    reply = cut_reply(text, asked.speakers)
    ended = "stop" if asked.speakers and reply != text.strip() else finish
    return CollectedExchange(f"{prompt.id}/{bot.name}", prompt.text, reply, bot.name, ended)


def collect_config(options: CollectOptions) -> dict[str, Any]:
    """Return what a record says of the options: the decoding whole, not by its two flags."""
    plain = asdict(options)
    del plain["strategy"], plain["max_tokens"]
    return {**plain, "to": str(options.to) if options.to else None}
