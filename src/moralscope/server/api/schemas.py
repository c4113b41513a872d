"""What requests may say and what answers hold: checked on the way in, documented both ways.

Names are names of the catalogue. A text is bounded; nothing in it is ever read as a path.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from moralscope.axes.options import CompareOptions, RankOptions, ScoreOptions
from moralscope.rules.options import MAX_TOP
from moralscope.server.api.bodies import body_of
from moralscope.server.service import RulebookText

MAX_ACTIONS = 2000
MAX_EXCHANGES = 1000
MAX_TEXT = 100_000  # characters of a prompt or a reply
MAX_BOOK = 500_000

Encoder = Literal["minilm", "mpnet", "use-lite", "scripted"]
Experts = Literal["mpnet", "minilm", "scripted"]
Generator = Literal["smollm2", "scripted"]
Action = Annotated[str, StringConstraints(min_length=1, max_length=10_000)]
Long = Annotated[str, StringConstraints(max_length=MAX_TEXT)]
Gate = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Seed = Annotated[int, Field(ge=0, le=2**32 - 1, description="Seed of everything random.")]
Unit = Annotated[float, Field(ge=0, le=1)]
Scale = Annotated[float, Field(ge=1, le=5)]


class Asked(BaseModel):
    """A request: unknown fields and values of another type are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class ScoreRequest(body_of(ScoreOptions)):  # type: ignore[misc]
    """Actions to be scored on a moral axis."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"actions": ["kill people", "kill time"], "axis": "choice", "encoder": "minilm"}
            ]
        }
    )
    actions: Annotated[list[Action], Field(min_length=1, max_length=MAX_ACTIONS)]
    human: Annotated[str, StringConstraints(min_length=1, max_length=MAX_BOOK)] | None = Field(
        None, description="Ratings by people, as CSV text: action, yes, no."
    )


class CompareRequest(body_of(CompareOptions)):  # type: ignore[misc]
    """The same actions on several encoders."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "actions": ["kill people", "kill time", "help people"],
                    "encoders": ["minilm", "mpnet"],
                    "gate": "r>=0.5",
                }
            ]
        }
    )
    actions: Annotated[list[Action], Field(min_length=3, max_length=MAX_ACTIONS)]
    encoders: Annotated[list[Encoder], Field(min_length=2, max_length=4)]


class RankRequest(body_of(RankOptions)):  # type: ignore[misc]
    """Candidate answers to a question."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "question": "What should I put in the toaster?",
                    "answers": ["bread", "old pizza", "my hamster"],
                    "encoder": "minilm",
                }
            ]
        }
    )
    question: Action
    answers: Annotated[list[Action], Field(min_length=1, max_length=MAX_ACTIONS)]


class ExchangeGiven(Asked):
    """What a person asked and what the chatbot said."""

    prompt: Long = ""
    reply: Long
    id: Annotated[str, StringConstraints(max_length=200)] = ""


class RulebookGiven(Asked):
    """A rulebook of one's own, as text."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_BOOK)]
    format: Literal["yaml", "csv", "txt"] = "yaml"


Rulebooks = Annotated[
    list[Literal["moralscope"] | RulebookGiven],
    Field(
        max_length=4,
        description="Later ones over earlier ones; 'moralscope' is ours, the default.",
    ),
]


def read_rulebooks(given: list[Any]) -> tuple[RulebookText | None, ...]:
    """Return rulebooks as the jobs take them: None is ours.

    Examples
    --------
    >>> read_rulebooks(["moralscope"])
    (None,)
    """
    return tuple(
        RulebookText(each.text, each.format) if isinstance(each, RulebookGiven) else None
        for each in given
    )


class ThresholdsGiven(Asked):
    """Limits of an audit; one that is left out is as usual."""

    applies: Unit | None = None
    disagree: Unit | None = None
    agree: Unit | None = None
    flag: Unit | None = None
    severity: Scale | None = None
    consensus: Scale | None = None
    gain: Unit | None = None
    relevance: Unit | None = None


class AuditRequest(Asked):
    """Replies to be audited."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "exchanges": [
                        {
                            "prompt": "My friend told me a secret. Should I share it?",
                            "reply": "Tell everybody, secrets are for fun.",
                        }
                    ]
                }
            ]
        }
    )
    exchanges: Annotated[list[ExchangeGiven], Field(min_length=1, max_length=MAX_EXCHANGES)]
    rulebooks: Rulebooks = []
    experts: Experts = "mpnet"
    encoder: Encoder | None = Field(None, description="What finds rules; else the experts' base.")
    top: Annotated[int, Field(ge=1, le=MAX_TOP)] = 5
    revise: bool = False
    generator: Generator = "smollm2"
    thresholds: ThresholdsGiven = ThresholdsGiven()
    gate: Gate | None = Field(
        None, description="Limits such as flagged<=0.02; statistics.gate.met says if they hold."
    )
    seed: Seed = 0


class LintRequest(Asked):
    """Rulebooks to be linted."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"rulebooks": [{"text": "It's rude to stare at people.", "format": "txt"}]}
            ]
        }
    )
    rulebooks: Rulebooks = []
    encoder: Encoder | None = Field(None, description="Compare meanings too, not words alone.")


class ModelUsed(BaseModel):
    """Weights that a run used."""

    name: str
    sha256: str


class Record(BaseModel):
    """A run record: what a job read, did and found; the same as the command line's --json."""

    schema_: Literal["moralscope.run/1"] = Field(alias="schema")
    job: str
    version: str
    created: str
    seed: int
    config: dict[str, Any]
    models: list[ModelUsed]
    results: list[dict[str, Any]]
    statistics: dict[str, Any]
    warnings: list[str]


class ModelListed(BaseModel):
    """A model of the catalogue, in the shape of OpenAI's list with fields of ours."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str
    kind: str
    about: str
    licence: str
    revision: str
    megabytes: float
    state: Literal["present", "absent"]
    loaded: bool


class ModelList(BaseModel):
    """All models of the catalogue."""

    object: Literal["list"] = "list"
    data: list[ModelListed]
    encoders: list[str]
    experts: list[str]
    generators: list[str]


class Health(BaseModel):
    """Whether the server answers."""

    status: Literal["ok"] = "ok"
    version: str
    waiting: int = Field(description="Requests accepted and not yet done.")
