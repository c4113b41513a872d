"""Warrants: pairs made of rules, the three words, what is stored, who is refused without one."""

import json

import numpy as np
import pytest

from moralscope.cli import main
from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.pages import page_of, read_record, report_html
from moralscope.rules.audit import AuditModels, AuditOptions, audit, prepare_auditor
from moralscope.rules.audit_options import parse_share
from moralscope.rules.labels import BreachLabel
from moralscope.rules.load_auditor import index_rules, join_auditor
from moralscope.rules.options import WarrantOptions
from moralscope.rules.records import ALIGNMENTS, Exchange, RuleOfThumb
from moralscope.rules.rulebook import Rulebook
from moralscope.rules.rulebooks.warrant import warrant, warrant_book
from moralscope.rules.thresholds import GivenLimits
from moralscope.rules.verdict import Aligner
from moralscope.rules.warrant_file import read_warrant, warrant_path
from moralscope.rules.warrant_pairs import make_pairs, read_clauses, rewordings

DAY = "Never promise a day of delivery."
FEE = "You should name every fee."
PERSON = "When somebody asks for a person, hand over to one."


@pytest.mark.parametrize(
    ("rule", "when", "clauses"),
    [
        (DAY, "", [("promise a day of delivery", -1)]),
        (FEE, "", [("name every fee", 1)]),
        (PERSON, "somebody asks for a person", [("hand over to one", 1)]),
        (
            "Give the week only; never name a day.",
            "",
            [("give the week only", 1), ("name a day", -1)],
        ),
        (
            "You should mention the excess whenever you explain what a policy covers.",
            "you explain what a policy covers",
            [("mention the excess", 1)],
        ),
        ("Don't blame the rider, not even for a crash.", "", [("blame the rider", -1)]),
        ("You may raise the limit to 2,000 euros.", "", []),
        ("No jokes about anyone's degree.", "", []),
    ],
)
def test_a_rule_is_taken_apart_into_its_condition_and_orders(rule, when, clauses):
    condition, read = read_clauses(rule)
    assert condition == when
    assert [(clause.phrase, clause.side) for clause in read] == clauses


def test_pairs_differ_by_one_edit_and_break_the_rule_on_the_right_side():
    acts = [pair for pair in make_pairs(DAY) if pair.source == "act"]
    assert acts[0].breaks == Exchange("What will you do?", "I will promise a day of delivery.")
    assert acts[0].other == Exchange("What will you do?", "I will not promise a day of delivery.")
    assert make_pairs(FEE)[0].breaks.reply == "I will not name every fee."
    taken = [pair for pair in make_pairs(PERSON) if pair.source == "condition"]
    assert taken
    assert all(pair.breaks.reply == pair.other.reply for pair in taken)
    assert all(pair.breaks.prompt != pair.other.prompt for pair in taken)
    assert {pair.source for pair in make_pairs("No jokes about anyone.")} == {"stance"}


def test_labels_come_first_and_are_paired_by_their_prompts():
    labels = [
        BreachLabel(Exchange("A?", "Monday."), DAY, True),
        BreachLabel(Exchange("B?", "Soon."), DAY, False),
        BreachLabel(Exchange("A?", "I can't say."), DAY, False),
        BreachLabel(Exchange("C?", "Friday."), DAY, True),
    ]
    first, second, third, *_ = make_pairs(DAY, labels)
    assert (first.breaks.reply, first.other.reply) == ("Monday.", "I can't say.")
    assert (second.breaks.reply, second.other.reply) == ("Friday.", "Soon.")
    assert [pair.source for pair in (first, second, third)] == ["labels", "labels", "act"]


class Words:
    """A classifier by words: what breaks a rule has `bad` in its reply, if its rule is known."""

    name, checksum, labels = "words", "0" * 64, ALIGNMENTS

    def __init__(self, rules, bad=(), noisy=""):
        self.rules, self.bad, self.noisy = rules, bad, noisy

    def probabilities(self, pairs):
        rows = []
        for rule, said in pairs:
            reply = said.rpartition(": ")[2]
            hit = rule in self.rules and any(word in reply for word in self.bad)
            value = 0.9 if hit else 0.7 if rule == self.noisy else 0.05
            rows.append([value, 0.0, 1 - value])
        return np.array(rows, dtype=np.float32).reshape(-1, 3)


def models(classifier, *rules):
    from dataclasses import replace

    from moralscope.rules.experts import prepare_rule_experts

    experts = prepare_rule_experts("scripted")
    book = Rulebook("house", tuple(RuleOfThumb(text) for text in rules))
    index = index_rules(book, experts, ours=False, cached=False)
    ready = join_auditor(
        AuditOptions(experts="scripted"), index, experts, GivenLimits(), ours=False
    )
    auditor = replace(ready.auditor, aligner=Aligner(classifier))
    return book, AuditModels(auditor, ready.refs, ready.config)


