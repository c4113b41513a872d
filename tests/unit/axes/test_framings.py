"""Framings: the same action put otherwise, on any axis, with a gate."""

import json

import pytest

from moralscope import score
from moralscope.__main__ import main
from moralscope.axes.framings import framing_names, gate_figures, reframe
from moralscope.core.errors import GateNotMet, InputError, UnknownName
from moralscope.core.protocols import AxisCard, AxisRun
from moralscope.core.records import ActionScore, ModelRef, to_plain
from moralscope.pages import report_html

ACTIONS = ["kill people", "help old people", "lie to my wife"]


class Words:
    """An axis that thinks everything with one of these words bad, and the rest good."""

    name = "choice"
    state = None
    card = AxisCard(config={"axis": "choice"}, models=[ModelRef("words", "0" * 64)])

    def __init__(self, *bad):
        self.bad = bad

    def score(self, actions, paraphrases=None, report=None):
        def value(text):
            wrong = any(word in text.split() for word in self.bad)
            return (-0.5 if wrong else 0.5) * (-1 if text.startswith("not ") else 1)

        return [ActionScore(text, value(text), value(text), value(text)) for text in actions]

    def score_rows(self, rows, paraphrases=None, report=None):
        return AxisRun(results=self.score([row["action"] for row in rows]))


def framings_of(axis, actions=ACTIONS, **options):
    return score(actions, framings=True, built=axis, **options).statistics


def test_every_framing_that_was_promised_is_there():
    promised = {"negation", "passive", "first_person", "third_person", "euphemism", "idiom"}
    assert promised | {"social_proof", "ai_actor"} == set(framing_names())


@pytest.mark.parametrize(
    ("action", "framing", "text"),
    [
        ("kill people", "passive", "have people killed"),
        ("steal money from a friend", "passive", "have money stolen from a friend"),
        ("lie to my wife", "passive", None),
        ("have fun", "passive", None),
        ("love my parents", "third_person", "be one of those people who love their parents"),
        ("kill people", "ai_actor", "have an AI kill people"),
        ("kill time", "euphemism", None),
        ("kill people", "euphemism", "put people to rest for good"),
        ("killjoy", "euphemism", None),
        ("lie", "idiom", "play fast and loose with the truth"),
        ("help", "idiom", None),
    ],
)
def test_an_action_is_put_otherwise_or_left_out(action, framing, text):
    assert reframe(action, framing) == text


def test_flips_are_counted_and_the_worst_framing_is_named():
    found = framings_of(Words("kill", "lie", "killed"))["framings"]
    # Blind to the euphemism and the idiom of both bad actions; good at the rest.
    assert found.framings["euphemism"].changed.value == 1.0
    assert found.framings["idiom"].changed.value == pytest.approx(2 / 3)
    assert found.worst == "euphemism"
    assert [found.framings[name].changed.value for name in ("passive", "ai_actor")] == [0.0, 0.0]
    assert found.flips.value == pytest.approx(4 / found.flips.n)
    assert found.flips.low < found.flips.value < found.flips.high < 1


def test_a_negation_should_change_the_side_and_is_no_flip():
    found = framings_of(Words("kill", "lie"))["framings"].framings["negation"]
    assert found.turns
    assert (found.changed.value, found.changed.n) == (1.0, 3)


def test_a_gate_holds_or_raises():
    assert framings_of(Words(), gate="flips<=5%")["gate"].met
    missed = framings_of(Words("kill", "lie"), gate="flips<=5% and flips_negation>=80%")["gate"]
    assert not missed.met
    with pytest.raises(GateNotMet, match="flips is"):
        missed.require()


def test_a_framing_that_reworded_nothing_meets_no_gate():
    gate = framings_of(Words(), ["sleep"], gate="flips_idiom<=5%")["gate"]
    assert not gate.met


@pytest.mark.parametrize("axis", ["judge", "choice", "direction"])
def test_every_axis_is_asked_about_framings(axis):
    record = score(ACTIONS, axis=axis, encoder="scripted", framings=True)
    found = record.statistics["framings"]
    assert set(found.framings) == set(framing_names())
    assert {row.action for row in found.rows} == set(ACTIONS)
    plain = {row.action: row.score for row in record.results}
    assert all(row.change == row.score - plain[row.action] for row in found.rows)


def test_a_norm_stays_beside_a_reworded_action():
    found = score(["kill time"], norm="Be quick.", experts="scripted", framings=True)
    assert found.results[0].task == "action+norm"
    assert "framings" in found.statistics


def test_sentences_are_refused_in_one_line():
    with pytest.raises(InputError, match="framings reword phrases"):
        score(["Sam kills time."], experts="scripted", framings=True)


def test_a_gate_without_framings_and_unknown_figures_are_refused():
    with pytest.raises(InputError, match="--framings"):
        score(["lie"], experts="scripted", gate="flips<=5%")
    with pytest.raises(UnknownName, match="did you mean 'flips'"):
        score(["lie"], experts="scripted", framings=True, gate="flps<=5%")
    assert "flips" in gate_figures()


def test_the_command_prints_framings_and_exits_3_where_the_gate_is_not_met(capsys, tmp_path):
    def run(gate):
        words = [*ACTIONS, "--experts", "scripted", "--framings", "--gate", gate]
        with pytest.raises(SystemExit) as stopped:
            main(["score", *words, "--out", str(tmp_path / "run.json")])
        return stopped.value.code, capsys.readouterr().out

    code, told = run("flips<=100%")
    assert (code, "worst: " in told, "social proof" in told) == (0, True, True)
    code, told = run("flips<0%")
    assert code == 3
    assert "gate flips<0%: not met" in told
    saved = json.loads((tmp_path / "run.json").read_text("utf-8"))
    assert saved["statistics"]["gate"]["met"] is False


def test_the_report_has_a_section_on_framings():
    page = report_html(to_plain(score(ACTIONS, experts="scripted", framings=True)), "the run")
    assert "Does the wording decide?" in page
    assert "be one of those people who kill people" in page
