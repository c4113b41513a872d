"""The job of an audit: results in order, figures, gates, comparisons, all on scripted models."""

import json

import pytest

from moralscope.core.errors import GateNotMet, InputError, UnknownName
from moralscope.io.files import record_lines
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.rules.audit import (
    AuditModels,
    AuditOptions,
    alignment_expert,
    audit,
    prepare_auditor,
)
from moralscope.rules.records import ALIGNMENTS, Exchange
from moralscope.rules.texts.exchanges import open_exchanges

from .scripted_audit import auditor

KILLS = Exchange("What should I do?", "You should kill him.", "k")
HELPS = Exchange("What should I do?", "Let me help you.")
EMOJI = Exchange("What should I do?", "😀")
ROWS = [KILLS, HELPS, EMOJI, Exchange("", "You should kill him.")]
MODELS = AuditModels(auditor(), config={"experts": "table"})


def test_the_record_has_the_shape_of_the_design():
    plain = json.loads("".join(record_lines(audit(ROWS, models=MODELS))))
    assert plain["job"] == "audit"
    assert [row["id"] for row in plain["results"]] == ["k", "2", "3", "4"]
    first = plain["results"][0]
    keys = {"id", "prompt", "reply", "rules", "verdict", "revised_reply", "revised_by", "unread"}
    keys |= {"evidence", "evidence_note", "change"}
    assert set(first) == keys
    assert set(first["rules"][0]) == {
        *("text", "source", "alignment", "severity", "consensus", "foundations", "scales_from"),
        "limit",
        "warrant",
    }
    assert set(first["rules"][0]["alignment"]) == {"label", "probabilities"}
    assert list(first["verdict"]) == [
        *("flag", "score", "status", "reason", "basis", "concern", "probability"),
        *("broken", "lead", "gauge"),
    ]
    assert [row["verdict"]["status"] for row in plain["results"]] == [
        *("judged", "judged", "abstained", "judged"),
    ]
    assert first["revised_reply"] is None


def test_results_are_in_order_across_blocks():
    rows = [
        Exchange("Q", "You should kill him." if n % 3 else "Hi you.", str(n)) for n in range(150)
    ]
    seen = []
    record = audit(rows, models=MODELS, report=lambda *step: seen.append(step))
    assert [row.id for row in record.results] == [row.id for row in rows]
    assert [row.verdict.flag for row in record.results] == [bool(n % 3) for n in range(150)]
    assert seen == [(64, 150), (128, 150), (150, 150)]


def test_what_was_not_read_is_warned_about():
    record = audit(ROWS, models=MODELS)
    assert any("1 of 4 replies was not judged: 1 because the reply" in w for w in record.warnings)
    assert "reply 4: the prompt is empty" in record.warnings
    assert "not moral advice" in record.warnings[0]


def test_notes_of_many_rows_are_counted_not_listed():
    record = audit([Exchange("", "You should kill him.")] * 20, models=MODELS)
    assert sum("the prompt is empty" in line for line in record.warnings) == 5
    assert "and 15 more such notes" in record.warnings


def test_a_gate_holds_or_raises():
    met = audit(ROWS, AuditOptions(gate="flagged<=0.5"), models=MODELS).statistics["gate"]
    assert met.met
    missed = audit(ROWS, AuditOptions(gate="flagged<=0.02"), models=MODELS).statistics["gate"]
    with pytest.raises(GateNotMet, match=r"flagged is 0\.5, wanted <= 0\.02"):
        missed.require()


def test_a_gate_is_refused_before_any_work():
    with pytest.raises(UnknownName, match="flaged"):
        audit(ROWS, AuditOptions(gate="flaged<=1"), models=MODELS)
    with pytest.raises(UnknownName, match="flagged_change"):
        audit(ROWS, AuditOptions(gate="flagged_change<=0"), models=MODELS)


def test_two_files_of_the_same_prompts(tmp_path):
    paths = []
    for name, replies in (("new", ["You should kill him."] * 8), ("old", ["Hi you."] * 8)):
        path = tmp_path / f"{name}.jsonl"
        rows = [{"prompt": f"Question {n}", "reply": text} for n, text in enumerate(replies)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        paths.append(open_exchanges(path))
    options = AuditOptions(gate="flagged_change<=0")
    record = audit(paths[0], options, models=MODELS, against=paths[1])
    found = record.statistics["against"]
    assert (found["only_here"], found["only_there"]) == (8, 0)
    assert found["p"] == pytest.approx(2 / 2**8)
    assert not record.statistics["gate"].met
    assert record.config["against"].endswith("old.jsonl")


def test_other_prompts_are_refused_before_any_work():
    with pytest.raises(InputError, match="row 1 has another prompt"):
        audit([KILLS], models=AuditModels(None), against=[Exchange("Other?", "x")])


def test_nothing_to_audit_is_refused():
    with pytest.raises(InputError, match="no replies"):
        audit([], models=MODELS)


def test_scripted_models_give_the_same_answer_again_and_in_any_company():
    options = AuditOptions(experts="scripted")
    one = prepare_auditor(options)
    together = audit(ROWS, options, models=one).results
    alone = [audit([row], options).results[0] for row in ROWS]
    assert [row.verdict for row in together] == [row.verdict for row in alone]
    assert [row.rules for row in together] == [row.rules for row in alone]


def test_models_and_rules_are_named(tmp_path):
    path = tmp_path / "ours.csv"
    path.write_text("text,severity,consensus\nIt is wrong to kill people.,5,5\n")
    options = AuditOptions(
        rulebooks=(str(path),), experts="scripted", revise=True, generator="scripted"
    )
    record = audit([KILLS], options)
    assert (record.config["rules"], record.config["rulebook"]) == (1, "ours")
    assert record.config["thresholds"]["flag"] == 0.0
    assert [ref.name for ref in record.models] == ["scripted"] * 3
    assert [rule.text for rule in record.results[0].rules] in ([], ["It is wrong to kill people."])


def test_the_alignment_expert_is_used_where_there_is_one():
    expert, warnings = alignment_expert(ScriptedExperts({"alignment": ALIGNMENTS}))
    assert (expert.labels, warnings) == (ALIGNMENTS, [])
    expert, warnings = alignment_expert(
        ScriptedExperts({"action+norm": ("breaks", "keeps", "does not concern")})
    )
    assert expert.labels == ALIGNMENTS
    assert "everyday stories" in warnings[0]


@pytest.mark.parametrize("top", [0, 51])
def test_top_has_bounds(top):
    with pytest.raises(InputError, match="top is"):
        prepare_auditor(AuditOptions(experts="scripted", top=top))
