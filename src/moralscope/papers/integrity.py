"""`reproduce integrity`: Tables 1 to 4 of Ziems et al. 2022 beside what the user's data gives.

The corpus is not shipped: without the user's MIC.csv the tables are measured on the exchanges that
were written for moralscope, and every table and figure says that it is another data set. With it,
the retrieval baselines of Table 1, their domain shift between chatbots and the agreement of people
are computed; generated rules and predicted attributes are measured where they are handed in. Domain
shift (section 6.2) asks what was learnt on one chatbot's exchanges and tested on another's:
retrieval is trained on each chatbot's part, generated rules are tested on each.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder, ExpertSet
from moralscope.core.records import NOT_ADVICE, NoStatistics, RunRecord, SampleInterval, grouped
from moralscope.io.files import model_refs
from moralscope.io.tables import Layout, Limits, TableFile, parse_columns
from moralscope.models.bertscore import BertScorer, load_bert_scorer
from moralscope.models.encoders import load_encoder
from moralscope.models.store import Progress, data_file
from moralscope.papers import PaperRow, PaperTable, ShowTable, paper_row, with_outcomes
from moralscope.papers.options import NONE, IntegrityOptions
from moralscope.papers.ratings import RuleRating, interesting, people_columns, read_ratings
from moralscope.rules.annotations.metrics import (
    BLEU_IS,
    Predict,
    load_paper,
    measure_attributes,
    measure_rules,
)
from moralscope.rules.annotations.reading import (
    MIC_FILE,
    AnnotationFile,
    read_annotations,
    source_warnings,
    split_annotations,
)
from moralscope.rules.annotations.statistics import CONTENT, reliability
from moralscope.rules.attributes import RuleQuery, attributes, prepare_attributes
from moralscope.rules.records import SCALES, Annotation
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.rules.training.alignment_examples import written_exchanges
from moralscope.stats.summary import unit_rows

ALL = "all"
SHIFTED = "Social-Chem"  # the row of Table 2
OURS = "exchanges written for moralscope"
_WHERE = (
    "'moralscope data where mic' says whom to ask; then name it, or put it at mic/MIC.csv below "
    "MORALSCOPE_DATA"
)
NEEDED = f"the published figures stand alone: no MIC.csv was given ({_WHERE})"
_ANOTHER = "another data set"
_ON_OURS = (
    f"no MIC.csv was given: our figures are measured on {OURS}, {_ANOTHER}, and do not reproduce "
    f"the paper's ({_WHERE})"
)
_NO_TEXTS = "rows of trained generators are empty: hand their rules in (a file of generated rules)"
_NO_FILTER = (
    "Table 4 is the paper's alone: it needs exchanges labelled as sufficient and as having moral "
    "content"
)
_OTHER = "other models than the paper's, or other annotations than its release"
_OTHER_DATA = f"{_ANOTHER}: {OURS}"
_MISSING = (
    "not measured: no MIC.csv was given",
    "not measured: name a file of generated rules (--generated), experts, or labelled exchanges",
)
_HUMAN = "Human"
_OVER = 0.9  # "over 90 %" of the data is reasonable and interesting
_MAX_RULES = 1_000_000
_TITLES = {
    "Table 1": "Table 1: rules generated or retrieved",
    "Table 2": "Table 2: the same under domain shift",
    "Table 3": "Table 3: attributes predicted from the rule",
    "Table 4": "Table 4: filters of exchanges",
}
_BLOCK = 1024
_PREDICTED = ("alignment", "severity", "consensus", "foundations")

_SHIFT = "Domain shift: trained on the row's exchanges, tested on the column's (ROUGE-L)"
_COLUMN = "R-L"

Cells = Mapping[str, SampleInterval]
Pair = tuple[str, str]
Retrieve = Callable[[Sequence[Annotation], Sequence[Pair]], Mapping[str, Sequence[str]]]
Generated = Mapping[str, Mapping[tuple[str, str], str]]


@dataclass(frozen=True, slots=True)
class IntegritySources:
    """What there is to measure with; everything may be missing."""

    file: AnnotationFile | None = None
    encoder: Encoder | None = None
    scorer: BertScorer | None = None
    generated: Generated = field(default_factory=dict)
    """`generated[row][prompt, reply]` is a rule of a generator."""
    predicted: Mapping[str, Mapping[str, Predict]] = field(default_factory=dict)
    """`predicted[row][attribute]` takes annotations and returns a number (severity, consensus), an
    alignment, or for foundations the names that apply."""
    max_exchanges: int | None = None
    ratings: Sequence[RuleRating] = ()


def our_annotations() -> AnnotationFile:
    """Return the written exchanges that ship, each with its rule and what the rulebook says of it.

    The test part holds the exchanges of rules that no training of ours saw.
    """
    rules = {rule.text: rule for rule in shipped_rulebook().rules}
    rows = [
        replace(
            row,
            split="test" if row.split == "dev" else row.split,
            foundations=rules[row.rule].foundations,
            **rules[row.rule].scales,
        )
        for row in written_exchanges()
    ]
    return AnnotationFile(OURS, OURS, tuple(rows))


def prepare_sources(names: IntegrityOptions, progress: Progress | None = None) -> IntegritySources:
    """Read the user's files, else our own exchanges, and load the models."""
    if names.mic is None and data_file(MIC_FILE) is None:
        if names.columns is not None:
            raise InputError("--columns names columns of MIC.csv", "name the file with --mic")
        file = our_annotations()
    else:
        file = read_annotations(
            names.mic, columns=parse_columns(names.columns), malformed=names.malformed
        )
    return IntegritySources(
        file=file,
        generated=read_generated(names.generated) if names.generated else {},
        encoder=None if names.encoder == NONE else load_encoder(names.encoder, progress),
        scorer=(
            None
            if names.bertscore == NONE
            else load_bert_scorer(names.bertscore, progress=progress)
        ),
        predicted=(
            predictions(prepare_attributes(names.experts, progress)) if names.experts else {}
        ),
        max_exchanges=names.max_exchanges,
        ratings=read_ratings(names.ratings) if names.ratings else (),
    )


