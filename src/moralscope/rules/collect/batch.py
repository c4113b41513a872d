"""Exchanges collected over a corpus: one chatbot is asked, and its replies are filtered."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc

from moralscope.batch.columns import arrow_schema
from moralscope.batch.job import Batch, BatchJob, Columns, Prepared, read_each
from moralscope.batch.parts import LISTED, Parts, count_true
from moralscope.batch.types import Outcome
from moralscope.core.errors import InputError
from moralscope.core.options import plain_options
from moralscope.core.records import to_plain
from moralscope.models.language import generator_refs
from moralscope.models.store import Progress
from moralscope.rules.collect.chatbots import (
    MAX_PROMPT,
    STEPS,
    CollectedExchange,
    CollectPrompt,
    CollectStatistics,
    filters_run,
    prepare_bot,
    seed_of,
    steps_of,
)
from moralscope.rules.collect.collect import (
    REPLIES_ARE_A_MODELS,
    UNTRAINED,
    collect_config,
    prepare,
    read_reply,
)
from moralscope.rules.collect.options import ZERO_SHOT, CollectOptions
from moralscope.stats.streams import Frequent

NOT_ASKED = "prompt without a keyword"  # what `dropped` says of a prompt that no bot was asked
_WRITES = arrow_schema(CollectedExchange, ("id", "prompt"))


class CollectBatch(BatchJob):
    """Asks a chatbot and filters what it replies; what is dropped stays, with the reason."""

    name = "collect"
    reads = ("prompt",)
    slow = True

    def __init__(self, options: CollectOptions, columns: Columns | None = None) -> None:
        if len(options.bots) != 1:
            raise InputError(
                f"a corpus run asks one chatbot, not {len(options.bots)}",
                "run it once per chatbot, each into a folder of its own",
            )
        self.options = options
        self.columns = columns or {}

    @property
    def light(self) -> bool:
        filters = self.options.filters in ("none", "scripted") or self.options.encoder == "scripted"
        return self.options.bots == ("scripted",) and filters

    def prepare(self, progress: Progress | None = None) -> Prepared:
        """Load filters and chatbot once."""
        options = self.options
        filters = prepare(options, progress, cached=False)
        bot = prepare_bot(options.bots[0], options)
        lexicons = (*filters.sieve.lexicons, *filters.prompt_lexicons)
        plain = {**collect_config(options), "to": None, "resume": None, "form": bot.form}
        zero_shot = options.filters == ZERO_SHOT
        return Prepared(
            state=None,
            writes=_WRITES,
            decides={**plain, "lexicons": [(some.name, some.checksum) for some in lexicons]},
            config={
                **plain,
                "steps": [STEPS[name] for name in filters_run(options)],
                "options": plain_options(options),
            },
            models=[*filters.refs, *generator_refs(bot.generator)],
            warnings=[REPLIES_ARE_A_MODELS, *([UNTRAINED] if zero_shot else [])],
            statistics={"chatbot": bot.name, "forms": {bot.name: bot.form}},
        )

    def load(self, state: Any) -> None:
        """Load filters and chatbot."""
        options = replace(self.options, to=None)
        self._filters = prepare(options, cached=False)
        self._bot = prepare_bot(options.bots[0], options)

    def __call__(self, batch: Batch) -> dict[str, list[Any]]:
        """Ask the prompts of a batch; those without a word of the prompts' lexicons are not."""
        column = self.theirs("prompt")
        texts = read_each(batch[column], lambda value: _prompt(value, column))
        lexicons = self._filters.prompt_lexicons
        asked = [at for at, text in enumerate(texts) if all(some.find(text) for some in lexicons)]
        prompts = [self._bot.ask(texts[at]) for at in asked]
        seeds = [seed_of(texts[at], self.options.seed) for at in asked]
        made = self._bot.generator.generate(
            [prompt.text for prompt in prompts], self.options.decoding, seeds
        )
        heard = [
            read_reply(
                self._bot, CollectPrompt(texts[at], ""), prompt, some[0].text, some[0].finish
            )
            for at, prompt, some in zip(asked, prompts, made, strict=True)
        ]
        sifted = dict(zip(asked, self._filters.sieve.sift(heard), strict=True))
        unasked = {**dict.fromkeys(_WRITES.names), "chatbot": self._bot.name, "dropped": NOT_ASKED}
        rows = [to_plain(sifted[at]) if at in sifted else unasked for at in range(len(texts))]
        return {name: [row[name] for row in rows] for name in _WRITES.names}

    def sum_up(self, parts: Parts, prepared: Prepared, outcome: Outcome) -> CollectStatistics:
        """Return how many replies passed each step, and what the kept ones are about."""
        chatbot = prepared.statistics["chatbot"]
        tally: Counter[tuple[str, str | None]] = Counter()
        about = {"categories": Frequent(), "keywords": Frequent()}
        cut = unasked = 0
        for table in parts.tables(["dropped", "finish", *about]):
            dropped = table.column("dropped")
            for value in dropped.to_pylist():
                if value == NOT_ASKED:
                    unasked += 1
                else:
                    tally[chatbot, value] += 1
            cut += count_true(pc.equal(table.column("finish"), "length"))
            some = table.filter(pc.is_null(dropped))
            for name, counts in about.items():
                counts.add(word for row in some.column(name).to_pylist() for word in row or ())
        asked = tally.total()
        return CollectStatistics(
            prompts={"read": asked + unasked, NOT_ASKED: unasked, "asked": asked},
            steps=steps_of(tally, [chatbot], filters_run(self.options)),
            kept=tally[chatbot, None],
            dropped={str(why): count for (_, why), count in tally.items() if why is not None},
            categories=dict(about["categories"].most_common(LISTED)),
            keywords=dict(about["keywords"].most_common(LISTED)),
            cut=cut,
            chatbot=chatbot,
            forms=prepared.statistics["forms"],
            corpus=outcome,
            failed=parts.failed(),
        )


def _prompt(value: Any, column: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"no text under '{column[:60]}'")
    if len(value.strip()) > MAX_PROMPT:
        raise ValueError(f"'{column[:60]}' has more than {MAX_PROMPT:,} characters")
    return value.strip()
