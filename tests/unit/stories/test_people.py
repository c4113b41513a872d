"""The human evaluation pack: blinded, fair, and the same ratings when it comes back."""

import csv
import json
from collections import Counter

import pytest

from moralscope.core.errors import InputError
from moralscope.io.files import escape_cell, restore_cell
from moralscope.stories.people import CRITERIA, StrategyOutput, make_pack, read_pack, write_pack
from moralscope.stories.people_sheets import read_key

STRATEGIES = ("plain sampling", "ranking", "abduction")


def outputs(stories=12, strategies=STRATEGIES, text="Jo tries {strategy} {id} {target}."):
    return [
        StrategyOutput(
            strategy,
            f"s{number}",
            target,
            text.format(strategy=STRATEGIES.index(strategy), id=number, target=target),
            {"norm": f"Norm {number}.", "situation": "A shop.", "intention": "Jo wants bread."},
        )
        for strategy in strategies
        for number in range(stories)
        for target in ("moral", "immoral")
    ]


def fill(folder, answer):
    """Write every rater's answers: answer(rater, item of the key, criterion) → 0, 1 or ""."""
    key = {item.item: item for item in read_key(folder / "key.json").items}
    for path in sorted((folder / "sheets").glob("*.csv")):
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
        for row in rows:
            for name in CRITERIA["action"]:
                row[name] = answer(path.stem, key[row["item"]], name)
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)


def sheets(folder):
    return sorted((folder / "sheets").glob("*.csv"))


def test_no_sheet_names_a_strategy_and_every_rater_has_an_order_of_her_own(tmp_path):
    write_pack(outputs(), "action", tmp_path / "pack", sample=10, seed=4)
    orders = []
    for path in (tmp_path / "pack" / "sheets").iterdir():
        text = path.read_text("utf-8-sig")
        assert not any(name in text for name in STRATEGIES)
        if path.suffix == ".jsonl":
            orders.append([json.loads(line)["item"] for line in text.splitlines()])
    assert len({tuple(order) for order in orders}) == 3
    assert len({frozenset(order) for order in orders}) == 1


def test_every_strategy_is_judged_on_the_same_samples_half_of_them_moral():
    pack = make_pack(outputs(), "action", sample=10, seed=4)
    by_strategy = {
        name: sorted((item.id, item.target) for item in pack.items if name in item.strategies)
        for name in STRATEGIES
    }
    assert len(set(map(tuple, by_strategy.values()))) == 1
    assert Counter(target for _, target in by_strategy["ranking"]) == {"moral": 5, "immoral": 5}


def test_samples_hang_on_the_seed_and_not_on_the_order_or_on_other_strategies():
    first = make_pack(outputs(), "action", sample=6, seed=4)
    assert make_pack(outputs()[::-1], "action", sample=6, seed=4) == first
    fewer = make_pack(outputs(strategies=STRATEGIES[:1]), "action", sample=6, seed=4)
    samples = {(item.id, item.target) for item in first.items}
    assert {(item.id, item.target) for item in fewer.items} == samples
    other = make_pack(outputs(), "action", sample=6, seed=5)
    assert {(item.id, item.target) for item in other.items} != samples


def test_equal_texts_are_judged_once_and_count_for_each():
    pack = make_pack(outputs(text="Jo waits."), "action", sample=4, seed=0)
    assert len(pack.items) == 4
    assert {item.strategies for item in pack.items} == {tuple(sorted(STRATEGIES))}


def test_ratings_come_back_as_the_papers_table(tmp_path):
    folder = tmp_path / "pack"
    write_pack(outputs(), "action", folder, sample=20, seed=1)

    def answer(rater, item, criterion):
        if criterion == "coherence":
            return 1
        if criterion == "norm":
            return int(item.strategies == ("abduction",) or item.target == "moral")
        return int(rater != "rater-3")  # two of three say yes, everywhere

    fill(folder, answer)
    found = read_pack(sheets(folder), folder / "key.json")
    rows = {row.strategy: row.criteria for row in found.rows}
    norm = {name: [cell.value for cell in row["norm"].values()] for name, row in rows.items()}
    assert norm == {
        "plain sampling": [0.5, 1.0, 0.0],
        "ranking": [0.5, 1.0, 0.0],
        "abduction": [1.0, 1.0, 1.0],
    }
    assert rows["ranking"]["intention"]["total"].value == pytest.approx(2 / 3)
    assert rows["ranking"]["norm"]["total"].low < 0.5 < rows["ranking"]["norm"]["total"].high
    assert found.agreement["norm"].alpha == pytest.approx(1.0)
    assert found.agreement["intention"].alpha < 0
    assert "coherence: alpha is undefined" in " ".join(found.warnings)
    better = next(
        row
        for row in found.comparisons
        if row.metric == "norm" and {row.first, row.second} == {"abduction", "ranking"}
    )
    assert better.difference == pytest.approx(0.5)
    assert better.p < 0.05


