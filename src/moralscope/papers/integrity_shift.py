"""Domain shift of rules of thumb: what was learnt on one chatbot's exchanges, tested on another's.

Section 6.2 of Ziems et al. 2022 asks it of a generator from another corpus; the same question can
be asked inside the corpus, whose exchanges come from several chatbots. Retrieval is trained on each
chatbot's part; generated rules are tested on each.
"""

from collections.abc import Callable, Mapping, Sequence

from moralscope.papers.stories_texts import PaperRow, PaperTable
from moralscope.rules.metrics import measure_rules
from moralscope.rules.records import Annotation

TITLE = "Domain shift: trained on the row's exchanges, tested on the column's (ROUGE-L)"
ALL = "all"
_COLUMN = "R-L"

Pair = tuple[str, str]
Retrieve = Callable[[Sequence[Annotation], Sequence[Pair]], Mapping[str, Sequence[str]]]


def shift_table(
    train: Sequence[Annotation],
    references: Mapping[Pair, Sequence[str]],
    chatbots: Mapping[Pair, str],
    retrieve: Retrieve,
    generated: Mapping[str, Mapping[Pair, str]],
    seed: int,
) -> PaperTable | None:
    """Measure every system on the test exchanges of every chatbot; None where there is one only.

    Parameters
    ----------
    train
        Annotations that retrieval may take rules from.
    references
        The rules of people for each exchange tested.
    chatbots
        Who replied in each exchange tested.
    retrieve
        Rules for exchanges from some annotations, by the name of the method.
    generated
        Rules by the name of their generator.
    seed
        Of the intervals.

    Examples
    --------
    >>> from moralscope.rules.records import Exchange
    >>> train = [Annotation(Exchange("a", "b"), "Be kind.", chatbot=bot) for bot in ("X", "Y")]
    >>> chatbots = {("c", "d"): "X", ("e", "f"): "Y"}
    >>> first = lambda rows, pairs: {"first": [rows[0].rule] * len(pairs)}
    >>> wanted = {pair: ["Be kind."] for pair in chatbots}
    >>> table = shift_table(train, wanted, chatbots, first, {}, 0)
    >>> [(row.row, row.column, round(row.ours)) for row in table.rows][0]
    ('first, X', 'X', 100)
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
                told = [references[pair] for pair in pairs]
                rows.append(_row(f"{method}, {learnt}", bot, texts, told, seed))
    for name, rules in generated.items():
        for bot, pairs in parts.items():
            known_pairs = [pair for pair in pairs if pair in rules]
            if known_pairs:
                texts = [rules[pair] for pair in known_pairs]
                told = [references[pair] for pair in known_pairs]
                rows.append(_row(name, bot, texts, told, seed))
    return PaperTable(TITLE, sorted(rows, key=lambda row: row.row))


def _row(
    name: str, bot: str, texts: Sequence[str], references: Sequence[Sequence[str]], seed: int
) -> PaperRow:
    found = measure_rules(texts, references, seed=seed)[_COLUMN]
    return PaperRow(name, bot, found.value, found.low, found.high, None)
