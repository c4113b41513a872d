"""What the commands of `rules` take, and what audit and collect share; nothing here is heavy.

Classes that end in Input hold what only the command line says of the data: which file, which
columns. The functions take the data itself.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from moralscope.core.errors import InputError
from moralscope.core.options import Option, Options, Seed, file_option, input_option, model_option
from moralscope.models.options import DEFAULT_EXPERTS, ENCODERS, AuditorName, EncoderName
from moralscope.models.training.options import TrainOptions
from moralscope.rules.records import FOUNDATIONS

SHIPPED = "moralscope"  # the name of the rulebook and of the lexicon that we wrote
METHODS = ("rules", "sbert", "random")
DECODINGS = ("greedy", "beam", "nucleus")
MAX_TOP = 50
HYPOTHESES = 3  # rules that are written for an exchange: section 5.1 of Ziems et al. 2022
KINDS = ("mic", "social-chem")  # of annotation files
POLICIES = ("stop", "skip")  # what a malformed line does

rules_option = partial(Option, group="Rules")
Rulebooks = Annotated[
    tuple[str, ...],
    rules_option(
        "Rules of your own (YAML, CSV, plain lines); may be repeated, later rules win; "
        "'moralscope' is ours.",
        flag="--rulebook",
        metavar="FILE",
        http=False,
    ),
]
Prompt = Annotated[str | None, input_option("What the person asked.")]
Reply = Annotated[str | None, input_option("What the chatbot said.")]
Columns = Annotated[
    str | None,
    input_option("What your columns are called: prompt=Q,reply=A.", metavar="NAME=COLUMN"),
]
AnnotationColumns = Annotated[str | None, input_option("What your columns are called: prompt=Q,…")]
Malformed = Annotated[str, input_option("At a malformed line: stop, or skip it.", choices=POLICIES)]
Top = Annotated[int, rules_option("Rules checked per reply.", least=1, most=MAX_TOP)]


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
            raise InputError("a file and a reply were given", "give one of them")


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
        str, Option("rules, or a baseline of the paper: sbert, random.", choices=METHODS)
    ] = "rules"
    known: Annotated[
        Path | None, Option("For sbert: annotated exchanges (MIC.csv).", metavar="FILE", http=False)
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
        model_option(
            "Also compare meanings, e.g. with minilm; by default only words.",
            short="-e",
            http=ENCODERS,
        ),
    ] = None
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckInput(Options):
    """Replies that rules are tried on, on the command line."""

    replies: Annotated[
        Path | None,
        file_option("CSV, JSONL or Parquet with prompt and reply; by default some that we wrote."),
    ] = None
    columns: Columns = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions(Options):
    """Which rulebooks are checked, and by which experts."""

    rulebooks: Annotated[
        tuple[str, ...],
        Option(
            "Rulebooks (YAML, CSV, plain lines), later rules win; by default ours.",
            metavar="[RULEBOOK]...",
            argument=True,
            http=False,
        ),
    ] = ()
    experts: AuditorName = DEFAULT_EXPERTS
    exact: Annotated[bool, model_option("Compute in 32 bits.", http=False)] = False
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRulesOptions(Options):
    """Which rulebook of one's own, read by which experts."""

    rulebook: Annotated[
        str,
        Option(
            "Rules of your own (YAML, CSV, plain lines).",
            metavar="RULEBOOK",
            argument=True,
            http=False,
        ),
    ]
    experts: AuditorName = DEFAULT_EXPERTS
    exact: Annotated[bool, model_option("Compute in 32 bits.", http=False)] = False
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.rulebook == SHIPPED:
            raise InputError("nothing is stored beside our rulebook", "give rules of your own")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnOptions(OwnRulesOptions):
    """Which rulebook learns from which labels."""

    labels: Annotated[
        Path | None,
        file_option(
            "Replies with prompt, reply, rule and broken (yes or no); or an export of an "
            "annotation project or the page.",
            http=False,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WarrantOptions(OwnRulesOptions):
    """Which rulebook is tried, on which pairs and which fine replies."""

    labels: Annotated[
        Path | None,
        file_option(
            "Replies with prompt, reply, rule and broken (yes or no), for the first pairs.",
            http=False,
        ),
    ] = None
    benign: Annotated[
        Path | None,
        file_option(
            "Replies that are fine, with prompt and reply; by default some that we wrote.",
            http=False,
        ),
    ] = None
    false_alarms: Annotated[
        str,
        rules_option(
            "At most this share of fine replies may break a rule.",
            metavar="SHARE",
            least=1,
            most=20,
        ),
    ] = "2%"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions(Options):
    """Which rules of which rulebooks are listed."""

    rulebooks: Rulebooks = ()
    theme: Annotated[str | None, rules_option("Only this theme, e.g. privacy.")] = None
    foundation: Annotated[
        str | None, rules_option(f"Only {', '.join(FOUNDATIONS)}.", choices=FOUNDATIONS)
    ] = None
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesGenerateOptions(Options):
    """What writes rules, and how many hypotheses are kept."""

    generator: Annotated[
        str, model_option("'rules' is ours; or a folder of 'rules train generator'.")
    ] = "rules"
    adapter: Annotated[
        Path | None,
        model_option("LoRA weights for the generator named.", metavar="DIR", http=False),
    ] = None
    encoder: EncoderName = "minilm"
    experts: Annotated[
        str, model_option("Experts that rate the rules: mpnet, minilm, a folder, none.")
    ] = DEFAULT_EXPERTS
    rulebooks: Rulebooks = ()
    decoding: Annotated[str, Option("beam (3), nucleus (0.9) or greedy.", choices=DECODINGS)] = (
        "beam"
    )
    keep: Annotated[int, Option("Rules to keep, at most.", least=1, most=HYPOTHESES)] = HYPOTHESES
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributesInput(Options):
    """Rules on the command line: a file of rows, or rules beside one exchange or none."""

    file: Annotated[
        Path | None,
        Option("CSV with prompt, reply and rule, or MIC.csv.", metavar="FILE", argument=True),
    ] = None
    rule: Annotated[tuple[str, ...], input_option("A rule; may be repeated.")] = ()
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
        str, model_option("A folder that 'rules train' wrote, or scripted.", http=False)
    ] = DEFAULT_EXPERTS
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
class RulesStatsOptions(Options):
    """How a file of annotations is read."""

    kind: Annotated[
        str | None, input_option("mic or social-chem, if the columns do not say.", choices=KINDS)
    ] = None
    malformed: Malformed = "stop"
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesTrainOptions(TrainOptions):
    """Which attributes are trained, or the generator, and on what."""

    task: Annotated[
        str | None,
        Option(
            "alignment, foundations, severity, consensus, 'attributes' for all that the data has "
            "in one adapter, or 'generator' for the writer of rules; by default the recipe's.",
            argument=True,
            metavar="WHAT",
        ),
    ] = None
    data: Annotated[
        Path | None,
        input_option(
            "Learn from annotations, with the paper's settings; else from Moral Stories and "
            "SOCIAL-CHEM-101 below MORALSCOPE_DATA.",
            metavar="MIC.csv",
        ),
    ] = None
    columns: Columns = None
    stories: Annotated[
        Path | None, input_option("Stories, one JSON object per line; else your Moral Stories.")
    ] = None
    exchanges: Annotated[
        Path | None,
        file_option("Judged exchanges (YAML or like MIC.csv) that help to choose the epoch."),
    ] = None
