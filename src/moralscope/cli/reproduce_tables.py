"""The tables of the first two papers in the terminal, in their order, ours beside the printed."""

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from moralscope.cli.output import correlation_rows, out, plain_table, print_warnings
from moralscope.stats.summary import reproduced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from moralscope.core.records import RunRecord
    from moralscope.papers.choice import ChoiceReproduction, WordRow
    from moralscope.papers.direction import BiasTable, DirectionReproduction, FitReproduction
    from moralscope.papers.words import WordsReproduction
    from moralscope.stats.significance import TTest

# Behind a printed figure: whether it came out again.
_AGAIN = {"": "", "inside the interval": "=", "same sign": "~", "other sign": "x"}


def show_choice(result: "ChoiceReproduction") -> None:
    """Print one encoder's tables, in the paper's order."""
    from moralscope.words.paper import load_paper

    paper = load_paper()
    printed = {
        "dos": paper.dos_summary,
        "donts": paper.donts_summary,
        "all": paper.all_summary,
        "t": paper.t,
        "p_below": paper.p_below,
        "r": paper.r,
    }
    out.print(f"\n{result.encoder}", style="bold underline")
    out.print(_figures(result, printed))
    out.print(_printed_words([*result.printed_dos, *result.printed_donts]))
    out.print(_words("Our ten dos and don'ts by bias", result.top_dos, result.top_donts))
    out.print(_words("Table 1: gender bias of occupations", result.female, result.male))
    for row in result.rankings:
        out.print(f"Table 3: {row.question}", style="bold")
        for answer, ours, there in zip(row.answers, row.ours, row.paper, strict=True):
            out.print(f"  {answer:<22}{ours:+.2f}   paper {there:+.2f}")
    lists = (*result.printed_dos, *result.printed_donts, *result.female, *result.male)
    _print_tally([reproduced(row.ours, row.paper, row.low, row.high) for row in lists])
    out.print(f"why not all: other weights ({result.encoder}; the paper's are USE's)")


def _print_tally(told: "Sequence[str]") -> None:
    """Say how many printed figures came out again."""
    known = [word for word in told if word]
    if known:
        inside, other = (known.count(word) for word in ("inside the interval", "other sign"))
        out.print(
            f"reproduced: {len(known) - other} of {len(known)} printed figures with the same sign, "
            f"{inside} inside our interval (behind each: = inside, ~ same sign, x other sign)"
        )


def show_choice_end(record: "RunRecord") -> None:
    words = record.statistics["words"]
    if words is not None:
        _show_vocabulary(words)
    print_warnings(record)


def _figures(result: "ChoiceReproduction", paper: Any) -> "Table":
    table = plain_table("figure", "ours", "paper")
    for label, ours, printed in (
        ("dos, mean (sd)", result.dos, paper["dos"]),
        ("don'ts, mean (sd)", result.donts, paper["donts"]),
        ("all, mean (sd)", result.all, paper["all"]),
    ):
        table.add_row(
            label, f"{ours.mean:+.3f} ({ours.sd:.3f})", f"{printed.mean:+.3f} ({printed.sd:.2f})"
        )
    table.add_row(
        "t (Student)", _test(result.student), f"{paper['t']:.2f}***, p < {paper['p_below']}"
    )
    table.add_row("t (Welch)", _test(result.welch), "")
    for label, found in (
        ("r with WEAT as printed", result.weat_printed),
        ("r with WEAT as published, all words", result.weat_published),
        ("r with WEAT of our vectors", result.weat_ours),
    ):
        if found is None:
            table.add_row(label, "not measured: see the notes", "")
            continue
        first, *inner = correlation_rows(label, found)
        table.add_row(*first, f"{paper['r']}***")
        for row in inner:
            table.add_row(*row, "")
    table.add_row("female-biased occupations", f"{result.female_right} of 10", "10 of 10")
    table.add_row("male-biased occupations", f"{result.male_right} of 10", "10 of 10")
    return table


def _test(found: "TTest") -> str:
    return f"{found.t:.2f}{found.stars}, p = {found.p:.2g}"


def _show_vocabulary(words: "WordsReproduction") -> None:
    from moralscope.cli.words import show_extracted, valence_table

    out.print(f"\nWords of {words.vectors}", style="bold underline")
    table = plain_table("WEAT values, ours against", "r")
    for label, found in (
        ("the papers' tables", words.agreement),
        ("all published", words.agreement_published),
    ):
        if found is not None:
            for row in correlation_rows(label, found):
                table.add_row(*row)
    table.add_row("not in the vocabulary", ", ".join(words.missing))
    out.print(table)
    for each in words.extractions:
        counts = f"{each.statistics['words']:,} words, {each.statistics['verbs']:,} verbs"
        out.print(f"\nDos and don'ts of {each.vectors}: {counts}", style="bold")
        show_extracted(each.verbs, each.statistics)
        if each.statistics["validation"] is not None:
            out.print(valence_table(each.statistics["validation"]))
    if words.validation is not None:
        out.print("\nThe papers' own dos and don'ts", style="bold")
        out.print(valence_table(words.validation))