def labels_of(rule, count):
    return [
        BreachLabel(
            Exchange(f"{n}?", "On Monday, sure." if broken else "I can't say."), rule, broken
        )
        for n in range(count)
        for broken in (True, False)
    ]


def tried(classifier, *rules, labels=()):
    book, ready = models(classifier, *rules)
    options = WarrantOptions(rulebook="house.txt", experts="scripted")
    return warrant_book(book, ready, options, labels=labels)


def test_a_rule_is_enforceable_where_pairs_of_ones_own_are_right():
    record = tried(Words([DAY], ("Monday",)), DAY, labels=labels_of(DAY, 8))
    (row,) = record.results
    assert row.word == "enforceable"
    assert (row.labelled.value, row.labelled.n) == (1.0, 8)
    assert row.limit == 0.6


def test_pairs_made_by_rules_alone_make_no_rule_enforceable():
    yes = (
        "I will promise",
        "I promised",
        "Yes, I",
        "Of course",
        "I always",
        "No, never",
        "opposite",
    )
    record = tried(Words([DAY], (*yes, "don't keep")), DAY)
    (row,) = record.results
    assert row.pairs.value == 1.0
    assert row.word == "with review"
    assert any("without pairs of your own" in line for line in record.warnings)


def test_a_rule_that_the_model_does_not_read_is_not_for_it_and_shows_why():
    (row,) = tried(Words([]), DAY, labels=labels_of(DAY, 8)).results
    assert row.word == "not by this model"
    assert row.failed[0].breaks == "On Monday, sure."
    assert row.failed[0].p_breaks == pytest.approx(0.05)


def test_a_noisy_rule_gets_a_limit_that_keeps_its_budget():
    record = tried(Words([DAY], ("Monday",), noisy=DAY), DAY, labels=labels_of(DAY, 8))
    (row,) = record.results
    assert 0.69 < row.limit < 0.71
    assert row.alarms.value == 0.0
    assert row.word == "enforceable"


def test_a_rewording_is_told_only_where_it_is_measured_to_be_better():
    better = "You should never promise a day of delivery."
    assert better in rewordings(DAY)
    (row,) = tried(Words([better], ("Monday",)), DAY, labels=labels_of(DAY, 8)).results
    assert row.rewording.text == better
    assert row.rewording.pairs.value > row.pairs.value
    (same,) = tried(Words([]), DAY, labels=labels_of(DAY, 8)).results
    assert same.rewording is None


def test_the_page_and_a_saved_record_show_the_same():
    record = tried(Words([]), DAY, FEE, labels=labels_of(DAY, 8))
    again = read_record(json.loads(json.dumps(to_plain(record))))
    assert again.results[0].failed == tuple(record.results[0].failed)
    assert "2 not by this model" in page_of(again).headline
    assert "On Monday, sure." in report_html(record)


@pytest.fixture
def house(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "house.txt").write_text(f"{DAY}\n{FEE}\n")
    return tmp_path / "house.txt"


def run(capsys, *words):
    with pytest.raises(SystemExit) as caught:
        main([*words])
    done = capsys.readouterr()
    return caught.value.code, done.out, done.err


AUDIT = ("audit", "--reply", "Hello there, how are you?", "--experts", "scripted")
REQUIRED = (*AUDIT, "--rulebook", "house.txt", "--require-warrant")


def rewrite(path, **changes):
    plain = json.loads(path.read_text())
    for row in plain["rules"]:
        row.update(changes)
    path.write_text(json.dumps(plain))


def test_the_command_stores_the_warrant_beside_the_rulebook(house, capsys):
    code, out, err = run(capsys, "rules", "warrant", "house.txt", "--experts", "scripted")
    assert code == 0
    assert "2 rules" in out
    assert "house.warrant.json" in err
    stored = read_warrant(warrant_path(house))
    assert [row.rule for row in stored.rules] == [DAY, FEE]
    assert stored.budget == parse_share("2%")


def test_an_audit_that_requires_a_warrant_refuses_rules_without_one(house, capsys):
    code, _, err = run(capsys, *REQUIRED)
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert "2 of 2 rules have no warrant (never tried)" in err
    run(capsys, "rules", "warrant", "house.txt", "--experts", "scripted")
    rewrite(warrant_path(house), word="with review", limit=0.99)
    code, out, _ = run(capsys, *REQUIRED, "--json")
    plain = json.loads(out)
    assert code == 0
    assert plain["config"]["rule_limits"] == {DAY: 0.99, FEE: 0.99}
    assert any("2 rules need review" in line for line in plain["warnings"])
    rewrite(warrant_path(house), word="not by this model")
    code, _, err = run(capsys, *REQUIRED)
    assert code == 2
    assert DAY in err
    assert run(capsys, *AUDIT, "--rulebook", "house.txt")[0] == 0  # nobody asked


