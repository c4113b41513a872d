"""Learning from labels: what is kept, what is stored, what audits make of it; scripted models."""

import csv
import json

import numpy as np
import pytest

from moralscope.cli import main
from moralscope.core.errors import InputError
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.rules.audit import AuditOptions, audit, prepare_auditor
from moralscope.rules.experts import prepare_rule_experts
from moralscope.rules.labels import BreachLabel, read_labels
from moralscope.rules.learnt import LearntAlignment, learnt_path, logit, read_learnt
from moralscope.rules.records import ALIGNMENTS, Exchange
from moralscope.rules.rulebook import load_rulebook
from moralscope.rules.rulebooks.learn import fit_labels, label_features, learn_rules
from moralscope.rules.verdict import alignment_pair

RULES = ("Never promise a day of delivery.", "You should name every fee.")
WORDS = {RULES[0]: ("tomorrow", "soon"), RULES[1]: ("cheap", "euros")}


def said_with(word):
    return f"You will have it {', '.join([word] * 12)}."


def labelled(count):
    """Return labels that words decide: the scripted vectors see them, its probabilities do not."""
    rows = []
    for number in range(count):
        for rule, (bad, fine) in WORDS.items():
            broken = number % 3 == 0
            word = bad if broken else fine
            exchange = Exchange(f"Question {number}?", said_with(word))
            rows.append(BreachLabel(exchange, rule, broken))
    return rows


@pytest.fixture
def house(tmp_path):
    (tmp_path / "house.txt").write_text("\n".join(RULES) + "\n")
    return tmp_path / "house.txt"


def write(path, labels):
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["prompt", "reply", "rule", "broken"])
        for label in labels:
            said = "yes" if label.broken else "no"
            rows.writerow([label.exchange.prompt, label.exchange.reply, label.rule, said])
    return path


def test_a_head_is_kept_where_vectors_tell_what_probabilities_do_not(house, tmp_path):
    labels = write(tmp_path / "labels.csv", labelled(40))
    record = learn_rules(rulebook=str(house), labels=labels, experts="scripted")
    found = record.statistics
    assert found.kept
    assert found.head.value > found.before.value + 0.3
    assert found.p_f1 < 0.05
    assert found.auc_head > found.auc_before
    learnt = read_learnt(learnt_path(house))
    assert learnt.card.labels == 80
    assert {rule.text for rule in learnt.rules} == set(RULES)
    # The audit beside it judges replies it never saw by what was learnt, and says so.
    rows = [Exchange("New?", said_with("tomorrow")), Exchange("New?", said_with("soon"))]
    options = AuditOptions(rulebooks=(str(house),), experts="scripted")
    run = audit(rows, options)
    assert [RULES[0] in row.verdict.broken for row in run.results] == [True, False]
    assert run.config["learnt"]["rules"] == 2
    assert any("learnt from 80 labels" in line for line in run.warnings)
    learnt_path(house).unlink()
    assert "learnt" not in audit(rows, options).config


def test_nothing_is_kept_where_labels_are_noise(house, tmp_path):
    rng = np.random.default_rng(0)
    noise = [
        BreachLabel(label.exchange, label.rule, bool(rng.random() < 0.3)) for label in labelled(40)
    ]
    labels = write(tmp_path / "labels.csv", noise)
    learnt_path(house).write_text("an earlier one")
    record = learn_rules(rulebook=str(house), labels=labels, experts="scripted")
    assert not record.statistics.kept
    assert not learnt_path(house).exists()
    assert any("was removed" in line for line in record.warnings)


class Shifted(ScriptedExperts):
    """Experts whose probabilities rank rightly and are all too high; vectors say nothing."""

    def read(self, pairs, *, middle=False):
        bad = np.array(
            [0.9 if "tomorrow" in pair[1] or "cheap" in pair[1] else 0.7 for pair in pairs]
        )
        rows = np.stack([bad, (1 - bad) / 2, (1 - bad) / 2], axis=1).astype(np.float32)
        return rows, np.full((len(pairs), 4), 0.5, np.float32)

    def told(self, task, columns):
        return columns

    def embed(self, texts):
        return np.full((len(texts), 4), 0.5, np.float32)


def test_a_head_is_kept_where_only_the_limit_is_wrong():
    experts = Shifted({"alignment": ALIGNMENTS}, operating_points={"alignment": (0.6, 0.5, 0.5)})
    labels = labelled(40)
    features = label_features(labels, experts)
    head, found = fit_labels(labels, features, 0.6)
    assert found.before.value < 0.3
    assert found.head.value == pytest.approx(1.0)
    assert found.p_auc > 0.5  # the order was right before
    assert found.kept
    broken = head.scores(features, np.zeros(len(labels), int)) >= logit(head.limit)
    assert broken.tolist() == [label.broken for label in labels]


