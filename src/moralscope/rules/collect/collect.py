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
from moralscope.core.records import Decoding, ModelRef, RunRecord
from moralscope.io.journal import Journal
from moralscope.models.language import generator_refs
from moralscope.models.language.chat_template import model_folder
from moralscope.models.language.decoding import check_request
from moralscope.models.store import Progress
from moralscope.rules.collect.chatbots import (
    Chatbot,
    ChatPrompt,
    CollectedExchange,
    Prompt,
    bot_label,
    count_steps,
    cut_reply,
    filters_run,
    is_local,
    prepare_bot,
    seed_of,
)
from moralscope.rules.collect.files import PromptFile, check_place, write_exchanges
from moralscope.rules.collect.filters import Filters, Sieve, load_filters
from moralscope.rules.collect.lexicons import Lexicon
from moralscope.rules.collect.options import ZERO_SHOT, CollectOptions
from moralscope.rules.exchanges import blocks
from moralscope.rules.records import first_notes

__all__ = ["CollectOptions", "Filters", "check_options", "collect", "prepare"]

Report = Callable[[int, int], None]
LoadBot = Callable[[str, CollectOptions], Chatbot]
REPLIES_ARE_A_MODELS = "replies are what these chatbots said, they are not moral advice"
UNTRAINED = (
    "sufficiency and moral content are told by similarities alone: look at a sample, or train "
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

    Examples
    --------
    >>> prepare(CollectOptions(bots=("scripted",), filters="none")).refs
    ()
    """
    check_options(options)
    for name in filter(is_local, options.bots):
        model_folder(name, progress=progress)
    return load_filters(options, progress, cached=cached)


def collect(
    prompts: PromptFile | Sequence[Prompt],
    options: CollectOptions | None = None,
    *,
    ready: Filters | None = None,
    load: LoadBot = prepare_bot,
    report: Report | None = None,
    **given: Any,
) -> RunRecord:
    """Ask every chatbot every prompt, filter the replies, and write what is kept.

    Parameters
    ----------
    prompts
        What `rules.collect.files.read_prompts` returns, or prompts.
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
    >>> asked = [Prompt("Do you steal?", "1")]
    >>> record = collect(asked, bots=("scripted",), filters="none", lexicons=())
    >>> [(row.id, row.prompt, row.dropped) for row in record.results]
    [('1/scripted', 'Do you steal?', None)]
    """
    chosen = chosen_options(CollectOptions, options, given)
    check_options(chosen)
    found = prompts if isinstance(prompts, PromptFile) else _given(prompts)
    if chosen.to and chosen.to.resolve() == Path(found.source).resolve():
        raise InputError(f"{chosen.to} holds the prompts", "choose another --to")
    filters = ready or prepare(chosen)
    asked, counts = _fit_prompts(found, filters.prompt_lexicons)
    rows, bots = _ask_all(asked, chosen, filters.sieve, load, report)
    if chosen.to is not None:
        write_exchanges(rows, chosen.to)
    return RunRecord(
        "collect",
        seed=chosen.seed,
        config={
            **collect_config(chosen),
            "source": found.source,
            "options": plain_options(chosen),
        },
        models=[*filters.refs, *(ref for bot in bots for ref in bot.refs)],
        results=rows,
        statistics={
            "prompts": counts,
            "steps": count_steps(rows, [bot.name for bot in bots], filters_run(chosen)),
            **_statistics(rows),
            "forms": {bot.name: bot.form for bot in bots},
            "usage": {bot.name: bot.usage for bot in bots if bot.usage is not None},
        },
        warnings=_warnings(rows, chosen, [note for bot in bots for note in bot.notes]),
    )


@dataclass(frozen=True, slots=True)
class _Heard:
    """What a record says of a chatbot that was asked."""

    name: str
    form: str
    refs: tuple[ModelRef, ...]
    notes: tuple[str, ...]
    usage: Any


def _ask_all(
    prompts: Sequence[Prompt],
    options: CollectOptions,
    sieve: Sieve,
    load: LoadBot,
    report: Report | None,
) -> tuple[list[CollectedExchange], list[_Heard]]:
    """Ask one chatbot after the other; only one is in memory."""
    journal = _journal(options)
    rows: list[CollectedExchange] = []
    heard: list[_Heard] = []
    total = len(options.bots) * len(prompts)
    try:
        with journal.told_on_interrupt("replies"):
            for name in options.bots:
                bot = load(name, options)
                step = _step(report, len(heard) * len(prompts), total)
                replies = _replies(bot, prompts, options, journal, step)
                rows += [row for block in blocks(replies, _SIFTED) for row in sieve.sift(block)]
                model = bot.generator
                notes = tuple(f"{bot.name}: {line}" for line in model.warnings)
                heard.append(_Heard(bot.name, bot.form, generator_refs(model), notes, model.usage))
                del bot, model, replies
    finally:
        journal.close()
    return rows, heard


def _journal(options: CollectOptions) -> Journal:
    """Open the file of replies beside the exchanges; what hinders is told in terms of --to."""
    place = options.to.with_name(f"{options.to.name}.replies") if options.to else None
    try:
        return Journal(place, {"job": "collect"}, fresh=not options.resume)
    except InputError as error:
        raise InputError(error.problem, error.remedy.replace("--out", "--to")) from error


def _given(prompts: Sequence[Prompt]) -> PromptFile:
    if not prompts:
        raise InputError("there are no prompts", "give at least one")
    return PromptFile("given", prompts, len(prompts))


def _fit_prompts(
    found: PromptFile, lexicons: Sequence[Lexicon]
) -> tuple[list[Prompt], dict[str, int]]:
    """Return the prompts that hold a word of every lexicon, as their answers do, and the counts."""
    asked = [prompt for prompt in found.prompts if prompt.meets(lexicons)]
    counts = {"read": found.read, **found.left_out}
    if lexicons:
        counts["without a keyword"] = len(found.prompts) - len(asked)
    if not asked:
        raise InputError(
            f"no prompt of {found.source} holds a word of every --prompt-lexicon",
            "give other prompts or lexicons",
        )
    return asked, {**counts, "asked": len(asked)}


def _replies(
    bot: Chatbot,
    prompts: Sequence[Prompt],
    options: CollectOptions,
    journal: Journal,
    step: Callable[[int], None],
) -> Iterator[CollectedExchange]:
    """Yield a bot's replies in the order of the prompts; asks only what is not on the disk."""
    asked = [bot.ask(prompt.text) for prompt in prompts]
    seeds = [seed_of(prompt.text, options.seed) for prompt in prompts]
    keys = [_key(bot, *pair, options.decoding) for pair in zip(asked, seeds, strict=True)]
    fields = ("key", "text", "finish")
    places = {
        row["key"]: place
        for place, row in enumerate(journal)
        if isinstance(row, dict) and all(isinstance(row.get(name), str) for name in fields)
    }
    missing = [place for place, key in enumerate(keys) if key not in places]
    step(len(prompts) - len(missing))
    for start in range(0, len(missing), _BLOCK):
        block = missing[start : start + _BLOCK]
        made = bot.generator.generate(
            [asked[place].text for place in block],
            options.decoding,
            [seeds[place] for place in block],
        )
        results: list[dict[str, str]] = []
        for place, candidates in zip(block, made, strict=True):
            places[keys[place]] = len(journal) + len(results)
            best = candidates[0]
            results.append({"key": keys[place], "text": best.text, "finish": best.finish})
        journal.append({"results": results})
        step(len(prompts) - len(missing) + start + len(block))
    for prompt, given, key in zip(prompts, asked, keys, strict=True):
        kept = journal[places[key]]
        yield read_reply(bot, prompt, given, kept["text"], kept["finish"])


def read_reply(
    bot: Chatbot, prompt: Prompt, asked: ChatPrompt, text: str, finish: str
) -> CollectedExchange:
    """Return the exchange in what a bot wrote."""
    reply = cut_reply(text, asked.speakers)
    ended = "stop" if asked.speakers and reply != text.strip() else finish
    return CollectedExchange(f"{prompt.id}/{bot.name}", prompt.text, reply, bot.name, ended)


def _key(bot: Chatbot, asked: ChatPrompt, seed: int, decoding: Decoding) -> str:
    """Name a reply by all that decides it."""
    seeded = seed if decoding.strategy == "nucleus" else 0
    parts = [bot.generator.checksum, asked.text, asdict(decoding), seeded]
    return sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _step(report: Report | None, before: int, total: int) -> Callable[[int], None]:
    return lambda done: report(before + done, total) if report else None


def collect_config(options: CollectOptions) -> dict[str, Any]:
    """Return what a record says of the options: the decoding whole, not by its two flags."""
    plain = asdict(options)
    del plain["strategy"], plain["max_tokens"]
    return {**plain, "to": str(options.to) if options.to else None}


def _statistics(rows: Sequence[CollectedExchange]) -> dict[str, Any]:
    kept = [row for row in rows if row.dropped is None]
    keywords = Counter(word for row in kept for word in row.keywords)
    return {
        "kept": len(kept),
        "dropped": Counter(row.dropped for row in rows if row.dropped is not None),
        "categories": Counter(name for row in kept for name in row.categories),
        "keywords": dict(keywords.most_common(_TOP)),
        "cut": sum(row.finish == "length" for row in rows),
    }


def _warnings(
    rows: Sequence[CollectedExchange], options: CollectOptions, notes: Sequence[str]
) -> list[str]:
    lines = [REPLIES_ARE_A_MODELS]
    if options.filters == ZERO_SHOT:
        lines.append(UNTRAINED)
    cut = sum(row.finish == "length" for row in rows)
    if cut:
        most = options.decoding.max_tokens
        lines.append(f"{cut:,} of {len(rows):,} replies were cut at {most} tokens")
    if rows and all(row.dropped is not None for row in rows):
        lines.append("no exchange was kept")
    return [*lines, *first_notes(notes)]
