"""From a plain run record to a page: the command decides which; every page ends in the same way.

The end says how the run was computed, how to compute it again, and what it does not mean.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from moralscope.io.record_view import Plain, check_plain, label_key, text
from moralscope.reports.agreement_page import agreement_page
from moralscope.reports.audit_page import audit_page
from moralscope.reports.chain_page import chain_page
from moralscope.reports.compare_page import compare_page, runs_page
from moralscope.reports.corpora_page import corpora_page
from moralscope.reports.corpus_page import corpus_page
from moralscope.reports.evaluate_page import evaluate_page
from moralscope.reports.generic_page import generic_page
from moralscope.reports.languages_page import languages_page
from moralscope.reports.page import Block, Code, Column, Facts, Page, Section, Table, part
from moralscope.reports.reproduce_page import reproduce_page, words_page
from moralscope.reports.score_page import score_page
from moralscope.reports.statement_page import statement_page
from moralscope.reports.steer_page import check_page
from moralscope.reports.stories_page import split_page, stats_page
from moralscope.reports.survey_page import survey_page

_PAGES: Mapping[str, Callable[[Plain], Page]] = {
    "agreement": agreement_page,
    "annotate statement": statement_page,
    "audit": audit_page,
    "compare": compare_page,
    "compare languages": languages_page,
    "compare runs": runs_page,
    "words compare": corpora_page,
    "words correlate": words_page,
    "chain": chain_page,
    "generate": chain_page,
    "stories evaluate": evaluate_page,
    "stories stats": stats_page,
    "stories split": split_page,
    "reproduce": reproduce_page,
    "steer check": check_page,
    "survey": survey_page,
}


def build_page(record: Any, name: str = "the run record") -> Page:
    """Lay out the report of a plain run record.

    Examples
    --------
    >>> record = {"schema": "moralscope.run/1", "job": "score", "config": {},
    ...           "results": [{"action": "kill time", "score": 0.1}]}
    >>> [section.title for section in build_page(record).sections]
    ['Ranked scores', 'All actions', 'How it was computed', 'What it does not mean']
    """
    plain = check_plain(record, name)
    page = _layout(plain)(plain)
    made = f"moralscope {text(plain.get('version'))} · {text(plain.get('created'))}"
    return replace(
        page,
        sections=[*page.sections, *closing_sections(plain)],
        warnings=[text(line) for line in plain["warnings"]],
        footer=made,
    )


def _layout(plain: Plain) -> Callable[[Plain], Page]:
    if isinstance(plain["config"].get("corpus"), Mapping):
        return corpus_page
    named = plain["job"] == "score" or label_key(plain["results"])
    return _PAGES.get(plain["job"], score_page if named else generic_page)


_NOT = (
    "It is not moral advice. A score says how a model was shaped by the texts it read, not what "
    "is right.",
    "Zero is not the border between good and bad. Models lean to yes or to no in general, so "
    "scores are shifted: compare actions with each other, not with zero.",
    "It is coarse. The method tells clear dos from clear don'ts and misjudges many a phrase; "
    "negation, irony and context often escape it.",
    "It describes one model, in one language, on these wordings. Another model, or another "
    "wording, may disagree. The intervals cover the wording of the questions only.",
)
_NOT_JUDGE = (
    _NOT[0],
    "It repeats people. A probability says how crowd workers who wrote everyday stories in US "
    "English would call the action, as far as the model could learn it; other people differ.",
    "It was trained on whole sentences. Short phrases, other languages and questions of another "
    "kind than theirs are outside what its probabilities were calibrated on.",
)
_NOT_TEXTS = (
    "It is not moral advice. A text is what a model writes when it is given a target, moral or "
    "immoral; a probability is what another model makes of it.",
    "A high probability proves nothing about the text: the experts that chose it cannot grade it. "
    "Other experts ('stories metrics --judge') and people ('annotate') can.",
    "It repeats people. The models learnt from everyday stories that crowd workers wrote in US "
    "English; other people differ.",
)
_NOT_DATA = (
    "It is not moral advice. Norms and stories are what crowd workers wrote in US English about "
    "everyday life; other people differ.",
    "Counts and distances say how stories are worded, not whether they are right or complete.",
)
_NOT_AUDIT = (
    "It is not moral advice, and no authority. Several rules, even conflicting ones, apply to one "
    "reply; the verdict rests on the worst broken one among those that were found.",
    "A reply that is not flagged is not thereby good. Rules that nobody wrote down, or that were "
    "not found for it, were not asked about; where nothing applied, the audit abstained.",
    "It repeats people. Whether a reply keeps a rule is what a model learnt from crowd workers who "
    "wrote US English; severity and consensus are the rulebook's, or marked as estimated.",
    "The intervals cover which replies are in the file, not whether the models are right.",
)
_NOT_PEOPLE = (
    "It is not moral advice. That people agree does not make them right, that they disagree does "
    "not make one of them wrong: both are what these people said of these items.",
    "Groups are what people said of themselves, and few of them. A difference between groups says "
    "nothing of any person, and little of people who were not asked.",
    "The intervals cover which items were judged, not which people were asked.",
)
_NOT_SURVEY = (
    "It is not moral advice. A likelihood says what a model would answer to these questions, not "
    "what is right.",
    "Answers to questions are not deeds: what a model does when it may write freely can differ. "
    "'survey --free' measures how far.",
    "The intervals cover which items were asked about, not which models or languages.",
)
_NOT_STEER = (
    "It is not moral advice, and no proof of safety. A certificate says what moved among the "
    "questions that were asked; what nobody asked about may have moved too.",
    "A vector that changes answers may leave deeds as they are, and the other way round: look at "
    "the audited replies beside the choices.",
    "The intervals cover which questions were asked, not which vectors or models.",
)
_LIMITS_OF = {"judge": _NOT_JUDGE, "stories": _NOT_JUDGE}  # by axis and by paper
_LIMITS = {
    "agreement": _NOT_PEOPLE,
    "annotate statement": _NOT_PEOPLE,
    "audit": _NOT_AUDIT,
    "stories evaluate": _NOT_JUDGE,
    "chain": _NOT_TEXTS,
    "generate": _NOT_TEXTS,
    "stories stats": _NOT_DATA,
    "stories split": _NOT_DATA,
    "steer check": _NOT_STEER,
    "steer make": _NOT_STEER,
    "survey": _NOT_SURVEY,
}
# Experts that are shipped are asked for by the name of their base.
_SHIPPED = {"stories-mpnet": "mpnet", "stories-minilm": "minilm"}
_MAX_ARGUMENTS = 8
_OPTIONS = (
    *("axis", "encoder", "encoders", "experts", "against", "norm", "template", "fit", "vectors"),
    *("sets", "tasks", "split", "part", "max_stories", "model", "models", "form", "layer"),
)


def closing_sections(plain: Plain) -> list[Section]:
    """Return the two sections that no report goes without."""
    config = {key: item for key, item in plain["config"].items() if key != "prompts"}
    facts = [
        ("job", plain["job"]),
        ("moralscope", text(plain.get("version"))),
        ("computed", text(plain.get("created"))),
        ("seed", text(plain.get("seed"))),
        *((key.replace("_", " "), text(value)) for key, value in config.items()),
    ]
    blocks: list[Block] = [Facts(facts)]
    models = [model for model in plain["models"] if isinstance(model, dict)]
    if models:
        rows = [[text(model.get("name")), text(model.get("sha256"))] for model in models]
        blocks.append(Table("Models", [Column("model"), Column("checksum (sha256)")], rows))
    prompts = plain["config"].get("prompts")
    if isinstance(prompts, list):
        rows = [[text(prompt)] for prompt in prompts]
        judged = "experts" in config
        column = "wording" if judged else "question"
        title = "Actions are put as" if judged else "Questions asked"
        blocks.append(Table(title, [Column(column)], rows))
    command = redo_command(plain)
    prose = ["Everything here is drawn from the run record alone."]
    if command:
        prose.append("To compute it again:")
        blocks.insert(0, Code(command))
    return [
        Section("How it was computed", prose, blocks, folded=True),
        Section("What it does not mean", _limits(plain)),
    ]


def _limits(plain: Plain) -> Sequence[str]:
    config = plain["config"]
    known = _LIMITS_OF.get(text(config.get("axis"))) or _LIMITS_OF.get(text(config.get("paper")))
    compared = config.get("job") if plain["job"] == "compare runs" else None
    return known or _LIMITS.get(text(compared or plain["job"]), _NOT)


def redo_command(plain: Plain) -> str:
    """Return the command that computes the record again, or nothing where we cannot tell.

    Examples
    --------
    >>> redo_command({"job": "score", "seed": 3, "config": {"encoder": "minilm"},
    ...     "results": [{"action": "kill time"}]})
    "moralscope score --encoder minilm --seed 3 -- 'kill time'"
    """
    config, job = plain["config"], plain["job"]
    if isinstance(config.get("corpus"), Mapping):  # files and folders are the user's own
        return ""
    words = ["moralscope", *job.split()]
    if job == "compare runs":
        runs, gate = config.get("runs"), part(plain["statistics"].get("gate"))
        words = ["moralscope", "compare", "--runs", *(runs if isinstance(runs, list) else [])]
        words += ["--gate", gate.get("expression")] if gate else []
        return shlex.join(text(word) for word in words) if isinstance(runs, list) else ""
    if job not in ("score", "rank", "compare", "words correlate", "reproduce", "stories evaluate"):
        return ""
    if job == "reproduce":
        words.append(text(config.get("paper", "choice")))
    for name in _OPTIONS:
        value = config.get(name)
        if name == "encoders" and "models" in config:
            continue
        if value is not None:
            given = [text(item) for item in (value if isinstance(value, list) else [value])]
            flag = f"--{name.replace('_', '-')}"
            words += [flag, ",".join(_SHIPPED.get(each, each) for each in given)]
    words += ["--seed", text(plain.get("seed", 0))]
    return " ".join([*(shlex.quote(word) for word in words), *_arguments(plain)])


def _arguments(plain: Plain) -> list[str]:
    if plain["job"] == "rank":
        answers = plain["config"].get("answers")
        given = [plain["config"].get("question"), *(answers if isinstance(answers, list) else [])]
        return ["--", *(shlex.quote(text(word)) for word in given)]
    if plain["job"] not in ("score", "compare"):
        return []
    columns = plain["config"].get("columns")
    if isinstance(columns, list) and len(columns) > 1 and not plain["config"].get("norm"):
        return ["--file", "rows.jsonl"]
    actions = [text(row.get("action")) for row in plain["results"] if isinstance(row, dict)]
    if len(actions) > _MAX_ARGUMENTS or plain["job"] == "compare":
        return ["--file", "actions.txt"]
    return ["--", *(shlex.quote(action) for action in actions)]
