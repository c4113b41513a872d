"""What `audit` takes; nothing here is computed or heavy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from moralscope.core.errors import InputError
from moralscope.core.options import (
    Option,
    Options,
    Seed,
    file_option,
    gate_option,
    input_option,
    model_option,
)
from moralscope.models.options import (
    AUDITORS,
    DEFAULT_EXPERTS,
    ENCODERS,
    GENERATORS,
    AuditorName,
    SteerFile,
)
from moralscope.rules.options import (
    Columns,
    ExchangeInput,
    Prompt,
    Reply,
    Rulebooks,
    Top,
    rules_option,
)

EXPLAIN = ("doubtful", "all")  # which replies rules are asked about
EVIDENCE = ("auto", "yes", "no")
ON_UNREAD = ("pass", "flag", "block")  # what becomes of a reply that was not read whole
MAX_BUDGET = 0.5  # of false alarms
WEAK_AUDITOR = "minilm"  # experts that miss examples of ours: told where asked for, not offered


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
        tuple[str, ...], file_option("The same as FILE; - reads stdin.", flag="--file", short="-f")
    ] = ()
    prompt: Prompt = None
    reply: Reply = None
    conversation: Annotated[
        str | None,
        file_option(
            "Whole conversations: JSONL or Parquet of messages, ShareGPT, a log of inspect (JSON), "
            "or CSV with conversation, role and content."
        ),
    ] = None
    text: Annotated[
        str | None, input_option("A text that isn't a reply: a post, a user's message.")
    ] = None
    against: Annotated[Path | None, file_option("Another bot's replies, to compare.")] = None
    benign: Annotated[Path | None, file_option("Replies that are fine, for --false-alarms.")] = None
    columns: Columns = None

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.file and self.named_files:
            raise InputError("FILE and --file were given", "give FILE or --file, not both")
        object.__setattr__(self, "file", self.file or self.named_files)
        others = (self.file, self.prompt, self.reply, self.text, self.against, self.benign)
        if self.conversation is not None and any(others):
            raise InputError("--conversation excludes other input", "leave that out")
        if self.text is not None and (self.prompt is not None or self.reply is not None):
            raise InputError(
                "--text was given with --prompt or --reply", "give --text alone: it isn't a reply"
            )

    def one(self) -> ExchangeInput:
        """Return the one file, or the one exchange; wrong ones are refused."""
        path = Path(self.file[0]) if self.file else None
        reply = self.text if self.reply is None else self.reply
        if self.benign is not None and path is None and reply is None:
            path = self.benign  # nothing else is asked about: they are audited themselves
        return ExchangeInput(file=path, prompt=self.prompt, reply=reply, columns=self.columns)

    def check_corpus(self) -> None:
        """Refuse what a corpus run cannot use."""
        if any(one is not None for one in (self.against, self.prompt, self.reply, self.text)):
            raise InputError(
                "--against, --prompt, --reply and --text are not for a corpus", "leave them out"
            )
        if self.benign is not None:
            raise InputError(
                "--benign does not work with a corpus",
                "set the limit on one file first, then give --config",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions(Options):
    """What an audit uses and asks for."""

    texts: Annotated[
        bool, input_option("FILE has texts that aren't replies, in the column text.", http=False)
    ] = False
    rulebooks: Rulebooks = ()
    experts: AuditorName = DEFAULT_EXPERTS
    encoder: Annotated[
        str | None, model_option("Finds rules in place of the experts.", short="-e", http=ENCODERS)
    ] = None
    top: Top = 5
    general: Annotated[
        bool, rules_option("With only rules of your own: also flag replies that read as bad.")
    ] = False
    severity: Annotated[
        float | None, rules_option("Ignore broken rules less severe than this.", least=1, most=5)
    ] = None
    expertise: Annotated[bool, rules_option("Also flag advice that only experts should give.")] = (
        False
    )
    explain: Annotated[
        str, rules_option("Check rules for doubtful replies only, or for all.", choices=EXPLAIN)
    ] = "doubtful"
    on_unread: Annotated[
        str,
        rules_option(
            "What to do with a reply that was not read completely: pass with a note, flag, block.",
            choices=ON_UNREAD,
        ),
    ] = "pass"
    evidence: Annotated[
        str,
        rules_option(
            "Find the words that decide each flag; auto: in replies and files, not in a corpus.",
            choices=EVIDENCE,
        ),
    ] = "auto"
    false_alarms: Annotated[
        str | None,
        rules_option(
            "Flag at most this share of fine replies, e.g. 1%; --benign gives them.",
            metavar="SHARE",
            least=1,
            most=20,
        ),
    ] = None
    require_warrant: Annotated[
        bool,
        rules_option(
            "Refuse rules of yours without a warrant ('rules warrant'), and use its limits.",
        ),
    ] = False
    revise: Annotated[bool, Option("Also write a better reply for each flagged one.")] = False
    generator: Annotated[
        str, Option("Its writer: smollm2, qwen (better), a folder, openai:MODEL.", http=GENERATORS)
    ] = "smollm2"
    steer: SteerFile = None
    generate: Annotated[bool, Option("Also write rules for each exchange.", http=False)] = False
    writer: Annotated[
        str, Option("Model that writes rules: rules, a folder, scripted.", http=False)
    ] = "rules"
    exact: Annotated[
        bool, model_option("Compute in 32 bits; on a CPU the default is 8.", http=False)
    ] = False
    config: Annotated[
        Path | None,
        rules_option(
            "Other thresholds (TOML); --false-alarms writes its limit there.",
            metavar="FILE",
            http=False,
        ),
    ] = None
    gate: Annotated[
        str | None,
        gate_option(
            'Exit with 3 unless it holds, e.g. "flagged<=0.02"; over HTTP statistics.gate.met '
            "says so."
        ),
    ] = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.steer is not None and not self.revise:
            raise InputError("--steer steers the model that revises", "add --revise")
        if self.texts and self.revise:
            raise InputError("--revise writes better replies, not texts", "leave it out")
        if self.false_alarms is not None:
            parse_share(self.false_alarms)

    @property
    def encoder_name(self) -> str:
        """The encoder that compares texts: the one named, else that of the experts."""
        if self.encoder:
            return self.encoder
        if self.experts in ENCODERS:
            return self.experts
        return DEFAULT_EXPERTS if self.experts in AUDITORS else "minilm"


def parse_share(text: str) -> float:
    """Read a share: 1% or 0.01."""
    number, percent, rest = text.strip().partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = 0.0
    if rest or not 0 < share <= MAX_BUDGET:
        raise InputError(f"'{text[:20]}' is not a share", "give 1% or 0.01, up to 50%")
    return share