def predictions(experts: ExpertSet) -> dict[str, dict[str, Predict]]:
    """Return what experts predict of annotations, as a row of Table 3."""

    def of(name: str) -> Predict:
        def predict(rows: Sequence[Annotation]) -> list[Any]:
            asked = [RuleQuery(row.rule, row.exchange) for row in rows]
            return [attrgetter(name)(one) for one in attributes(asked, models=experts).results]

        return predict

    return {experts.ref.name: {name: of(name) for name in _PREDICTED if name in experts.tasks}}


def reproduce_integrity(
    sources: IntegritySources, *, seed: int = 0, show: ShowTable | None = None
) -> RunRecord:
    """Compute the tables, each with the paper's figures beside ours; `show` gets each of them.

    Examples
    --------
    >>> record = reproduce_integrity(IntegritySources())
    >>> record.results[0].name, record.results[0].rows[0].ours, record.results[0].rows[0].paper
    ('Table 1: rules generated or retrieved', None, 27.19)
    """
    paper = load_paper()
    cells: dict[str, dict[str, Cells]] = {name: {} for name in _TITLES}
    warnings = [NOT_ADVICE, CONTENT, paper.notes["consensus_mse"]]
    extra: list[PaperTable] = []
    ours_alone = sources.file is not None and sources.file.source == OURS
    if sources.file is None:
        warnings.append(NEEDED)
    elif ours_alone:
        warnings.append(_ON_OURS)
        _measure(sources, sources.file, seed, cells)
        warnings += _rate(sources, sources.file, seed, cells)
    else:
        annotations = sources.file.annotations
        shift = _measure(sources, sources.file, seed, cells)
        warnings += _rate(sources, sources.file, seed, cells)
        reliable = []
        for agreement in reliability(annotations, unit="rule", seed=seed):
            name, printed = agreement.attribute, paper.figure2.get(agreement.attribute, {})
            ends = agreement.alpha, agreement.low, agreement.high
            reliable.append(PaperRow(name, "alpha", *ends, printed.get("alpha")))
            reliable.append(paper_row(name, "ICC(1, k)", agreement.icc, printed.get("ICC(1, k)")))
        share = paper_row("interesting", "share", interesting(annotations), _OVER)
        extra = [
            *([shift] if shift else []),
            PaperTable("Figure 2: agreement between annotators of one rule", reliable),
            PaperTable("Section 1: interesting exchanges (paper: over 90 %)", [share]),
        ]
        warnings += [paper.notes["bertscore"], paper.notes["alignment_f1"]]
        warnings += source_warnings(sources.file)
        if not sources.generated:
            warnings.append(_NO_TEXTS)
    warnings.append(_NO_FILTER)
    tables = []
    for name, ours in cells.items():
        printed_table = paper.tables[name]
        rows = [
            paper_row(row, column, ours.get(row, {}).get(column), paper.printed(name, row, column))
            for row in dict.fromkeys([*printed_table, *ours])
            for column in dict.fromkeys([*printed_table.get(row, {}), *ours.get(row, {})])
        ]
        if ours_alone:  # a figure that is equal by chance did not come out
            rows = [
                replace(row, reproduced=_ANOTHER if None not in (row.ours, row.paper) else "")
                for row in rows
            ]
        title = f"{_TITLES[name]}; ours on {_ANOTHER}" if ours and ours_alone else _TITLES[name]
        tables.append(PaperTable(title, rows))
    missing = _MISSING[sources.file is not None]
    other = _OTHER_DATA if ours_alone else _OTHER
    results = [with_outcomes(table, other=other, missing=missing) for table in (*tables, *extra)]
    if show:
        for table in results:
            show(table)
    return RunRecord(
        "reproduce",
        seed=seed,
        config={
            "paper": "integrity",
            "source": sources.file.source if sources.file else None,
            "encoder": sources.encoder.name if sources.encoder else None,
            "bertscore": sources.scorer.signature if sources.scorer else None,
            "bleu": BLEU_IS,
            "max_exchanges": sources.max_exchanges,
        },
        models=[
            *(model_refs([sources.encoder]) if sources.encoder else []),
            *([sources.scorer.ref] if sources.scorer else []),
        ],
        results=results,
        statistics=NoStatistics(),
        warnings=warnings,
    )


