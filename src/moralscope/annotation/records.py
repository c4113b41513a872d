"""The records of annotation: project, task form, item, person, assignment, submission, finding.

They hold values. Reading YAML is `projects.py`'s and `forms.py`'s, rules are `checks.py`'s, and
what happens to them is `service.py`'s. Times are seconds since 1970 (UTC). The errors at the end
are what the pages tell apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from moralscope.annotation.options import Policies
from moralscope.core.errors import InputError, MoralscopeError

LEAD, ANNOTATOR = "lead", "annotator"
ROLES = (LEAD, ANNOTATOR)
# Where a person stands. consent → qualification → staging → review → main; failed (no retake
# left), declined (no consent) and removed (by the lead) end it; who is blocked may appeal.
STAGES = (
    "consent", "qualification", "staging", "review", "main", "failed", "declined", "blocked",
    "removed",
)  # fmt: skip
REJECT, BLOCK = "reject", "block"  # kinds of decisions
STANDS, DECLINED, LIFTED = "stands", "declined", "lifted"  # what became of one
STATEMENT = {  # what a lead says in a data statement, and what it is about
    "rationale": "why these texts, and what they are for",
    "language": "the language and variety that people read and write",
    "speakers": "who wrote the texts that are shown",
    "situation": "how people were found, what they were paid, how they could ask",
    "provenance": "where the texts come from, and under which licence",
}
FIELD_TYPES = ("text", "long", "one", "many", "scale", "yes_no", "confirm")
LEVELS = ("nominal", "ordinal", "several", "text")
Answer = Mapping[str, Any]  # field name → value; see `Field` for the value's type


@dataclass(frozen=True, slots=True)
class Choice:
    """One value a person may choose, what the page calls it, and what it means."""

    value: str
    label: str
    help: str = ""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A rule for the text of a field: its name in `checks.CHECKS` and its argument."""

    name: str
    argument: Any = None