def _printed_words(rows: "Sequence[WordRow]") -> "Table":
    """Lay out Table 2: bias and WEAT of the words that the paper prints."""
    titles = ("word", "bias, ours", "paper", "WEAT, ours", "paper ")
    table = plain_table(*titles, title="Table 2: the paper's ten dos and don'ts")
    for row in rows:
        again = _AGAIN[reproduced(row.ours, row.paper, row.low, row.high)]
        weat = map(_number, (row.weat_ours, row.weat_paper))
        table.add_row(row.word, _number(row.ours), f"{_number(row.paper)}{again}", *weat)
    return table


def _words(title: str, left: "Sequence[WordRow]", right: "Sequence[WordRow]") -> "Table":
    """Lay out two lists side by side."""
    titles = ("word", "ours", "paper")
    table = plain_table(*titles, *(f"{name} " for name in titles), title=title)
    for pair in zip(left, right, strict=True):
        cells: list[str] = []
        for row in pair:
            again = _AGAIN[reproduced(row.ours, row.paper, row.low, row.high)]
            cells += [row.word, _number(row.ours, 2), f"{_number(row.paper, 2)}{again}"]
        table.add_row(*cells)
    return table


def show_direction(result: "DirectionReproduction") -> None:
    """Print one encoder's tables, in the paper's order."""
    out.print(f"\n{result.encoder}", style="bold underline")
    for title, found in (
        ("Table 7: dos and don'ts", result.table7),
        ("Table 8: with context", result.table8),
    ):
        out.print(_printed_biases(f"{title}, mean bias of what the paper prints", found))
        out.print(_biases(f"{title}, our top ten by mean bias", found))
    out.print(_figure2(result))
    for fit in result.fits:
        _show_fit(fit)
    told = []
    for part in (result.fits[0].atomic, result.fits[0].contextual):
        titles = ("action", "ours", "raw", "BERT m", "USE m")
        table = plain_table(*titles, title="Table 9, ours by pca (m < 0 is good)")
        for row in sorted(part, key=lambda row: -row.ours):
            turned = None if row.bert is None else -row.bert
            told.append(reproduced(row.ours, turned, row.low, row.high))
            bert = f"{_number(row.bert)}{_AGAIN[told[-1]]}"
            table.add_row(row.action, _number(row.ours), _number(row.raw), bert, _number(row.use))
        out.print(table)
    _print_tally(told)
    out.print(f"why not all: other weights ({result.encoder}; the paper's are BERT's and USE's)")


def _figure2(result: "DirectionReproduction") -> "Table":
    """Mean biases and r with WEAT, ours beside what the paper prints for both its encoders."""
    from moralscope.axes.direction.paper import load_paper

    printed = [load_paper().figures[name] for name in ("bert", "use")]
    table = plain_table("Figure 2: bias against WEAT", "ours", "BERT", "USE")
    for label, name in (("dos", "dos"), ("don'ts", "donts"), ("all", "all")):
        groups = [result.means[name], *(attrgetter(name)(figure) for figure in printed)]
        table.add_row(
            f"{label}, mean (sd)", *(f"{each.mean:+.3f} ({each.sd:.3f})" for each in groups)
        )
    for name, found in result.bias_weat.items():
        first, *inner = correlation_rows(f"r with WEAT, {name}", found)
        again = (_AGAIN[reproduced(found.r, each.r, found.low, found.high)] for each in printed)
        told = (f"{each.r:.2f}{sign}" for each, sign in zip(printed, again, strict=True))
        table.add_row(*first, *told)
        table.add_row("  p", f"{found.p:.2g}", *(f"{each.p:.2g}" for each in printed))
        for row in inner:
            table.add_row(*row)
    return table


def _show_fit(fit: "FitReproduction") -> None:
    out.print(f"\nDirection by {fit.direction['method']} ({fit.fit})", style="bold")
    for label, key in (("actions", ""), ("differences", "_differences")):
        shares = fit.direction[f"explained_variance{key}"][:5]
        line = " ".join(f"{share:.1%}" for share in shares)
        out.print(f"Figure 3: variance explained, PCA of {label}: {line} …")
    table = plain_table("direction against", "rho or r")
    for label, group in (("Table 9, order of", fit.agreement), ("WEAT,", fit.weat)):
        for name, found in group.items():
            for row in correlation_rows(f"{label} {name}", found):
                table.add_row(*row)
    out.print(table)


def _printed_biases(title: str, found: "BiasTable") -> "Table":
    table = plain_table("action", "ours", "BERT", "USE", title=title)
    for row in found.printed:
        again = (
            f"{_number(value)}{_AGAIN[reproduced(row.ours, value, row.low, row.high)]}"
            for value in (row.bert, row.use)
        )
        table.add_row(row.action, _number(row.ours), *again)
    return table


def _biases(title: str, found: "BiasTable") -> "Table":
    titles = ("action", "ours", "BERT", "USE")
    table = plain_table(*titles, *(f"{name} " for name in titles), title=title)
    for pair in zip(found.dos, found.donts, strict=True):
        cells: list[str] = []
        for row in pair:
            cells += [row.action, *map(_number, (row.ours, row.bert, row.use))]
        table.add_row(*cells)
    return table


def _number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:+.{digits}f}"
