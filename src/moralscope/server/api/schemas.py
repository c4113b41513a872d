"""What requests may say and what answers hold: checked on the way in, documented both ways.

A request's options are those of the subject's options class (`bodies.body_of`); here stand the
inputs beside them. A text is bounded; nothing in it is ever read as a path. The examples of the
OpenAPI document are in `examples.json`.
"""

import json
from functools import cache, reduce
from importlib import resources
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from moralscope.axes.compare_options import CompareOptions
from moralscope.axes.options import RankOptions, ScoreOptions
from moralscope.core.records import NOT_ADVICE, RUN_SCHEMA
from moralscope.models.options import ENCODERS
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.labels import BROKEN
from moralscope.rules.options import CheckOptions, LintOptions, WarrantOptions
from moralscope.rules.thresholds import Thresholds
from moralscope.rules.warrant_file import StoredWarrant, parse_warrant
from moralscope.server.api.bodies import RequestModel, body_of
from moralscope.server.service import RulebookText
from moralscope.surveys.options import SurveyOptions
from moralscope.version import __version__

MAX_ACTIONS = 2000
MAX_ENCODERS = 5  # compared in one request
MAX_EXCHANGES = 1000
MAX_ITEMS = 200  # of a survey
MAX_TEXT = 100_000  # characters of a prompt or a reply
MAX_BOOK = 500_000

Action = Annotated[str, StringConstraints(min_length=1, max_length=10_000)]
Actions = Annotated[list[Action], Field(min_length=1, max_length=MAX_ACTIONS)]
Long = Annotated[str, StringConstraints(max_length=MAX_TEXT)]
Book = Annotated[str, StringConstraints(min_length=1, max_length=MAX_BOOK)]


@cache
def _examples() -> Any:
    return json.loads(resources.files(__package__).joinpath("examples.json").read_text("utf-8"))


def shown(name: str) -> ConfigDict:
    """Return the config of a body whose documentation shows the example of this name."""
    return ConfigDict(json_schema_extra={"examples": [_examples()["requests"][name]]})


class ScoreRequest(body_of(ScoreOptions)):  # type: ignore[misc]
    """Actions to be scored on a moral axis."""

    model_config = shown("ScoreRequest")
    actions: Actions
    human: Book | None = Field(None, description="Ratings by people, as CSV text: action, yes, no.")


class CompareRequest(body_of(CompareOptions)):  # type: ignore[misc]
    """The same actions on several encoders; whether a gate holds is in statistics.gate.met."""

    model_config = shown("CompareRequest")
    actions: Annotated[list[Action], Field(min_length=3, max_length=MAX_ACTIONS)]
    encoders: Annotated[list[Literal[ENCODERS]], Field(max_length=MAX_ENCODERS)]  # type: ignore[valid-type]


class SurveyRequest(body_of(SurveyOptions)):  # type: ignore[misc]
    """Dilemmas (situation, action1, action2, …) or statements to put to language models."""

    model_config = shown("SurveyRequest")
    items: Annotated[
        list[Annotated[dict[str, Action], Field(min_length=1, max_length=40)]],
        Field(min_length=1, max_length=MAX_ITEMS),
    ]


class RankRequest(body_of(RankOptions)):  # type: ignore[misc]
    """Candidate answers to a question."""

    model_config = shown("RankRequest")
    question: Action
    answers: Actions


class ExchangeBody(RequestModel):
    """What a person asked and what the chatbot said."""

    prompt: Long = ""
    reply: Long
    id: Annotated[str, StringConstraints(max_length=200)] = ""


Exchanges = Annotated[list[ExchangeBody], Field(max_length=MAX_EXCHANGES)]


class LabelledReply(ExchangeBody):
    """A reply, and whether it breaks a rule."""

    rule: Action = Field(description="The rule's text or id.")
    broken: Annotated[bool, BeforeValidator(lambda said: BROKEN.get(str(said).lower(), said))]


class RulebookBody(RequestModel):
    """A rulebook of one's own, as text."""

    text: Book
    format: Literal["yaml", "csv", "txt"] = "yaml"
    warrant: dict[str, Any] | None = Field(
        None, description="What 'rules warrant' saved beside it; audits show its words."
    )


Rulebooks = Annotated[
    list[Literal["moralscope"] | RulebookBody],
    Field(
        max_length=4,
        description="Later ones over earlier ones; 'moralscope' is ours, the default.",
    ),
]


