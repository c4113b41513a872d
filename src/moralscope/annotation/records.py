"""The records of annotation: project, task form, item, person, assignment, submission, finding.

They hold values. Reading YAML is `projects.py`'s and `forms.py`'s, rules are `checks.py`'s, and
what happens to them is `service.py`'s. Times are seconds since 1970 (UTC). The errors at the end
are what the pages tell apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from moralscope.annotation.options import Policies, StatementTexts
from moralscope.annotation.questions import AnswerChoice, Field
from moralscope.core.errors import InputError, MoralscopeError
from moralscope.core.records import Statistics

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
Answer = Mapping[str, Any]  # field name → value; `questions` says which


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text of the item that the page shows, and what the page calls it."""

    name: str
    label: str
    required: bool = True
    text: str = ""
    """The item's own, once the form is filled in for it."""


@dataclass(frozen=True, slots=True)
class TaskForm:
    """What is shown and asked: a file of `data/tasks/`, as data."""

    name: str
    title: str
    instructions: tuple[str, ...]
    shows: tuple[ShownText, ...]
    fields: tuple[Field, ...]
    search: bool = False
    """The page offers the search box over rulebooks."""
    validation: str | None = None
    """The form by which others check what is written here, where there is one."""
    policies: Mapping[str, Any] = field(default_factory=dict)
    """What a project of this task does otherwise than `Policies`."""

    def field(self, name: str) -> Field:
        """Return the field of this name."""
        return next(one for one in self.fields if one.name == name)

    def filled(self, texts: Mapping[str, str]) -> "TaskForm":
        """Return the form as one item fills it in: its texts, and the choices that are texts."""
        shows = (replace(one, text=texts[one.name]) for one in self.shows if texts.get(one.name))
        fields = tuple(one.with_choices(texts) for one in self.fields)
        return replace(self, shows=tuple(shows), fields=fields)

    def said(self, answer: Answer) -> list[tuple[str, str]]:
        """Return questions and answers as people read them."""
        return [(one.label, one.say(answer.get(one.name))) for one in self.fields]


@dataclass(frozen=True, slots=True)
class Project:
    """`project.yaml`: how a project is run, texts of the first page, where answers are kept."""

    name: str
    task: str
    policies: Policies = field(default_factory=Policies)
    warning: str = ""
    consent: str = ""
    rulebooks: tuple[str, ...] = ()
    database: str = ""
    """Empty (SQLite, `annotations.sqlite` in the project's folder) or a URL of PostgreSQL."""
    version: int = 1
    statement: StatementTexts = field(default_factory=StatementTexts)
    folder: str = ""
    """Where the file stood; it is not in the file."""


@dataclass(frozen=True, slots=True)
class AnnotationItem:
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
    link: str = ""  # where a server takes it


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its choices, as the page shows it: of a test without its answer."""

    id: str
    text: str
    choices: tuple[AnswerChoice, ...]


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
class FoundationStatement:
    """An item of the questionnaire, answered 1 (not at all) to 5 (fully)."""

    id: str
    text: str
    foundation: str


@dataclass(frozen=True, slots=True)
class Questionnaire:
    """What is asked about a person; every answer may be left out."""

    about: tuple[Question, ...]
    leanings: tuple[AnswerChoice, ...]
    statements: tuple[FoundationStatement, ...]
    scale: tuple[AnswerChoice, ...]


@dataclass(frozen=True, slots=True)
class FieldFinding:
    """What a check says beside a field; `blocks` means it must be mended before submitting."""

    field: str
    check: str
    message: str
    blocks: bool = True


@dataclass(frozen=True, slots=True)
class OpenAssignment:
    """An assignment as the page shows it: the item, its form, the draft kept so far."""

    assignment: str
    item: AnnotationItem
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
    findings: tuple[FieldFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerRevision:
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
    item: AnnotationItem
    form: TaskForm
    stage: str
    revisions: tuple[AnswerRevision, ...]
    reviews: tuple[Review, ...] = ()
    decision: Decision | None = None  # where it was rejected

    @property
    def latest(self) -> AnswerRevision:
        """The answer that counts."""
        return self.revisions[-1]

    @property
    def to_mend(self) -> bool:
        """Whether a lead asked to mend it and nothing was changed since."""
        last = self.reviews[-1] if self.reviews else None
        return last is not None and last.verdict == "mend" and self.latest.created <= last.created


@dataclass(frozen=True, slots=True)
class PersonProgress:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectProgress(Statistics):
    """How far a project is."""

    items: int = field()  # type: ignore[assignment]  # a key here, not the method of mappings
    complete: int
    wanted: int  # submissions that all quotas ask for
    submitted: int
    open: int
    paused: bool
    to_review: int
    appeals: int = 0  # that wait for a lead


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview(ProjectProgress):
    """The lead's first page: the project in figures, and a line for each person."""

    people: tuple[PersonLine, ...]


@dataclass(frozen=True, slots=True)
class ItemLine:
    """An item as the lead browses it, with the answers it has and wants; a trial item wants all."""

    id: str
    stage: str
    texts: Mapping[str, str]
    answers: int
    wanted: int | None


@dataclass(frozen=True, slots=True)
class AnswerToReview:
    """A submission that waits for the lead."""

    assignment: str
    person: Person
    item: AnnotationItem
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

    item: AnnotationItem
    answers: Mapping[str, Answer]
    differs: tuple[str, ...]
    final: FinalAnswer | None
    late: bool

    @property
    def agreed(self) -> dict[str, Any]:
        """The part of an answer that nobody disputes."""
        first, *others = self.answers.values()
        return {
            name: value
            for name, value in first.items()
            if name not in self.differs and all(answer.get(name) == value for answer in others)
        }


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


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityCounts(Statistics):
    """What was done for quality in a project: tests, reviews, decisions, appeals."""

    invited: int
    declined: int  # who did not consent
    tested: int
    failed: int
    reviewed_good: int
    reviewed_to_mend: int
    rejected: int
    blocked: int
    blocked_left_out: int  # whose answers do not count
    appeals: int
    lifted: int


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


class WorkPaused(InputError):
    """The project or the person is paused (409)."""


class NotSaved(MoralscopeError):
    """The answer did not reach the disk: the page keeps the text and says so (503)."""