def test_a_head_changes_no_other_rule(house, tmp_path):
    labels = write(tmp_path / "labels.csv", labelled(40)[::2])  # of the first rule alone
    learn_rules(rulebook=str(house), labels=labels, experts="scripted")
    experts = prepare_rule_experts("scripted")
    learnt = LearntAlignment(experts, read_learnt(learnt_path(house)))
    pairs = [alignment_pair(rule, Exchange("Q", "tomorrow")) for rule in RULES]
    rows, plain = learnt.probabilities(pairs), experts.expert("alignment").probabilities(pairs)
    assert rows.sum(axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert rows[1] == pytest.approx(plain[1], abs=1e-6)
    assert abs(rows[0, 0] - plain[0, 0]) > 0.01


def test_weights_of_other_rules_or_of_a_wrong_width_are_refused(house, tmp_path):
    labels = write(tmp_path / "labels.csv", labelled(40))
    learn_rules(rulebook=str(house), labels=labels, experts="scripted")
    plain, path = json.loads(learnt_path(house).read_text()), learnt_path(house)
    path.write_text(json.dumps({**plain, "weights": plain["weights"][:1]}))
    with pytest.raises(InputError, match="more rules than weights"):
        read_learnt(path)
    path.write_text(json.dumps({**plain, "weights": [row[:5] for row in plain["weights"]]}))
    with pytest.raises(InputError, match="has 5 weights"):
        LearntAlignment(prepare_rule_experts("scripted"), read_learnt(path))


def test_labels_are_read_from_what_the_page_and_annotation_projects_export(house, tmp_path):
    (tmp_path / "remarks.csv").write_text(
        "Q,A,rot,A_agrees,id,comment\n"
        "When?,Tomorrow!,Never promise a day of delivery.,disagree,1,\n"
        "When?,Soon.,never promise a day of delivery,neither,2,\n"
        "When?,Soon.,It is wrong to kill.,agree,3,\n"
    )
    found = read_labels(tmp_path / "remarks.csv", load_rulebook(house))
    assert [(label.rule, label.broken) for label in found.labels] == [
        (RULES[0], True),
        (RULES[0], False),
    ]
    assert found.foreign == 1


def test_rules_may_be_named_by_their_id(tmp_path):
    (tmp_path / "house.yaml").write_text("rules:\n- {id: d1, text: 'Never promise a day.'}\n")
    (tmp_path / "l.jsonl").write_text(
        json.dumps({"prompt": "", "reply": "Monday.", "rule": "d1", "broken": True}) + "\n"
    )
    found = read_labels(tmp_path / "l.jsonl", load_rulebook(tmp_path / "house.yaml"))
    assert found.labels == (
        BreachLabel(Exchange("", "Monday.", "1"), "Never promise a day.", True),
    )


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("prompt,reply,rule,broken\nQ,A,Never promise a day of delivery.,maybe\n", "line 2"),
        ("prompt,reply,rule\nQ,A,Never promise a day of delivery.\n", "broken"),
        ("prompt,reply,rule,broken\nQ,A,Be kind to all.,yes\n", "no label of a rule"),
        (
            "prompt,reply,rule,broken\nQ,A,Never promise a day of delivery.,yes\n",
            "breaches: 1, other replies: 0, different prompts: 1",
        ),
    ],
)
def test_bad_labels_are_refused_in_one_line(content, line, house, tmp_path, capsys):
    (tmp_path / "labels.csv").write_text(content)
    words = ["rules", "learn", str(house), "--labels", str(tmp_path / "labels.csv")]
    with pytest.raises(SystemExit) as caught:
        main([*words, "--experts", "scripted"])
    said = capsys.readouterr().err.strip()
    assert caught.value.code == 2
    assert len(said.splitlines()) == 1
    assert "--columns" not in said  # which 'rules learn' does not have
    assert line in said
    assert not learnt_path(house).exists()


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "[]",
        "no json",
        '{"schema": "moralscope.learnt/1"}',
        '{"schema": "moralscope.learnt/2"}',
    ],
)
def test_a_damaged_file_beside_a_rulebook_is_refused(content, house):
    learnt_path(house).write_text(content)
    with pytest.raises(InputError, match="learnt"):
        prepare_auditor(AuditOptions(rulebooks=(str(house),), experts="scripted"))


def test_what_other_experts_learnt_is_not_used(house, tmp_path):
    labels = write(tmp_path / "labels.csv", labelled(40))
    learn_rules(rulebook=str(house), labels=labels, experts="scripted")
    plain = json.loads(learnt_path(house).read_text())
    learnt_path(house).write_text(json.dumps({**plain, "experts_sha256": "0" * 64}))
    run = audit(
        [Exchange("Q", "tomorrow")], AuditOptions(rulebooks=(str(house),), experts="scripted")
    )
    assert "learnt" not in run.config
    assert any("other experts" in line for line in run.warnings)


def test_the_command_prints_what_labels_gain(house, tmp_path, capsys):
    labels = write(tmp_path / "labels.csv", labelled(40))
    with pytest.raises(SystemExit) as caught:
        main(["rules", "learn", str(house), "--labels", str(labels), "--experts", "scripted"])
    out = capsys.readouterr().out
    assert caught.value.code == 0
    assert "a head on the experts' vectors is kept" in out
    assert RULES[0] in out
