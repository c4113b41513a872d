"""What `collect` and `collect-train` take; nothing here is computed or heavy."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

from moralscope.core.errors import InputError
from moralscope.core.options import Option, Options, Seed, input_option, model_option, output_option
from moralscope.core.records import Decoding
from moralscope.models.options import ENCODERS
from moralscope.models.training.options import TrainOptions
from moralscope.rules.options import SHIPPED, Columns

FORMS = ("auto", "chat", "names", "plain")
ZERO_SHOT = "zero-shot"
_filters_option = partial(Option, group="Filters")


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
        str | None, input_option("What your columns are called: prompt=Q,id=number.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectOptions(Options):
    """Whom to ask, how, and what to keep.

    `decoding` is for Python alone and takes the place of `strategy` and `max_tokens`. The replies
    lie beside `to`, so that no bot is asked twice.
    """

    bots: Annotated[
        tuple[str, ...],
        model_option(
            "smollm2, gemma3-270m, scripted, a folder, a hub id, or openai:MODEL; may be repeated.",
            flag="--bot",
            short="-b",
            http=False,
        ),
    ] = field(kw_only=False)
    form: Annotated[
        str,
        model_option(
            "How local models are asked: chat (their template), names (two people talk, for "
            "plain language models), plain, or auto.",
            choices=FORMS,
        ),
    ] = "auto"
    strategy: Annotated[str, model_option("greedy, beam or nucleus.")] = "greedy"
    max_tokens: Annotated[int, model_option("Most tokens per reply.", least=1, most=4096)] = 100
    decoding: Decoding = None  # type: ignore[assignment]  # never None once it is made
    endpoint: Annotated[
        str | None, model_option("Where openai:MODEL is served.", metavar="URL", http=False)
    ] = None
    lexicons: Annotated[
        tuple[str, ...],
        _filters_option(
            "A reply must contain a word from it: eMFD .csv, MFD .dic, MPQA .tff, 'moralscope' "
            "(ours), or 'none'; may be repeated.",
            flag="--lexicon",
            metavar="FILE",
            http=False,
        ),
    ] = (SHIPPED,)
    prompt_lexicons: Annotated[
        tuple[str, ...],
        _filters_option(
            "The same for prompts.", flag="--prompt-lexicon", metavar="FILE", http=False
        ),
    ] = ()
    filters: Annotated[
        str,
        _filters_option(
            "zero-shot, none, or a folder of 'collect-train'.", http=(ZERO_SHOT, "none", "scripted")
        ),
    ] = ZERO_SHOT
    encoder: Annotated[
        str, _filters_option("Encoder of the zero-shot filters.", short="-e", http=ENCODERS)
    ] = "minilm"
    threshold: Annotated[float, _filters_option("Keep replies likelier than this.")] = 0.5
    to: Annotated[
        Path | None,
        output_option("Exchanges: .jsonl, .csv or .parquet.", metavar="FILE", http=False),
    ] = None
    resume: Annotated[
        bool,
        output_option(
            "Use the replies saved next to --to, or ask again; resume the run in --out DIR.",
            flag="--resume/--no-resume",
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
