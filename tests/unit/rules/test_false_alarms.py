"""A budget of false alarms: the guarantee, the file, and the rules that cost most."""

import json

import numpy as np
import pytest

from moralscope.cli import main
from moralscope.core.errors import InputError
from moralscope.rules.audit import AuditModels, AuditOptions, audit, prepare_auditor, set_budget
from moralscope.rules.audit_options import parse_share
from moralscope.rules.false_alarms import conformal_limit
from moralscope.rules.records import Exchange
from moralscope.rules.thresholds import read_limits

from .scripted_audit import KILL, LIE, RULES, auditor


def test_the_guarantee_holds_on_replies_that_were_not_seen():
    rng = np.random.default_rng(0)
    for budget in (0.01, 0.05, 0.2):
        shares = []
        for _ in range(300):
            seen, unseen = rng.normal(size=199), rng.normal(size=2000)
            limit = conformal_limit([*map(float, np.tanh(seen))], budget)
            shares.append((np.tanh(unseen) <= -limit).mean())
        assert np.mean(shares) <= budget + 0.002
        assert np.mean(shares) >= budget - 0.015  # and no more is given away than need be


@pytest.mark.parametrize("n", [19, 20, 57, 99])
def test_no_more_than_the_budget_of_the_replies_themselves_is_flagged(n):
    scores = list(np.linspace(-1, 1, n))
    limit = conformal_limit(scores, 0.05)
    assert sum(score <= -limit for score in scores) <= 0.05 * (n + 1)


def test_equal_scores_at_the_limit_are_not_flagged():
    limit = conformal_limit([0.3] * 100, 0.05)
    assert not -limit >= 0.3


def test_too_few_replies_are_refused_with_how_many_are_needed():
    with pytest.raises(InputError, match="give at least 99"):
        conformal_limit([0.1] * 98, 0.01)
    assert conformal_limit([0.1] * 99, 0.01)


@pytest.mark.parametrize("text", ["", "0", "-1%", "60%", "1%%", "one", "nan", "1 % 2"])
def test_wrong_shares_are_refused(text):
    with pytest.raises(InputError, match="is not a share"):
        parse_share(text)


FINE = [Exchange("Q", f"I help you {n} times.") for n in range(30)]
COSTLY = [Exchange("Q", f"I lie to her {n} times, friends.") for n in range(10)]


def test_the_rules_that_cost_most_are_named():
    models = AuditModels(auditor(), config={"experts": "table"})
    found = set_budget(models, [*FINE, *COSTLY], "10%").budget
    assert [(cost.rule, cost.alarms) for cost in found.rules] == [
        ("You should not lie to friends.", 10)
    ]
    assert found.rules[0].reply == COSTLY[0].reply
    assert (found.usual.value, found.replies) == (0.25, 40)
    assert found.flagged <= 4


def test_the_limit_is_used_for_the_replies_that_are_audited():
    models = set_budget(AuditModels(auditor(), config={}), [*FINE, *COSTLY], "10%")
    record = audit(COSTLY, AuditOptions(false_alarms="10%"), models=models)
    assert record.statistics["flagged"].value == 0.0
    assert record.config["thresholds"]["flag"] == models.budget.limit > 0