@dataclass(frozen=True, slots=True)
class Field:
    """One question of a form. Its `type` says what value answers it.

    ======== ============================================================
    type     value
    ======== ============================================================
    text     a str of one line, at most `longest` characters
    long     a str, at most `longest` characters
    one      a str, one of the `choices`
    many     a list of str out of `choices`, empty for none of them
    scale    an int from `low` to `high`; the `choices` label the points
    yes_no   a bool
    confirm  True: a box that must be ticked
    ======== ============================================================

    `level` is the level of measurement for agreement figures: nominal, ordinal, several (any of a
    set) or text (none).
    `choices_from` names the item's texts that are the choices (the three norms of a story).
    `shortcut` is the key of the field for keyboard work.
    """

    name: str
    label: str
    type: str
    help: str = ""
    required: bool = True
    choices: tuple[Choice, ...] = ()
    choices_from: tuple[str, ...] = ()
    low: int = 1
    high: int = 5
    longest: int = 2000
    checks: tuple[Check, ...] = ()
    level: str = "text"
    shortcut: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A text of the item that the page shows, and what the page calls it."""

    name: str
    label: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class TaskForm:
    """What is shown and asked: a file of `data/tasks/`, as data.

    `validation` names the form by which others check what is written here, where there is one.
    `search` says that the page offers the search box over rulebooks.
    """

    name: str
    title: str
    instructions: tuple[str, ...]
    shows: tuple[Shown, ...]
    fields: tuple[Field, ...]
    search: bool = False
    validation: str | None = None

    def field(self, name: str) -> Field:
        """Return the field of this name."""
        return next(one for one in self.fields if one.name == name)


@dataclass(frozen=True, slots=True)
class Project:
    """`project.yaml`: a name, a task, policies, texts of the first page, where answers are kept.

    `database` is empty (SQLite, `annotations.sqlite` in the project's folder) or a URL of
    PostgreSQL. `statement` is what only a lead knows of the data, for `annotate statement`: a key
    of `STATEMENT` → a text. `folder` is where the file stood; it is not in the file.
    """

    name: str
    task: str
    policies: Policies = field(default_factory=Policies)
    warning: str = ""
    consent: str = ""
    rulebooks: tuple[str, ...] = ()
    database: str = ""
    version: int = 1
    statement: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """What is judged: its texts by name. `form` names the form it is shown with."""

    id: str
    texts: Mapping[str, str]
    form: str = ""
    stage: str = "main"
    author: str = ""  # who wrote it, for items that came out of the project itself


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a token. `id` is random and stable; it alone stands in exports.

    It is sent whole to herself and to leads. `name` is what the lead calls the person.
    `attempts_left` counts the qualification tests that may still be taken.
    """

    id: str
    name: str
    role: str
    stage: str
    paused: bool = False
    questionnaire_open: bool = False
    attempts_left: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """What `join` gives: the secret of a cookie (kept hashed), whose it is, when it ends."""

    secret: str
    person: Person
    expires: float


@dataclass(frozen=True, slots=True)
class Invitation:
    """A new token. It is shown once; only its hash is kept."""

    token: str
    token_id: str
    person: Person


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its choices, as the page shows it: of a test without its answer."""

    id: str
    text: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Test:
    """One attempt: its questions in the order drawn."""

    __test__ = False  # pytest: this is no test

    attempt: int
    questions: tuple[Question, ...]
    pass_mark: int
    attempts_left: int  # after this one


@dataclass(frozen=True, slots=True)
class TestResult:
    """How an attempt went; of wrong answers, by question, why (`explanations`) and the right."""

    __test__ = False

    passed: bool
    right: int
    of: int
    attempts_left: int
    explanations: Mapping[str, str] = field(default_factory=dict)
    right_answers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Statement:
    """An item of the questionnaire, answered 1 (not at all) to 5 (fully)."""

    id: str
    text: str
    foundation: str


@dataclass(frozen=True, slots=True)
class Questionnaire:
    """What is asked about a person; every answer may be left out."""

    about: tuple[Question, ...]
    leanings: tuple[Choice, ...]
    statements: tuple[Statement, ...]
    scale: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check says beside a field; `blocks` means it must be mended before submitting."""

    field: str
    check: str
    message: str
    blocks: bool = True


@dataclass(frozen=True, slots=True)
class Work:
    """An assignment as the page shows it: the item, its form, the draft kept so far."""

    assignment: str
    item: Item
    form: TaskForm
    draft: Answer
    lease_until: float
    stage: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a submission came to. Only `saved` means it is on disk.

    `repeated` says that this submission id was saved before; nothing was added.
    """

    submission: str
    saved: bool
    repeated: bool = False
    revision: int = 0
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Revision:
    """One version of an answer; revisions are only ever added."""

    number: int
    answer: Answer
    created: float


@dataclass(frozen=True, slots=True)
class Review:
    """What the lead said of a submission: `verdict` is good or mend."""

    verdict: str
    feedback: str
    created: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What a lead decided against an answer (`reject`) or a person (`block`), and what followed.

    `appeal` is the person's word against it, None where she has not appealed; `outcome` is stands,
    declined (the appeal was) or lifted; `answer` is what the lead said then. `leave_out` says that
    the answers of a blocked person do not count.
    """

    id: str
    kind: str
    person: str
    assignment: str | None
    reason: str
    leave_out: bool
    lead: str
    created: float
    appeal: str | None
    appealed: float | None
    outcome: str
    answer: str
    settled: float | None

    @property
    def holds(self) -> bool:
        """Whether it is in force."""
        return self.outcome != LIFTED

    @property
    def may_appeal(self) -> bool:
        """Whether its person may still appeal: once a decision."""
        return self.outcome == STANDS and self.appeal is None

    @property
    def waits(self) -> bool:
        """Whether an appeal waits for a lead."""
        return self.outcome == STANDS and self.appeal is not None


@dataclass(frozen=True, slots=True)
class PastWork:
    """A person's own submission with its history and the lead's feedback (latest last)."""

    assignment: str
    item: Item
    form: TaskForm
    stage: str
    revisions: tuple[Revision, ...]
    reviews: tuple[Review, ...] = ()
    decision: Decision | None = None  # where it was rejected


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a person is: submitted and skipped in the present stage, and what is left to her.

    In the staging round, `in_a_row` of `wanted_in_a_row` answers were good.
    """

    done: int
    skipped: int
    left: int
    project_paused: bool = False
    in_a_row: int = 0
    wanted_in_a_row: int = 0


@dataclass(frozen=True, slots=True)
class PersonLine:
    """A person's line on the lead's page. Times are medians in seconds."""

    person: Person
    submitted: int
    staged: int
    skipped: int
    failed_checks: int
    seconds: float | None
    last_seen: float | None
    tokens: tuple[str, ...]  # ids of tokens that are not revoked
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class Overview:
    """The lead's first page in figures."""

    items: int
    complete: int
    wanted: int  # submissions that all quotas ask for
    submitted: int
    open: int
    paused: bool
    people: tuple[PersonLine, ...]
    to_review: int
    appeals: int = 0  # that wait for a lead


@dataclass(frozen=True, slots=True)
class ItemLine:
    """An item as the lead browses it, with the answers it has and wants; a trial item wants all."""

    id: str
    stage: str
    texts: Mapping[str, str]
    answers: int
    wanted: int | None


@dataclass(frozen=True, slots=True)
class ToReview:
    """A submission that waits for the lead."""

    assignment: str
    person: Person
    item: Item
    form: TaskForm
    answer: Answer
    submitted: float
    revision: int


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One person's latest answer to one item: what agreement figures and exports are made of."""

    item: str
    person: str
    form: str
    stage: str
    texts: Mapping[str, str]
    answer: Answer
    submitted: float
    seconds: float | None  # None where a clock that was set back hides it
    revision: int
    submission: str
    author: str = ""


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """What a lead decided an item's answer to be, why, and when; `lead` is her random id."""

    item: str
    answer: Answer
    comment: str
    lead: str
    created: float


@dataclass(frozen=True, slots=True)
class DisputedItem:
    """An item on which people differ: their answers by person, and in which fields they differ.

    `final` is what a lead decided, None as long as nobody has; `late` says that somebody answered
    after that.
    """

    item: Item
    answers: Mapping[str, Answer]
    differs: tuple[str, ...]
    final: FinalAnswer | None
    late: bool


@dataclass(frozen=True, slots=True)
class PersonFacts:
    """What a person told about herself, under her random id; None where she did not.

    `foundations` holds the mean of her answers for each foundation, 1 to 5; `about` her age,
    region and so on, as far as she told.
    """

    person: str
    leaning: str | None
    foundations: Mapping[str, float]
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditLine:
    """Who did what, when. `actor` is a person's id, `owner` for the command line, or empty."""

    number: int
    at: float
    actor: str
    action: str
    subject: str
    detail: str = ""


class NotAllowed(InputError):
    """The token, session or role does not permit this (HTTP 401 or 403)."""


class Conflict(InputError):
    """The work is no longer this person's to submit, or the id was used for something else (409).

    The text is never lost by it: the draft stays.
    """


class Paused(InputError):
    """The project or the person is paused (409)."""


class NotSaved(MoralscopeError):
    """The answer did not reach the disk: the page keeps the text and says so (503)."""