@dataclass(frozen=True, slots=True)
class _GeneratedRule:
    model: str  # a row of the table
    prompt: str
    reply: str
    rule: str


def read_generated(path: Path) -> dict[str, dict[tuple[str, str], str]]:
    """Read model (a row of the table), prompt, reply and the rule generated for them: JSONL."""
    remedy = "give JSONL with model, prompt, reply, rule on each line"
    table = TableFile(
        path, kind=".jsonl", layout=Layout(remedy=remedy), limits=Limits(rows=_MAX_RULES)
    )
    rules: dict[str, dict[tuple[str, str], str]] = {}
    for line, cells in table.strict_rows():
        row = decode(_GeneratedRule, cells, f"{path} line {line}", remedy=remedy)
        rules.setdefault(row.model.strip(), {})[row.prompt.strip(), row.reply.strip()] = (
            row.rule.strip()
        )
    if not rules:
        raise InputError(f"{path} holds no rules", remedy)
    return rules


def _measure(
    sources: IntegritySources, file: AnnotationFile, seed: int, cells: dict[str, dict[str, Cells]]
) -> PaperTable | None:
    """Fill the tables in; return the one of domain shift, where there are several chatbots."""
    split = split_annotations(file.annotations, seed=seed)
    train, test = split.of(file.annotations, "train"), split.of(file.annotations, "test")
    references = grouped((row.pair, row.rule) for row in test)
    chosen, most = list(references), sources.max_exchanges
    if most is not None and len(chosen) > most:
        drawn = np.random.default_rng(seed).choice(len(chosen), most, replace=False)
        chosen = [chosen[index] for index in sorted(drawn.tolist())]
    wanted = [references[pair] for pair in chosen]
    rules = _retrieved(train, chosen, sources.encoder, seed) if train else {}
    for name, texts in rules.items():
        cells["Table 1"][name] = measure_rules(texts, wanted, scorer=sources.scorer, seed=seed)
    for name, by_pair in sources.generated.items():
        known = [pair for pair in chosen if pair in by_pair]
        if known:
            texts = [by_pair[pair] for pair in known]
            table = cells["Table 2" if name == SHIFTED else "Table 1"]
            table[name] = measure_rules(
                texts, [references[pair] for pair in known], scorer=sources.scorer, seed=seed
            )
    kept = set(chosen)
    tested = [row for row in test if row.pair in kept]
    for name, predict in sources.predicted.items():
        cells["Table 3"][name] = measure_attributes(tested, predict, seed=seed)
    if people := _people(file.annotations, seed):
        cells["Table 3"]["Human"] = people
    chatbots = {row.pair: row.chatbot for row in tested}
    asked = {pair: references[pair] for pair in chosen}
    retrieve = partial(_retrieved, encoder=sources.encoder, seed=seed)
    return shift_table(train, asked, chatbots, retrieve, sources.generated, seed)