def test_unanswered_questions_are_counted_and_do_not_count(tmp_path):
    folder = tmp_path / "pack"
    write_pack(outputs(), "action", folder, sample=4, seed=1)
    fill(folder, lambda rater, item, criterion: "" if rater == "rater-2" else 1)
    found = read_pack(sheets(folder), folder / "key.json")
    assert found.unanswered == 12 * 3
    assert any("no ratings of rater-2" in line for line in found.warnings)
    assert {row.criteria["norm"]["total"].value for row in found.rows} == {1.0}


def test_a_spreadsheet_of_another_country_is_read(tmp_path):
    folder = tmp_path / "pack"
    write_pack(outputs(text="Jo waits, and waits; {strategy}."), "action", folder, sample=2)
    fill(folder, lambda rater, item, criterion: 1)
    path = folder / "sheets" / "rater-1.csv"
    rows = list(csv.reader(path.read_text("utf-8").splitlines()))
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        csv.writer(stream, delimiter=";").writerows(rows)
    assert read_pack(sheets(folder), folder / "key.json").unanswered == 0


def test_jsonl_of_annotation_software_is_read_beside_empty_csv(tmp_path):
    folder = tmp_path / "pack"
    write_pack(outputs(), "action", folder, sample=2)
    for path in (folder / "sheets").glob("*.jsonl"):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for row in rows:
            row["ratings"] = dict.fromkeys(row["ratings"], 1)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    both = sorted((folder / "sheets").iterdir())
    found = read_pack([path for path in both if path.suffix != ".txt"], folder / "key.json")
    assert found.unanswered == 0


@pytest.mark.parametrize(
    "text", ["=1+1", "+49", "-x", "@SUM(A1)", "\tx", "\uff1d1+1", "'=1", "''@", "'quoted'", "plain"]
)
def test_cells_are_no_formulas_and_come_back_as_they_were(text):
    cell = escape_cell(text)
    assert cell[0] not in "=+-@\t\r\uff1d\uff0b\uff0d\uff20"
    assert restore_cell(cell) == text


def test_a_formula_in_a_text_stays_text(tmp_path):
    folder = tmp_path / "pack"
    write_pack(outputs(text="=cmd|' /C calc'!A{id}"), "action", folder, sample=2)
    for line in csv.reader((folder / "sheets" / "rater-1.csv").open(encoding="utf-8-sig")):
        assert not any(cell.startswith("=") for cell in line)
    fill(folder, lambda rater, item, criterion: 1)
    assert read_pack(sheets(folder), folder / "key.json").unanswered == 0


def test_hostile_characters_do_no_harm(tmp_path):
    folder = tmp_path / "pack"
    hostile = [
        StrategyOutput(one.strategy, one.id + "\ud800", one.target, one.text, one.context)
        for one in outputs(strategies=STRATEGIES[:1], text="Jo\x00 \ud800 waits\n\u2028{id}.")
    ]
    write_pack(hostile, "action", folder, sample=2)
    fill(folder, lambda rater, item, criterion: 1)
    assert read_pack(sheets(folder), folder / "key.json").unanswered == 0


def test_norms_have_no_target_and_consequences_show_the_action():
    context = {"situation": "A shop.", "intention": "Jo wants bread."}
    norm = {**context, "moral_action": "Jo pays.", "immoral_action": "Jo steals."}
    pack = make_pack([StrategyOutput("a", "1", None, "Pay.", norm)], "norm", seed=0)
    assert list(pack.items[0].context) == [
        "situation",
        "intention",
        "moral_action",
        "immoral_action",
    ]
    row = {**context, "norm": "Pay.", "action": "Jo pays."}
    pack = make_pack([StrategyOutput("a", "1", "moral", "x", row)], "consequence", seed=0)
    assert "asked" not in pack.items[0].context
    with pytest.raises(InputError, match="norms have no target"):
        make_pack([StrategyOutput("a", "1", "moral", "Pay.", norm)], "norm", seed=0)
