"""What a run of a chain keeps: every candidate, score and choice, and what each step cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from moralscope.core.records import Statistics, Usage, absent


@dataclass(frozen=True, slots=True)
class ScoredText(Statistics):
    """A candidate: its score where an expert gave one, and how the generator came to it."""

    text: str
    score: float | None = None
    log_probability: float | None = absent()  # of all its tokens
    tokens: int | None = absent()
    finish: str | None = absent()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTrace(Statistics):
    """What a step found for one story and target."""

    step: str
    do: str
    task: str | None = absent()
    expert: str | None = absent()
    source: str | None = absent("from")
    field: str | None = absent()  # the sentence that a condition step replaced
    draft: str | None = absent()  # what a refine step wrote anew
    label: str | None = absent()  # the class that ranked, or the draft's
    probability: float | None = absent()  # of the draft's label
    candidates: tuple[ScoredText, ...] = ()  # best first where they are ranked
    choice: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainResult(Statistics):
    """What a chain wrote for one story and target (None: the recipe has none)."""

    id: str
    target: str | None = None
    choice: str | None = None
    candidates: tuple[ScoredText, ...] = ()  # of the last step
    failed: str | None = absent()  # why there is no choice
    reference: str | None = None  # what people wrote
    story: Mapping[str, str] = field(default_factory=dict)
    path: tuple[StepTrace, ...] = ()


@dataclass(frozen=True, slots=True)
class SkippedStory:
    """A story that lacks what the recipe reads."""

    id: str
    target: str | None
    missing: tuple[str, ...]

    def __str__(self) -> str:
        target = f" ({self.target})" if self.target else ""
        return f"'{self.id}'{target} lacks {', '.join(self.missing)}"


@dataclass(frozen=True, slots=True)
class StepTally:
    """What a step cost in a block: stories, candidates written or judged, seconds."""

    stories: int = 0
    candidates: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class BlockNotes:
    """What the journal keeps of a block beside its results."""

    tallies: Mapping[str, StepTally]  # by step
    warnings: tuple[str, ...] = ()  # what the generator said meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost(Statistics):
    """What a step cost in the whole run."""

    step: str
    do: str
    model: str | None  # the task that was written, or the expert that was asked
    stories: int
    candidates: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherChoice(Statistics):
    """What another run chose for a story and target."""

    id: str
    target: str | None = None
    choice: str | None = None


@dataclass(frozen=True, slots=True)
class OtherRun(Statistics):
    """Another run, set beside this one in the report."""

    name: str
    results: tuple[OtherChoice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainStatistics(Statistics):
    """What `stories chain` and `stories generate` found in sum."""

    steps: tuple[StepCost, ...]
    seconds: float
    results: int
    without_choice: tuple[str, ...]  # ids of stories
    skipped: tuple[SkippedStory, ...]
    diagram: tuple[str, ...]  # the recipe as lines of text
    usage: Usage | None = absent()  # what an endpoint counted, in this process
    beside: tuple[OtherRun, ...] | None = absent()
