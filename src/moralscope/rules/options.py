"""What audit, collect and the commands of `rules` take; nothing here is computed or heavy.

Classes that end in Input hold what only the command line says of the data: which file, which
columns. The functions take the data itself.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from moralscope.core.errors import InputError
from moralscope.core.options import Option, Options, Seed
from moralscope.core.records import Decoding
from moralscope.models.options import (
    ENCODERS,
    GENERATORS,
    EncoderName,
    ExpertsName,
    SteerFile,
)
from moralscope.models.training.options import TrainOptions
from moralscope.rules.records import FOUNDATIONS

SHIPPED = "moralscope"  # the name of the rulebook and of the lexicon that we wrote
METHODS = ("rules", "sbert", "random")
DECODINGS = ("greedy", "beam", "nucleus")
MAX_TOP = 50
HYPOTHESES = 3  # rules that are written for an exchange: section 5.1 of Ziems et al. 2022
FORMS = ("auto", "chat", "names", "plain")
KINDS = ("mic", "social-chem")  # of annotation files
POLICIES = ("stop", "skip")  # what a malformed line does
ZERO_SHOT = "zero-shot"
EXPLAIN = ("doubtful", "all")  # which replies rules are asked about
ON_UNREAD = ("pass", "flag", "block")  # what becomes of a reply that was not read whole
MAX_BUDGET = 0.5  # of false alarms
WEAK_AUDITOR = "minilm"  # experts that miss examples of ours: told where asked for, not offered

Rulebooks = Annotated[
    tuple[str, ...],
    Option(
        "Rules of your own (YAML, CSV, plain lines); again for more, over it; 'moralscope' is "
        "ours.",
        flag="--rulebook",
        metavar="FILE",
        group="Rules",
        http=False,
    ),
]
Prompt = Annotated[str | None, Option("What the person asked.", group="Input")]
Reply = Annotated[str | None, Option("What the chatbot said.", group="Input")]
Columns = Annotated[
    str | None,
    Option("What your columns are called: prompt=Q,reply=A.", metavar="NAME=COLUMN", group="Input"),
]


AnnotationColumns = Annotated[
    str | None, Option("Where names differ: prompt=question,reply=answer,…", group="Input")
]
Malformed = Annotated[
    str, Option("What a malformed line does: stop, or skip it.", choices=POLICIES, group="Input")
]
Top = Annotated[int, Option("Rules asked about a reply.", least=1, most=MAX_TOP, group="Rules")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeInput(Options):
    """Exchanges on the command line: a file, or one prompt and reply."""

    file: Annotated[
        Path | None,
        Option("CSV, JSONL or Parquet with prompt and reply.", metavar="FILE", argument=True),
    ] = None
    prompt: Prompt = None
    reply: Reply = None
    columns: Columns = None

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.file is None and self.reply is None:
            raise InputError("there is no reply", "give FILE, or --prompt and --reply")
        if self.file is not None and (self.prompt is not None or self.reply is not None):
            raise InputError("a file and a reply", "give FILE, or --prompt and --reply, not both")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditInput(Options):
    """What is audited on the command line: a file, a corpus, or one prompt and reply."""

    file: Annotated[
        tuple[str, ...],
        Option(
            "CSV, JSONL or Parquet with prompt and reply; several, a folder, a glob or a URL are "
            "a corpus.",
            metavar="FILE",
            argument=True,
        ),
    ] = ()
    named_files: Annotated[
        tuple[str, ...],
        Option(
            "The same as FILE; - reads stdin.",
            flag="--file",
            short="-f",
            metavar="FILE",
            group="Input",
        ),
    ] = ()
    prompt: Prompt = None
    reply: Reply = None
    against: Annotated[
        Path | None, Option("Another bot's replies to the prompts.", metavar="FILE", group="Input")
    ] = None
    benign: Annotated[
        Path | None,
        Option("Replies that are fine, for --false-alarms.", metavar="FILE", group="Input"),
    ] = None
    columns: Columns = None

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.file and self.named_files:
            raise InputError("FILE and --file were given", "give FILE or --file, not both")
        object.__setattr__(self, "file", self.file or self.named_files)

    def one(self) -> ExchangeInput:
        """Return the one file, or the one exchange; wrong ones are refused."""
        path = Path(self.file[0]) if self.file else None
        if self.benign is not None and path is None and self.reply is None:
            path = self.benign  # nothing else is asked about: they are audited themselves
        return ExchangeInput(file=path, prompt=self.prompt, reply=self.reply, columns=self.columns)

    def check_corpus(self) -> None:
        """Refuse what a corpus run cannot use."""
        if self.against is not None or self.prompt is not None or self.reply is not None:
            raise InputError(
                "--against, --prompt and --reply go with one run record", "leave them out"
            )
        if self.benign is not None:
            raise InputError(
                "--benign goes with one run record",
                "set the limit first, and give the corpus its file with --config",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions(Options):
    """What an audit uses and asks for.

    Examples
    --------
    >>> AuditOptions().top
    5
    """

    rulebooks: Rulebooks = ()
    experts: ExpertsName = "mpnet"
    encoder: Annotated[
        str | None,
        Option("What finds rules; else the same base.", short="-e", group="Model", http=ENCODERS),
    ] = None
    top: Top = 5
    general: Annotated[
        bool,
        Option("With rules of your own alone: flag replies that read as bad, too.", group="Rules"),
    ] = False
    severity: Annotated[
        float | None,
        Option("Broken rules less severe than this flag nothing.", least=1, most=5, group="Rules"),
    ] = None
    expertise: Annotated[
        bool, Option("Flag advice that only experts should give, too.", group="Rules")
    ] = False
    explain: Annotated[
        str,
        Option(
            "Ask about rules for doubtful replies only, or for all.", choices=EXPLAIN, group="Rules"
        ),
    ] = "doubtful"
    on_unread: Annotated[
        str,
        Option(
            "What becomes of a reply that could not be read whole: pass with a note, flag, block.",
            choices=ON_UNREAD,
            group="Rules",
        ),
    ] = "pass"
    false_alarms: Annotated[
        str | None,
        Option(
            "Flag at most this share of fine replies, e.g. 1%: --benign has yours.",
            metavar="SHARE",
            least=1,
            most=20,
            group="Rules",
        ),
    ] = None
    revise: Annotated[
        bool, Option("Also write a better reply for each flagged one.", group="More")
    ] = False
    generator: Annotated[
        str,
        Option("What writes it: smollm2, a folder, openai:MODEL.", group="More", http=GENERATORS),
    ] = "smollm2"
    steer: SteerFile = None
    generate: Annotated[
        bool, Option("Also write rules for each exchange.", group="More", http=False)
    ] = False
    writer: Annotated[
        str, Option("What writes rules: rules, a folder, scripted.", group="More", http=False)
    ] = "rules"
    exact: Annotated[
        bool,
        Option("Compute in 32 bits: on a CPU 8 are usual and faster.", group="Model", http=False),
    ] = False
    config: Annotated[
        Path | None,
        Option(
            "Other thresholds (TOML); --false-alarms writes its limit there.",
            metavar="FILE",
            group="Rules",
            http=False,
        ),
    ] = None
    gate: Annotated[
        str | None,
        Option(
            'Exit with 3 unless it holds, e.g. "flagged<=0.02"; over HTTP statistics.gate.met '
            "says so.",
            metavar="EXPR",
            least=1,
            most=500,
            group="Output",
        ),
    ] = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.steer is not None and not self.revise:
            raise InputError("--steer pushes what revises replies", "add --revise")
        if self.false_alarms is not None:
            parse_share(self.false_alarms)

    @property
    def encoder_name(self) -> str:
        """The encoder that compares texts: the one named, else that of the experts."""
        if self.encoder:
            return self.encoder
        return self.experts if self.experts in ("mpnet", "minilm", "scripted") else "minilm"


def parse_share(text: str) -> float:
    """Read a share: 1% or 0.01.

    Examples
    --------
    >>> parse_share("1%"), parse_share("0.05")
    (0.01, 0.05)
    """
    number, percent, rest = text.strip().partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = 0.0
    if rest or not 0 < share <= MAX_BUDGET:
        raise InputError(f"'{text[:20]}' is no share of false alarms", "give 1% or 0.01, up to 50%")
    return share


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveOptions(Options):
    """What is searched, and how: `sbert` and `random` are the paper's baselines.

    Examples
    --------
    >>> RetrieveOptions().method
    'rules'
    """

    rulebooks: Rulebooks = ()
    encoder: EncoderName = "minilm"
    top: Top = 5
    method: Annotated[
        str,
        Option("rules, or a baseline of the paper: sbert, random.", choices=METHODS, group="More"),
    ] = "rules"
    known: Annotated[
        Path | None,
        Option(
            "For sbert: annotated exchanges (MIC.csv).", metavar="FILE", group="More", http=False
        ),
    ] = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.known is not None and self.method != "sbert":
            raise InputError("--known is for --method sbert only", "leave it out")


@dataclass(frozen=True, slots=True, kw_only=True)
class LintOptions(Options):
    """Which rulebooks a reader objects to, by words alone or by meanings too."""

    rulebooks: Rulebooks = ()
    encoder: Annotated[
        str | None,
        Option(
            "Compare meanings too, e.g. minilm; else words.",
            short="-e",
            group="Model",
            http=ENCODERS,
        ),
    ] = None
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckInput(Options):
    """Replies that rules are tried on, on the command line."""

    replies: Annotated[
        Path | None,
        Option(
            "CSV, JSONL or Parquet with prompt and reply; else some that we wrote.",
            metavar="FILE",
            group="Input",
        ),
    ] = None
    columns: Columns = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions(Options):
    """Which rulebooks are checked, and by which experts."""

    rulebooks: Annotated[
        tuple[str, ...],
        Option(
            "Rules (YAML, CSV, plain lines), several laid over each other; none: ours.",
            metavar="[RULEBOOK]...",
            argument=True,
            http=False,
        ),
    ] = ()
    experts: ExpertsName = "mpnet"
    exact: Annotated[bool, Option("Compute in 32 bits.", group="Model", http=False)] = False
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions(Options):
    """Which rules of which rulebooks are listed."""

    rulebooks: Rulebooks = ()
    theme: Annotated[str | None, Option("Only this theme, e.g. privacy.", group="Rules")] = None
    foundation: Annotated[
        str | None, Option(f"Only {', '.join(FOUNDATIONS)}.", choices=FOUNDATIONS, group="Rules")
    ] = None
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateOptions(Options):
    """What writes rules, and how many hypotheses are kept.

    Examples
    --------
    >>> GenerateOptions().decoding
    'beam'
    """

    generator: Annotated[
        str, Option("'rules' is ours; or a folder of 'rules train generator'.", group="Model")
    ] = "rules"
    adapter: Annotated[
        Path | None,
        Option("LoRA weights for the generator named.", metavar="DIR", group="Model", http=False),
    ] = None
    encoder: EncoderName = "minilm"
    experts: Annotated[
        str, Option("What judges the rules written: mpnet, minilm, a folder, none.", group="Model")
    ] = "mpnet"
    rulebooks: Rulebooks = ()
    decoding: Annotated[
        str, Option("beam (3), nucleus (0.9) or greedy.", choices=DECODINGS, group="More")
    ] = "beam"
    keep: Annotated[
        int, Option("Hypotheses kept, at most.", least=1, most=HYPOTHESES, group="More")
    ] = HYPOTHESES
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributesInput(Options):
    """Rules on the command line: a file of rows, or rules beside one exchange or none."""

    file: Annotated[
        Path | None,
        Option("CSV with prompt, reply and rule, or MIC.csv.", metavar="FILE", argument=True),
    ] = None
    rule: Annotated[tuple[str, ...], Option("A rule; again for more.", group="Input")] = ()
    prompt: Prompt = None
    reply: Reply = None
    columns: Columns = None

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if (self.file is None) == (not self.rule) or (
            self.file is not None and self.reply is not None
        ):
            raise InputError(
                "rules come from a file or from the command line",
                "give FILE, or --rule (with --prompt and --reply), not both",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributesOptions(Options):
    """Which experts estimate the attributes of rules."""

    experts: Annotated[
        str, Option("A folder that 'rules train' wrote, or scripted.", group="Model", http=False)
    ] = "mpnet"
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationInput(Options):
    """A file of annotations on the command line."""

    file: Annotated[
        Path | None,
        Option(
            "MIC.csv or SOCIAL-CHEM-101; else MORALSCOPE_DATA/mic/MIC.csv.",
            metavar="[FILE]",
            argument=True,
        ),
    ] = None
    columns: AnnotationColumns = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsOptions(Options):
    """How a file of annotations is read."""

    kind: Annotated[
        str | None,
        Option("mic or social-chem, where the columns do not say.", choices=KINDS, group="Input"),
    ] = None
    malformed: Malformed = "stop"
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectInput(Options):
    """Prompts on the command line."""

    prompts: Annotated[
        tuple[str, ...],
        Option(
            "One prompt a line, or CSV, JSONL or Parquet with 'prompt'; several, a folder, a "
            "glob or a URL are a corpus.",
            metavar="PROMPTS",
            argument=True,
        ),
    ]
    columns: Annotated[
        str | None, Option("What they are called: prompt=Q,id=number.", group="Input")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectOptions(Options):
    """Whom to ask, how, and what to keep.

    `decoding` is for Python alone and takes the place of `strategy` and `max_tokens`. The replies
    lie beside `to`, so that no bot is asked twice.

    Examples
    --------
    >>> CollectOptions(bots=("scripted",)).decoding.strategy
    'greedy'
    """

    bots: Annotated[
        tuple[str, ...],
        Option(
            "smollm2, gemma3-270m, scripted, a folder, a hub id, or openai:MODEL; again for more.",
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
    max_tokens: Annotated[int, Option("Of one reply.", least=1, most=4096, group="Model")] = 100
    decoding: Decoding = None  # type: ignore[assignment]  # never None once it is made
    endpoint: Annotated[
        str | None,
        Option("Where openai:MODEL is served.", metavar="URL", group="Model", http=False),
    ] = None
    lexicons: Annotated[
        tuple[str, ...],
        Option(
            "A reply must hold a word of it: eMFD .csv, MFD .dic, MPQA .tff, 'moralscope' "
            "(ours), or 'none'; again for more.",
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
        str, Option("What zero-shot filters read with.", short="-e", group="Filters", http=ENCODERS)
    ] = "minilm"
    threshold: Annotated[float, Option("Keep what is likelier than this.", group="Filters")] = 0.5
    to: Annotated[
        Path | None,
        Option(
            "The exchanges: .jsonl, .csv or .parquet.", metavar="FILE", group="Output", http=False
        ),
    ] = None
    resume: Annotated[
        bool,
        Option(
            "Use the replies beside --to, or ask anew; go on with the run in --out DIR.",
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
        for name, given in (("lexicons", self.lexicons), ("prompt_lexicons", self.prompt_lexicons)):
            if "none" in given:
                if len(given) > 1:
                    raise InputError("'none' stands alone", "or name lexicons without it")
                object.__setattr__(self, name, ())
        if self.decoding is None:
            told = Decoding(self.strategy, max_tokens=self.max_tokens, sentence=False)
            object.__setattr__(self, "decoding", told)


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesTrainOptions(TrainOptions):
    """Which attributes are trained, or the generator, and on what."""

    task: Annotated[
        str | None,
        Option(
            "alignment, foundations, severity, consensus, 'attributes' for all that the data has "
            "in one adapter, or 'generator' for what writes rules; or what the recipe says.",
            argument=True,
            metavar="WHAT",
        ),
    ] = None
    data: Annotated[
        Path | None,
        Option(
            "Learn from annotations, with the paper's settings; else from Moral Stories and "
            "SOCIAL-CHEM-101 below MORALSCOPE_DATA.",
            metavar="MIC.csv",
            group="Input",
        ),
    ] = None
    columns: Columns = None
    stories: Annotated[
        Path | None,
        Option("Stories, one JSON object a line; else your copy of Moral Stories.", group="Input"),
    ] = None
    exchanges: Annotated[
        Path | None,
        Option(
            "Judged exchanges (YAML or like MIC.csv) that help to choose the epoch.",
            metavar="FILE",
            group="Input",
        ),
    ] = None


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