def test_a_warrant_of_other_models_or_of_another_text_is_none(house, capsys):
    run(capsys, "rules", "warrant", "house.txt", "--experts", "scripted")
    rewrite(warrant_path(house), word="enforceable")
    assert run(capsys, *REQUIRED)[0] == 0
    house.write_text(f"{DAY}\nYou should name all fees.\n")
    assert "1 of 2 rules have no warrant" in run(capsys, *REQUIRED)[2]
    house.write_text(f"{DAY}\n{FEE}\n")
    plain = json.loads(warrant_path(house).read_text())
    warrant_path(house).write_text(json.dumps({**plain, "experts_sha256": "0" * 64}))
    assert "made with other models" in run(capsys, *REQUIRED)[2]


def test_the_word_of_a_warrant_stands_beside_the_rule_in_terminal_report_and_corpus(house, capsys):
    run(capsys, "rules", "warrant", "house.txt", "--experts", "scripted")
    rewrite(warrant_path(house), word="not by this model")
    plain = json.loads(warrant_path(house).read_text())
    warrant_path(house).write_text(json.dumps({**plain, "rules": plain["rules"][:1]}))
    asked = (*AUDIT, "--rulebook", "house.txt")
    record = json.loads(run(capsys, *asked, "--json")[1])
    words = {rule["text"]: rule["warrant"] for rule in record["results"][0]["rules"]}
    assert words == {DAY: "not by this model", FEE: None}
    assert record["config"]["warrants"] == {DAY: "not by this model"}
    assert "rule_limits" not in record["config"]  # nobody asked for its limits
    _, out, _ = run(capsys, *asked, "--report", "report.html")
    assert " ".join(out.split()).count("warrant: not by this model") == 1
    assert (house.parent / "report.html").read_text().count("warrant: not by this model") >= 1
    warrant_path(house).write_text(json.dumps({**plain, "learnt_sha256": "0" * 64}))
    record = json.loads(run(capsys, *asked, "--json")[1])
    assert {rule["warrant"] for rule in record["results"][0]["rules"]} == {None}
    assert any("made with other models" in line for line in record["warnings"])


def test_a_damaged_warrant_is_made_again(house, capsys):
    warrant_path(house).write_text("{}")
    assert run(capsys, "rules", "warrant", "house.txt", "--experts", "scripted")[0] == 0
    assert [row.rule for row in read_warrant(warrant_path(house)).rules] == [DAY, FEE]


def test_our_rules_need_no_warrant_beside_ones_own(house, capsys):
    run(capsys, "rules", "warrant", "house.txt", "--experts", "scripted")
    rewrite(warrant_path(house), word="enforceable")
    assert run(capsys, *REQUIRED, "--rulebook", "moralscope")[0] == 0


@pytest.mark.parametrize("content", ["{}", "[]", "no", '{"schema": "moralscope.warrant/1"}'])
def test_a_damaged_warrant_is_refused(content, house):
    warrant_path(house).write_text(content)
    options = AuditOptions(rulebooks=(str(house),), experts="scripted", require_warrant=True)
    with pytest.raises(InputError, match="warrant"):
        prepare_auditor(options)


def test_a_guard_refuses_rules_without_a_warrant_at_its_start(house):
    from moralscope.server.guard import Guard
    from moralscope.server.options import GuardOptions
    from moralscope.server.service import Service

    service = Service()
    options = {"experts": "scripted", "rulebooks": (str(house),), "require_warrant": True}
    try:
        with pytest.raises(InputError, match="2 of 2 rules have no warrant"):
            Guard(service, GuardOptions(**options)).prepare()
        warrant(rulebook=str(house), experts="scripted")
        rewrite(warrant_path(house), word="enforceable", limit=0.98)
        guard = Guard(service, GuardOptions(**options))
        guard.prepare()
    finally:
        service.close()


def test_what_was_audited_with_a_warrant_is_what_python_says(house):
    warrant(rulebook=str(house), experts="scripted")
    rewrite(warrant_path(house), word="enforceable", limit=0.01)
    options = AuditOptions(rulebooks=(str(house),), experts="scripted", require_warrant=True)
    (row,) = audit([Exchange("", "Hello there, how are you?")], options).results
    assert set(row.verdict.broken) == {DAY, FEE}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("moralscope",), "nothing is stored beside our rulebook"),
        (("none.txt",), "none.txt"),
        (("house.txt", "--false-alarms", "70%"), "is not a share"),
        (("house.txt", "--benign", "none.jsonl"), "none.jsonl"),
        (("house.txt", "--false-alarms", "0.1%"), "give at least 999"),
    ],
)
def test_bad_usage_is_refused_in_one_line(words, line, house, capsys):
    code, _, err = run(capsys, "rules", "warrant", *words, "--experts", "scripted")
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert line in err
    assert not warrant_path(house).exists()