def read_rulebooks(books: list[Any]) -> tuple[RulebookText | None, ...]:
    """Return rulebooks as the service takes them: None is ours.

    Examples
    --------
    >>> read_rulebooks(["moralscope"])
    (None,)
    """
    return tuple(
        RulebookText(book.text, book.format) if isinstance(book, RulebookBody) else None
        for book in books
    )


def read_warrants(books: list[Any]) -> tuple[StoredWarrant, ...]:
    """Return the warrants that rulebooks bring with them."""
    every = [book.warrant for book in books if isinstance(book, RulebookBody)]
    return tuple(parse_warrant(plain, "'warrant'") for plain in every if plain is not None)


class ThresholdsGiven(body_of(Thresholds)):  # type: ignore[misc]
    """Limits of an audit; one that is left out is as usual."""


class AuditRequest(body_of(AuditOptions)):  # type: ignore[misc]
    """Replies to be audited, or texts that are no replies."""

    model_config = shown("AuditRequest")
    exchanges: Exchanges = Field(
        default_factory=list, description="Replies with their prompts; leave out for texts."
    )
    texts: Annotated[list[Long], Field(max_length=MAX_EXCHANGES)] = Field(
        default_factory=list, description="Posts or users' messages, in place of exchanges."
    )
    rulebooks: Rulebooks = Field(default_factory=list)
    thresholds: ThresholdsGiven = ThresholdsGiven()
    benign: Exchanges | None = Field(
        None, description="Replies that are fine: with false_alarms the limit is set on them."
    )


class ConversationRequest(body_of(AuditOptions)):  # type: ignore[misc]
    """A conversation to be audited, as OpenAI's API has its messages and tools."""

    model_config = shown("ConversationRequest")
    messages: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MAX_EXCHANGES)]
    tools: list[dict[str, Any]] = Field(default_factory=list)
    rulebooks: Rulebooks = Field(default_factory=list)
    thresholds: ThresholdsGiven = ThresholdsGiven()


class LintRequest(body_of(LintOptions)):  # type: ignore[misc]
    """Rulebooks to be linted."""

    model_config = shown("LintRequest")
    rulebooks: Rulebooks = Field(default_factory=list)


class CheckRequest(body_of(CheckOptions)):  # type: ignore[misc]
    """Rulebooks to be checked, and exchanges to try them on (else some that we wrote)."""

    model_config = shown("CheckRequest")
    rulebooks: Rulebooks = Field(default_factory=list)
    exchanges: Exchanges | None = None


class WarrantRequest(body_of(WarrantOptions)):  # type: ignore[misc]
    """Rules of one's own that are to be enforced, labelled replies and replies that are fine."""

    model_config = shown("WarrantRequest")
    rulebooks: Annotated[list[RulebookBody], Field(min_length=1, max_length=4)]
    labels: Annotated[list[LabelledReply], Field(max_length=MAX_EXCHANGES)] = Field(
        default_factory=list,
        description="Replies that break rules or do not: without them no rule is 'enforceable'.",
    )
    benign: Exchanges | None = Field(
        None, description="Replies that are fine: limits are set on them; else on some of ours."
    )


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
    """Whether the server answers, and whether it would take one more request."""

    status: Literal["ok", "saturated"] = Field(
        description="saturated: the next request of a kind below that is full gets 429."
    )
    version: str
    waiting: int = Field(description="Requests accepted and not yet done.")
    most_waiting: int = Field(description="How many may be.")
    upstream_calls: int | None = Field(
        description="Requests that wait for the server behind the guard; null without one."
    )
    most_upstream_calls: int | None = Field(description="How many may be: --queue.")


def example_record(name: str) -> dict[str, Any]:
    """Return the run record that the OpenAPI document shows for a route.

    Examples
    --------
    >>> example_record("rank")["schema"]
    'moralscope.run/1'
    """
    return {
        "schema": RUN_SCHEMA,
        "version": __version__,
        "created": "2026-01-01T12:00:00+00:00",
        "seed": 0,
        "warnings": [NOT_ADVICE],
        **_examples()["records"][name],
    }


def example_text(*names: str) -> str:
    """Return the lines of text that it shows, by their place in `examples.json`."""
    lines = reduce(lambda inside, name: inside[name], names, _examples())
    return "".join(f"{line}\n" for line in lines)
