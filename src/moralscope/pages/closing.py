"""The end that every page has: how it was computed, and what it does not mean."""

from collections.abc import Mapping, Sequence

from moralscope.core.records import RunRecord
from moralscope.pages.page import Block, Column, Facts, Section, Table
from moralscope.pages.words import text

SCORE_LIMITS = (
    "It is not moral advice. A score says how a model was shaped by the texts it read, not what "
    "is right.",
    "Zero is not the border between good and bad. Models lean to yes or to no in general, so "
    "scores are shifted: compare actions with each other, not with zero.",
    "It is coarse. The method tells clear dos from clear don'ts and misjudges many phrases; "
    "negation, irony and context often escape it.",
    "It describes one model, in one language, on these wordings. Another model, or another "
    "wording, may disagree. The intervals cover the wording of the questions only.",
)
JUDGE_LIMITS = (
    SCORE_LIMITS[0],
    "It repeats people. A probability says how crowd workers who wrote everyday stories in US "
    "English would call the action, as far as the model could learn it; other people differ.",
    "It knows everyday life, in short phrases and in sentences. Long scenes, other languages and "
    "questions of another kind are outside what its probabilities were calibrated on.",
)
TEXT_LIMITS = (
    "It is not moral advice. A text is what a model writes when it is given a target, moral or "
    "immoral; a probability is what another model makes of it.",
    "A high probability proves nothing about the text: the experts that chose it cannot grade it. "
    "Other experts ('stories metrics --judge') and people ('annotate') can.",
    "It repeats people. The models learnt from everyday stories that crowd workers wrote in US "
    "English; other people differ.",
)
DATA_LIMITS = (
    "It is not moral advice. Norms and stories are what crowd workers wrote in US English about "
    "everyday life; other people differ.",
    "Counts and distances say how stories are worded, not whether they are right or complete.",
)
AUDIT_LIMITS = (
    "It is not moral advice. Several rules, even conflicting ones, may apply to one reply, and "
    "people differ.",
    "A reply that isn't flagged isn't necessarily good: nobody may have written the rule that it "
    "breaks, or the search may not have found it. The audit abstains only from what it cannot "
    "read.",
    "Models make mistakes. What they know of good replies and broken rules comes from examples "
    "that people wrote in English. A rule's severity and consensus are the rulebook's, or marked "
    "as estimated.",
    "The intervals tell how much other replies of the same kind would change the figures, not "
    "whether the models are right.",
)
PEOPLE_LIMITS = (
    "It is not moral advice. That people agree does not make them right, that they disagree does "
    "not make one of them wrong: both are what these people said of these items.",
    "Groups are what people said of themselves, and few of them. A difference between groups says "
    "nothing of any person, and little of people who were not asked.",
    "The intervals cover which items were judged, not which people were asked.",
)
SURVEY_LIMITS = (
    "It is not moral advice. A likelihood says what a model would answer to these questions, not "
    "what is right.",
    "Answers to questions are not actions: what a model does when it may write freely can differ. "
    "'survey --free' measures how far.",
    "The intervals cover which items were asked about, not which models or languages.",
)
STEER_LIMITS = (
    "It is not moral advice, and no proof of safety. A certificate says what moved among the "
    "questions that were asked; what nobody asked about may have moved too.",
    "A vector that changes answers may leave actions as they are, and the other way round: look at "
    "the audited replies beside the choices.",
    "The intervals cover which questions were asked, not which vectors or models.",
)


def axis_limits(config: Mapping[str, object]) -> tuple[str, ...]:
    """Return what scores do not mean: those of experts, or of any other axis."""
    return JUDGE_LIMITS if config.get("axis") == "judge" else SCORE_LIMITS


def closing_sections(record: RunRecord, limits: Sequence[str]) -> list[Section]:
    """Return the two sections that no report goes without."""
    config = {key: item for key, item in record.config.items() if key != "prompts"}
    facts = [
        ("job", record.job),
        ("moralscope", record.version),
        ("computed", record.created),
        ("seed", str(record.seed)),
        *((key.replace("_", " "), text(value)) for key, value in config.items()),
    ]
    blocks: list[Block] = [Facts(facts)]
    if record.models:
        rows = [[model.name, model.sha256] for model in record.models]
        blocks.append(Table("Models", [Column("model"), Column("checksum (sha256)")], rows))
    prompts = record.config.get("prompts")
    if isinstance(prompts, list):
        judged = "experts" in config
        title = "Actions are put as" if judged else "Questions asked"
        column = Column("wording" if judged else "question")
        blocks.append(Table(title, [column], [[text(prompt)] for prompt in prompts]))
    return [
        Section(
            "How it was computed",
            ["Everything here is drawn from the run record alone."],
            blocks,
            folded=True,
        ),
        Section("What it does not mean", limits or SCORE_LIMITS),
    ]