def test_a_budget_without_fine_replies_is_refused():
    with pytest.raises(InputError, match="needs replies that are fine"):
        audit(FINE, AuditOptions(false_alarms="10%", experts="scripted"))


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"prompt": "Q", "reply": f"I would help you {n} times."} for n in range(60)]
    (tmp_path / "fine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def call(*words):
        with pytest.raises(SystemExit) as caught:
            main(["audit", *words, "--experts", "scripted"])
        done = capsys.readouterr()
        return caught.value.code, done.out, done.err

    return call


BUDGET = ("--false-alarms", "5%", "--benign", "fine.jsonl")


def test_the_command_keeps_the_limit_in_a_config_that_later_audits_read(run, tmp_path):
    code, out, err = run(*BUDGET, "--config", "limits.toml", "--json")
    plain = json.loads(out)
    assert code == 0
    assert "limits.toml" in err
    found = plain["statistics"]["false_alarms"]
    assert found["flagged"] <= 3
    given = read_limits(tmp_path / "limits.toml")
    assert given.limits["flag"] == found["limit"] == plain["config"]["thresholds"]["flag"]
    assert given.set_by["replies"] == 60
    code, out, _ = run("fine.jsonl", "--config", "limits.toml", "--json")
    again = json.loads(out)
    assert again["statistics"]["flagged"]["value"] <= 0.05
    assert not any("set with other" in line for line in again["warnings"])


def test_a_limit_that_was_set_with_other_rules_is_warned_about(run, tmp_path):
    run(*BUDGET, "--config", "limits.toml")
    (tmp_path / "house.txt").write_text("It's rude to stare at people.\n")
    words = ("fine.jsonl", "--config", "limits.toml", "--rulebook", "house.txt", "--json")
    warnings = json.loads(run(*words)[1])["warnings"]
    assert any("was set with other rules" in line for line in warnings)


def test_other_limits_of_the_config_are_kept(run, tmp_path):
    (tmp_path / "limits.toml").write_text("disagree = 0.7\nflag = 0.9\n")
    assert run(*BUDGET, "--config", "limits.toml")[0] == 0
    assert read_limits(tmp_path / "limits.toml").limits["disagree"] == 0.7
    assert read_limits(tmp_path / "limits.toml").limits["flag"] != 0.9


def test_without_a_config_it_is_kept_beside(run, tmp_path):
    code, out, _ = run(*BUDGET)
    assert code == 0
    assert "at most 5.00% of fine replies flagged" in out
    assert read_limits(tmp_path / "audit.toml").set_by["false_alarms"] == 0.05


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--false-alarms", "1%", "--benign", "fine.jsonl"), "give at least 99"),
        (("fine.jsonl", "--false-alarms", "5%"), "--false-alarms and --benign go together"),
        (("fine.jsonl", "--benign", "fine.jsonl"), "--false-alarms and --benign go together"),
        (("--false-alarms", "5", "--benign", "fine.jsonl"), "is not a share"),
        (("--false-alarms", "5%", "--benign", "none.jsonl"), "cannot be read"),
        (("fine.jsonl", *BUDGET, "--out", "folder/"), "does not work with a corpus"),
    ],
)
def test_bad_usage_is_refused_in_one_line_and_writes_nothing(words, line, run, tmp_path):
    code, _, err = run(*words)
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert line in err
    assert not (tmp_path / "audit.toml").exists()


def test_python_has_it_too():
    fine = [Exchange("Hi!", f"Hello number {n}.") for n in range(40)]
    models = set_budget(prepare_auditor(AuditOptions(experts="scripted")), fine, "10%")
    assert models.budget.replies == 40


def test_a_rule_of_a_house_that_spends_the_budget_gets_a_limit_of_its_own():
    """LIE is broken by every fourth fine reply at the usual limit, KILL by none."""
    mixed = [COSTLY[n // 4] if n % 8 in (0, 1) else FINE[n % 30] for n in range(40)]
    plain = AuditModels(auditor((), house=RULES, general=False), config={"experts": "table"})
    models = set_budget(plain, mixed, "10%")
    (cost,) = models.budget.rules
    assert (cost.rule, cost.at_limit) == (LIE.text, 0)
    assert 2 <= cost.alarms <= 8
    assert cost.limit == models.budget.rule_limits[LIE.text] >= 0.9
    assert models.auditor.rule_limits == {LIE.text: cost.limit}
    # The noisy rule no longer raises the limit of the others: a breach of KILL is still flagged.
    kills, lies = models.auditor.audit([Exchange("Q", "You should kill him."), COSTLY[0]])
    assert kills.verdict.flag
    assert kills.verdict.broken == (KILL.text,)
    assert lies.verdict.broken == ()
    record = audit(COSTLY, AuditOptions(false_alarms="10%"), models=models)
    assert record.config["rule_limits"] == {LIE.text: cost.limit}


def test_a_file_with_a_pattern_has_both_kinds_in_both_halves():
    """Only odd rows break LIE, as in a file that repeats eight questions about every room."""
    mixed = [COSTLY[n % 10] if n % 4 == 1 else FINE[n % 30] for n in range(80)]
    plain = AuditModels(auditor((), house=RULES, general=False), config={"experts": "table"})
    models = set_budget(plain, mixed, "10%")
    assert LIE.text in models.budget.rule_limits
    flagged = [row.verdict.flag for row in models.auditor.audit(mixed)]
    assert sum(flagged) <= 8


def test_a_budget_never_flags_what_the_usual_limit_does_not():
    """All fine replies are far from every limit: the budget has nothing to take away."""
    plain = AuditModels(auditor((), house=RULES, general=False), config={"experts": "table"})
    models = set_budget(plain, FINE, "10%")
    assert models.budget.limit == 0.0
    calm = models.auditor.audit([Exchange("Q", "The kettle is in the kitchen.")])[0]
    assert not calm.verdict.flag


def test_limits_of_rules_are_kept_in_the_config(run, tmp_path):
    (tmp_path / "house.txt").write_text("It's rude to stare at people.\nNever help a stranger.\n")
    words = (*BUDGET, "--config", "limits.toml", "--rulebook", "house.txt", "--json")
    budget = json.loads(run(*words)[1])["statistics"]["false_alarms"]
    assert budget["rule_limits"]
    assert read_limits(tmp_path / "limits.toml").rules == budget["rule_limits"]