def _rate(
    sources: IntegritySources, file: AnnotationFile, seed: int, cells: dict[str, dict[str, Cells]]
) -> list[str]:
    """Fill in what people said of rules; say how many ratings are of rules that nobody wrote."""
    writers: dict[tuple[str, str, str], list[str]] = {}
    for row in file.annotations:
        known = writers.setdefault((*row.pair, row.rule.strip()), [])
        known += [] if _HUMAN in known else [_HUMAN]
    for name, by_pair in sources.generated.items():
        for pair, rule in by_pair.items():
            writers.setdefault((*pair, rule), []).append(name)
    for name, columns in people_columns(sources.ratings, writers, seed=seed).items():
        table = cells["Table 2" if name == SHIFTED else "Table 1"]
        table[name] = {**table.get(name, {}), **columns}
    unknown = sum(rating.judged not in writers for rating in sources.ratings)
    if not unknown:
        return []
    return [f"{unknown:,} of {len(sources.ratings):,} ratings are of rules in none of the files"]


def _retrieved(
    train: Sequence[Annotation], chosen: Sequence[Pair], encoder: Encoder | None, seed: int
) -> dict[str, list[str]]:
    """Return the baselines of section 5.1: a random rule, and one of the nearest exchange."""
    draw = np.random.default_rng(seed)
    random = [train[row].rule for row in draw.integers(0, len(train), len(chosen)).tolist()]
    if encoder is None:
        return {"Random RoT": random}
    known = grouped((row.pair, row.rule) for row in train)
    pairs = list(known)
    bank, asked = (
        unit_rows(encoder.encode([" ".join(pair) for pair in exchanges]).astype(np.float64))
        for exchanges in (pairs, chosen)
    )
    nearest: list[str] = []
    for start in range(0, len(chosen), _BLOCK):
        for index in (asked[start : start + _BLOCK] @ bank.T).argmax(axis=1).tolist():
            rules = known[pairs[index]]
            nearest.append(rules[int(draw.integers(len(rules)))])
    return {"Random RoT": random, "SBERT": nearest}


def _people(annotations: Sequence[Annotation], seed: int) -> dict[str, SampleInterval]:
    """Measure one annotator by another where two judged the same rule of the same exchange."""
    groups = grouped(((row.pair, row.rule), row) for row in annotations)
    pairs = [(rows[0], rows[1]) for rows in groups.values() if len(rows) > 1]
    others = {id(first): second for first, second in pairs}

    figures: dict[str, SampleInterval] = {}
    for name in ("severity", "consensus", "alignment", "foundations"):
        judged = attrgetter(name)
        scale = SCALES[name].merge if name in SCALES else lambda value: value

        def other(rows: Sequence[Annotation], judged: Any = judged, scale: Any = scale) -> Any:
            return [scale(judged(others[id(row)])) for row in rows]

        rows = [first for first, second in pairs if judged(second) is not None]
        figures |= measure_attributes(rows, {name: other}, seed=seed)
    return figures


def shift_table(
    train: Sequence[Annotation],
    references: Mapping[Pair, Sequence[str]],
    chatbots: Mapping[Pair, str],
    retrieve: Retrieve,
    generated: Mapping[str, Mapping[Pair, str]],
    seed: int,
) -> PaperTable | None:
    """Measure every system on the test exchanges of every chatbot; None where there is one only.

    `references` are the rules of people for each exchange tested, `chatbots` who replied in it;
    `retrieve` takes rules for exchanges from some annotations, by the name of the method.
    """
    tested = sorted(set(chatbots.values()) - {""})
    if len(tested) < 2:
        return None
    parts = {bot: [pair for pair in references if chatbots.get(pair) == bot] for bot in tested}
    rows: list[PaperRow] = []
    for learnt in (*tested, ALL):
        known = [row for row in train if learnt in (row.chatbot, ALL)]
        for bot, pairs in parts.items() if known else ():
            for method, texts in retrieve(known, pairs).items():
                wanted = [references[pair] for pair in pairs]
                score = measure_rules(texts, wanted, seed=seed)[_COLUMN]
                rows.append(paper_row(f"{method}, {learnt}", bot, score, None))
    for name, rules in generated.items():
        for bot, pairs in parts.items():
            known_pairs = [pair for pair in pairs if pair in rules]
            if known_pairs:
                texts = [rules[pair] for pair in known_pairs]
                wanted = [references[pair] for pair in known_pairs]
                score = measure_rules(texts, wanted, seed=seed)[_COLUMN]
                rows.append(paper_row(name, bot, score, None))
    return PaperTable(_SHIFT, sorted(rows, key=lambda row: row.row))
