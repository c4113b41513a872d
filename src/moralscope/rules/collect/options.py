"""What `collect` and `collect-train` take; nothing here is computed or heavy."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from moralscope.core.errors import InputError
from moralscope.core.options import Option, Options, Seed
from moralscope.core.records import Decoding
from moralscope.models.options import ENCODERS
from moralscope.models.training.options import TrainOptions
from moralscope.rules.options import SHIPPED, Columns

FORMS = ("auto", "chat", "names", "plain")
ZERO_SHOT = "zero-shot"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectInput(Options):
    """Prompts on the command line."""

    prompts: Annotated[
        tuple[str, ...],
        Option(
            "One prompt per line, or CSV, JSONL or Parquet with 'prompt'; several, a folder, a "
            "glob or a URL are a corpus.",
            metavar="PROMPTS",
            argument=True,
        ),
    ]
    columns: Annotated[
        str | None, Option("What your columns are called: prompt=Q,id=number.", group="Input")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectOptions(Options):
    """Whom to ask, how, and what to keep.

    `decoding` is for Python alone and takes the place of `strategy` and `max_tokens`. The replies
    lie beside `to`, so that no bot is asked twice.
    """

    bots: Annotated[
        tuple[str, ...],
        Option(
            "smollm2, gemma3-270m, scripted, a folder, a hub id, or openai:MODEL; may be repeated.",
            flag="--bot",
            short="-b",
            group="Model",
            http=False,
        ),
    ] = field(kw_only=False)
    form: Annotated[
        str,
        Option(
            "How local models are asked: chat (their template), names (two people talk, for "
            "plain language models), plain, or auto.",
            choices=FORMS,
            group="Model",
        ),
    ] = "auto"
    strategy: Annotated[str, Option("greedy, beam or nucleus.", group="Model")] = "greedy"
    max_tokens: Annotated[
        int, Option("Most tokens per reply.", least=1, most=4096, group="Model")
    ] = 100
    decoding: Decoding = None  # type: ignore[assignment]  # never None once it is made
    endpoint: Annotated[
        str | None,
        Option("Where openai:MODEL is served.", metavar="URL", group="Model", http=False),
    ] = None
    lexicons: Annotated[
        tuple[str, ...],
        Option(
            "A reply must contain a word from it: eMFD .csv, MFD .dic, MPQA .tff, 'moralscope' "
            "(ours), or 'none'; may be repeated.",
            flag="--lexicon",
            metavar="FILE",
            group="Filters",
            http=False,
        ),
    ] = (SHIPPED,)
    prompt_lexicons: Annotated[
        tuple[str, ...],
        Option(
            "The same for prompts.",
            flag="--prompt-lexicon",
            metavar="FILE",
            group="Filters",
            http=False,
        ),
    ] = ()
    filters: Annotated[
        str,
        Option(
            "zero-shot, none, or a folder of 'collect-train'.",
            group="Filters",
            http=(ZERO_SHOT, "none", "scripted"),
        ),
    ] = ZERO_SHOT
    encoder: Annotated[
        str, Option("Encoder of the zero-shot filters.", short="-e", group="Filters", http=ENCODERS)
    ] = "minilm"
    threshold: Annotated[float, Option("Keep replies likelier than this.", group="Filters")] = 0.5
    to: Annotated[
        Path | None,
        Option("Exchanges: .jsonl, .csv or .parquet.", metavar="FILE", group="Output", http=False),
    ] = None
    resume: Annotated[
        bool,
        Option(
            "Use the replies saved next to --to, or ask again; resume the run in --out DIR.",
            flag="--resume/--no-resume",
            group="Output",
            http=False,
        ),
    ] = True
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not self.bots:
            raise InputError("no chatbot was named", "name one, e.g. --bot smollm2")
        if not 0 <= self.threshold < 1:
            raise InputError(f"threshold is {self.threshold}", "give 0 to below 1")
        for name in ("lexicons", "prompt_lexicons"):
            lexicons = getattr(self, name)
            if "none" in lexicons:
                if len(lexicons) > 1:
                    raise InputError("'none' excludes other lexicons", "leave one of them out")
                object.__setattr__(self, name, ())
        if self.decoding is None:
            decoding = Decoding(self.strategy, max_tokens=self.max_tokens, sentence=False)
            object.__setattr__(self, "decoding", decoding)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterTrainOptions(TrainOptions):
    """Which labelled replies the filters of `collect` are trained on."""

    labelled: Annotated[
        Path,
        Option(
            "Columns prompt, reply, sufficient, moral (0 or 1, or votes: 1|0) and chatbot.",
            argument=True,
            metavar="LABELLED.csv",
        ),
    ]
    columns: Columns = None
