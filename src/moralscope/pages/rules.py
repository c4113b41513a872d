"""The pages of `rules`: what is found, written, estimated, linted, warranted, learnt, counted."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from moralscope.core.records import NoStatistics, RunRecord
from moralscope.pages import Presentation
from moralscope.pages.charts import bars
from moralscope.pages.page import Column, Page, Section, Table, head
from moralscope.pages.words import cut, more_note, plural

if TYPE_CHECKING:  # a listing of rules needs no audit and no generator
    from moralscope.rules.annotations.statistics import AnnotationStatistics, Bar, Reliability
    from moralscope.rules.learnt import LearntRule
    from moralscope.rules.records import EstimatedRule, HasScales, ListedRule
    from moralscope.rules.retrieval import FoundRules
    from moralscope.rules.rulebooks.check import CheckFinding, CheckStatistics
    from moralscope.rules.rulebooks.learn import LearnStatistics
    from moralscope.rules.rulebooks.show import LintFinding, LintStatistics, ShowStatistics
    from moralscope.rules.rulebooks.warrant import WarrantStatistics
    from moralscope.rules.warrant_file import RuleWarrant
    from moralscope.rules.writing.rule_writer import GeneratedRules

LIMITS = (
    "It is not moral advice, and no authority. Rules of thumb are opinions that many hold; "
    "several, even conflicting ones, may apply at once.",
    "It repeats people. What models say of a rule they learnt from crowd workers who wrote US "
    "English; other people differ.",
)
_MOST = 200  # exchanges that a page shows
_FOUND = head("similarity: signed | rule: wide 60 | about: wide 30")


def _scales(rule: "HasScales", form: str = "g") -> list[str]:
    """Return severity and consensus in words, where they are known."""
    return [f"{name} {value:{form}}" for name, value in rule.scales.items() if value is not None]


def _about(rule: "ListedRule") -> str:
    return ", ".join([*rule.foundations, *_scales(rule)]) or rule.source


def _exchange(prompt: str | None, reply: str | None) -> str:
    return f"{cut(prompt, 200)} → {cut(reply or '', 200)}" if prompt else cut(reply or "", 200)


def _page(title: str, headline: str, *sections: Section, main: Table | None = None) -> Page:
    return Page(title, [f"{headline}."], sections=sections, headline=headline, main=main)


def _by_exchange(record: RunRecord, title: str, tables: Sequence[Table]) -> Page:
    note = more_note(len(record.results) - _MOST)
    section = Section(title, [note] if note else [], tables, shown="all")
    return _page(title, f"{title}: {plural(len(record.results), 'exchange')}", section)


def retrieve_page(record: RunRecord) -> Page:
    """Lay out the rules found for each exchange."""
    results: Sequence[FoundRules] = record.results
    tables = []
    for row in results[:_MOST]:
        cells = [[rule.score, rule.text, _about(rule)] for rule in row.rules]
        tables.append(Table(_exchange(row.prompt, row.reply), _FOUND, cells, titled=True))
    return _by_exchange(record, "Rules found", tables)


def generate_page(record: RunRecord) -> Page:
    """Lay out the rules written for each exchange, and those that were left out."""
    results: Sequence[GeneratedRules] = record.results
    tables = []
    for row in results[:_MOST]:
        rows: list[list[Any]] = [[None, "no rules", row.refusal]] if row.refusal else []
        for rule in row.rules:
            first = sorted(rule.foundations, key=lambda name: -rule.foundations[name])[:1]
            scales = _scales(rule, ".1f")
            about = f"{rule.evidence}: {', '.join([*first, *scales])}" if scales else rule.evidence
            rows.append([rule.score, rule.text, about])
        rows += [[None, cut(left.text, 200), f"left out: {left.reason}"] for left in row.left_out]
        tables.append(Table(_exchange(row.prompt, row.reply), _FOUND, rows, titled=True))
    return _by_exchange(record, "Rules written", tables)


def attributes_page(record: RunRecord) -> Page:
    """Lay out what experts say of rules, and how replies stand to them."""
    results: Sequence[EstimatedRule] = record.results
    columns = head(
        "rule: wide 44 | foundations: wide 24 | severity: number 1 | consensus: number 1",
        "the reply: wide 24 | probabilities: wide 40",
    )
    rows = []
    for row in results:
        foundations = None if row.foundations is None else ", ".join(row.foundations) or "none"
        reply = None if row.reply is None else f"{row.alignment}: {cut(row.reply, 200)}"
        chances = ", ".join(f"{name} {chance:.2f}" for name, chance in row.probabilities.items())
        scales = (row.severity, row.consensus)
        rows.append([cut(row.rule, 300), foundations, *scales, reply, chances])
    table = Table("Rules", columns, rows)
    headline = (
        f"Attributes of {plural(len(rows), 'rule')}, estimated by {record.config.get('experts')}"
    )
    return _page("Attributes of rules", headline, Section("Rules", [], [table], shown="all"))


def _counted(statistics: "LintStatistics | CheckStatistics") -> str:
    adjectives = ("vague", "always", "never")
    return ", ".join(
        f"{count:,} {kind}" if kind in adjectives else plural(count, kind)
        for kind, count in statistics.findings.items()
    )


def lint_page(record: RunRecord) -> Page:
    """Lay out the objections to rulebooks."""
    statistics: LintStatistics = record.statistics
    results: Sequence[LintFinding] = record.results
    rows = [[finding.kind, finding.score, finding.message] for finding in results]
    columns = [Column("kind"), Column("alike", "number", 2), Column("objection", wide=80)]
    rules = plural(statistics.rules, "rule")
    headline = f"{record.config.get('rulebook')}: {rules}; {_counted(statistics)}"
    section = Section("Objections", [], [Table("Objections", columns, rows)], shown="all")
    balance = _balance(statistics.foundations)
    return _page("What a reader would object to", headline, section, balance)


def _balance(foundations: Mapping[str, int]) -> Section:
    counts = [float(count) for count in foundations.values()]
    chart = bars("Rules by foundation", {"rules": counts}, list(foundations), "rules")
    return Section("Balance", ["Rules by first foundation."], [chart])


def check_page(record: RunRecord) -> Page:
    """Lay out rules that collide, overlap, never fire or fire on everything."""
    statistics: CheckStatistics = record.statistics
    results: Sequence[CheckFinding] = record.results
    rows = []
    for finding in results:
        exchange = _exchange(finding.prompt, finding.reply) if finding.reply is not None else None
        rows.append([finding.kind, finding.message, exchange, finding.wins])
    columns = head("kind | finding: wide 60 | shown by: wide 40 | wins: wide 24")
    tried = f"{plural(statistics.rules, 'rule')} on {statistics.replies:,} replies"
    headline = f"{record.config.get('rulebook')}: {tried}; {_counted(statistics)}"
    used = head(Column("rule"), "asked: whole | broken: whole | followed: whole")
    uses = [[use.rule, use.asked, use.broken, use.kept] for use in statistics.uses]
    return _page(
        "Rules checked",
        headline,
        Section("Findings", [], [Table("Findings", columns, rows)], shown="all"),
        Section("Rules broken most", [], [Table("Rules broken most", used, uses)]),
    )


def warrant_page(record: RunRecord) -> Page:
    """Lay out whether rules can be enforced, the pairs that failed, and better wordings."""
    statistics: WarrantStatistics = record.statistics
    results: Sequence[RuleWarrant] = record.results
    words = ", ".join(f"{count:,} {word}" for word, count in statistics.words.items())
    headline = f"{record.config.get('rulebook')}: {plural(statistics.rules, 'rule')}; {words}"
    share = Column("", "share interval", 0)
    rows, failed, better = [], [], []
    for row in results:
        labelled = row.labelled if row.labelled.n else None
        rows.append([row.rule, row.word, row.pairs, labelled, row.limit, row.alarms])
        for pair in row.failed:
            there, elsewhere = (
                _exchange(pair.prompt, pair.breaks),
                _exchange(pair.other_prompt, pair.other),
            )
            chances = (pair.p_breaks, pair.p_other)
            failed.append([row.rule, pair.source, there, chances[0], elsewhere, chances[1]])
        if row.rewording is not None:
            worded = share.write(row.rewording.pairs)
            better.append([row.rule, share.write(row.pairs), row.rewording.text, worded])
    heads = head(
        "rule: wide 44 | word | pairs right: share interval 0",
        Column("of your labels", "share interval", 0, brief=False),
        "limit: number 2 | false alarms: share interval 0",
    )
    pairs = head(
        "rule: wide 40 | made of | breaks it: wide 40 | P: number 2 | does not: wide 40",
        "P : number 2",
    )
    wordings = head("rule: wide 50 | pairs right | in other words: wide 50 | pairs right ")
    prose = [
        "A pair is right where the breach is found and the matching fine reply isn't flagged. "
        f"At its limit a rule flags at most {statistics.budget:.1%} of {statistics.fine:,} fine "
        "replies."
    ]
    sections = [Section("Rules", prose, [Table("Rules", heads, rows)], shown="all")]
    for table in (
        Table("Wordings that do better", wordings, better, titled=True),
        Table("Pairs that failed", pairs, failed, titled=True),
    ):
        if table.rows:
            shown = "all" if table.title.startswith("Wordings") else "report"
            sections.append(Section(table.title, [], [table], shown=shown))
    return _page("Warrant", headline, *sections)


def learn_page(record: RunRecord) -> Page:
    """Lay out what labels gave: F1 and AUC before and after, and the rules."""
    statistics: LearnStatistics = record.statistics
    results: Sequence[LearntRule] = record.results
    one, other = statistics.auc_before, statistics.auc_head
    rows = [
        ["the experts alone", statistics.before, None, one, None],
        ["a head on their vectors", statistics.head, statistics.p_f1, other, statistics.p_auc],
    ]
    labels = f"{plural(statistics.labels, 'label')}, {statistics.broken:,} of breaches"
    kept = "a head on the experts' vectors" if statistics.kept else "nothing"
    headline = f"{record.config.get('rulebook')}: {labels}; {kept} is kept"
    prose = [
        "F1 and AUC on labels that were not learnt from, weighted as if one reply in ten broke its "
        "rule. p says how likely a gain as large would be if there were none (paired bootstrap); "
        "a head is kept if that of AUC is below 0.3 or that of F1 below 0.05, and it beats chance."
    ]
    heads = head("with | F1: interval 2 | p: p | AUC: number 3 | p: p")
    table = Table("What labels gain", heads, rows)
    rules = [[rule.text, rule.labels, rule.broken] for rule in results]
    heads = head("rule: wide 70 | labels: whole | broken: whole")
    return _page(
        "Rules learnt from labels",
        headline,
        Section(table.title, prose, [table], shown="all"),
        Section("Rules", [], [Table("Rules", heads, rules)], shown="all"),
    )


def show_page(record: RunRecord) -> Page:
    """List rules by theme."""
    statistics: ShowStatistics = record.statistics
    results: Sequence[ListedRule] = record.results
    shares = ", ".join(f"{name} {count:,}" for name, count in statistics.foundations.items())
    rows = [[rule.theme or "no theme", rule.text, _about(rule)] for rule in results]
    table = Table("Rules", head("theme: wide 20 | rule: wide 60 | about: wide 30"), rows)
    rules = plural(statistics.rules, "rule")
    headline = f"{record.config.get('rulebook')}: {rules}; first foundation: {shares}"
    section, balance = Section("Rules", [], [table], shown="all"), _balance(statistics.foundations)
    title = f"Rules of {record.config.get('rulebook')}"
    return _page(title, headline, section, balance, main=table)


def stats_page(record: RunRecord) -> Page:
    """Lay out what a file of annotations is made of, beside the paper's figures."""
    statistics: AnnotationStatistics = record.statistics
    results: Sequence[Bar] = record.results
    sizes, printed = statistics.counts, statistics.paper
    unit = "situations" if record.config.get("kind") == "social-chem" else "exchanges"
    headline = (
        f"{sizes.annotations:,} annotations of {sizes.exchanges:,} {unit} "
        f"({sizes.prompts:,} prompts), {sizes.rules:,} different rules"
    )
    lines = [
        f"Annotations per exchange: {sizes.per_exchange:.2f}; words per rule: {sizes.words:.1f}; "
        f"repeated rules: {sizes.repeated_rules:,}; revised replies: {sizes.revised:,}."
    ]
    columns = head(
        "attribute | value: wide 12 | annotations: whole | share: share 1 | paper: share 0",
        "reply disagrees: share 0",
    )
    rows = []
    for bar in results:
        shares = (bar.share, printed.shares.get(bar.value), bar.disagree)
        rows.append([bar.attribute, bar.value, bar.count, *shares])
    names = [f"{bar.attribute} {bar.value}" for bar in results]
    ours = {"this file": [100 * bar.share for bar in results]}
    table = Table("Attributes", columns, rows)
    sections = [
        Section("In short", lines, shown="terminal"),
        Section("How attributes are distributed", [], [table], shown="all"),
        Section("Shares", [], [bars("Shares of the annotations", ours, names, "%")]),
    ]
    one_exchange = "Agreement about one exchange, each with a rule of their own"
    for title, reliabilities, paper in (
        ("Agreement about one rule", statistics.reliability_same_rule, printed.reliability),
        (one_exchange, statistics.reliability_own_rules, {}),
    ):
        if reliabilities:
            table = _reliability_table(title, reliabilities, paper)
            sections.append(Section(title, [], [table], shown="all"))
    if statistics.split is not None:
        whose = "the file's own" if statistics.split.official else "ours, 80-10-10"
        parts = statistics.split.exchanges.items()
        counts = ", ".join(f"{part} {count:,}" for part, count in parts)
        sections.append(Section("Parts", [f"Exchanges by part ({whose}): {counts}."], shown="all"))
    return Page(
        "Annotations of rules", [f"{headline}.", *lines], sections=sections, headline=headline
    )


def _reliability_table(
    title: str, reliabilities: "Sequence[Reliability]", paper: Mapping[str, Any]
) -> Table:
    columns = head(
        "attribute | units: whole | alpha: interval 2 | paper's: number 2 | ICC(1, k): number 2",
        "paper's : number 2",
    )
    rows = []
    for row in reliabilities:
        printed = paper.get(row.attribute, {})
        ends = (row.alpha, row.low, row.high)
        alpha = None if row.alpha is None else tuple(float("nan") if e is None else e for e in ends)
        cells = [alpha, printed.get("alpha"), row.icc, printed.get("ICC(1, k)")]
        rows.append([row.attribute, row.units, *cells])
    return Table(title, columns, rows, titled=True)


def _types(module: str, result: str, statistics: str = "") -> Callable[[Any], tuple[Any, Any]]:
    """Return what imports the classes of a record when one is read back."""

    def classes(_config: Any) -> tuple[Any, Any]:
        names = vars(importlib.import_module(f"moralscope.rules.{module}"))
        return names[result], names[statistics] if statistics else NoStatistics

    return classes


PRESENTATIONS = {
    f"rules {name}": Presentation(build, types, LIMITS)
    for name, build, types in (
        ("retrieve", retrieve_page, _types("retrieval", "FoundRules", "RetrieveStatistics")),
        (
            "generate",
            generate_page,
            _types("writing.rule_writer", "GeneratedRules", "GenerateStatistics"),
        ),
        ("attributes", attributes_page, _types("records", "EstimatedRule")),
        ("lint", lint_page, _types("rulebooks.show", "LintFinding", "LintStatistics")),
        ("check", check_page, _types("rulebooks.check", "CheckFinding", "CheckStatistics")),
        ("warrant", warrant_page, _types("rulebooks.warrant", "RuleWarrant", "WarrantStatistics")),
        ("learn", learn_page, _types("rulebooks.learn", "LearntRule", "LearnStatistics")),
        ("show", show_page, _types("rulebooks.show", "ListedRule", "ShowStatistics")),
        ("stats", stats_page, _types("annotations.statistics", "Bar", "AnnotationStatistics")),
    )
}
