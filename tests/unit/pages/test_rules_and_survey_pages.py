"""Pages of rules, collect and survey: what a record says is shown, whatever is wrong in it."""

import json
from functools import cache

import pytest

from moralscope.core.records import to_plain
from moralscope.pages import build_page, read_record
from moralscope.rules.annotations.statistics import stats
from moralscope.rules.attributes import attributes, rule_queries
from moralscope.rules.collect.chatbots import CollectPrompt
from moralscope.rules.collect.collect import collect
from moralscope.rules.records import Exchange
from moralscope.rules.retrieval import retrieve
from moralscope.rules.rulebooks.check import check_rules
from moralscope.rules.rulebooks.show import lint_rules, show_rules
from moralscope.rules.writing.rule_writer import generate_rules
from moralscope.surveys.items import Dilemma, read_items, spread
from moralscope.surveys.survey import survey

from .test_hostile_records import pages_with_wrong_values

ASKED = [Exchange("Any plans?", "I steal bikes.")]
SCRIPTED = {"generator": "scripted", "encoder": "scripted", "experts": "scripted"}
MIC = "Q,A,rot,moral,A_agrees\nSteal?,Yes.,Do not steal.,care,0\nSteal?,Yes.,Do not steal.,care,1\n"


def dilemmas():
    broken = (frozenset(), frozenset({"lie"}))
    actions = ("I do.", "I do not.")
    return [Dilemma(str(n), f"You are in {n}.", actions, better=0, breaks=broken) for n in range(3)]


def mic(folder):
    path = folder / "MIC.csv"
    path.write_text(MIC)
    return path


MAKERS = {
    "survey": lambda _: survey(
        dilemmas(), models=("scripted:order=1",), wordings=1, free=True,
        experts="scripted", gate="flagged<=0",
    ),
    "values": lambda _: survey(spread(read_items("values"), 2), models=("scripted",), wordings=1),
    "collect": lambda _: collect(
        [CollectPrompt("Do you steal?", "1")], bots=("scripted",), filters="none", lexicons=()
    ),
    "retrieve": lambda _: retrieve(ASKED, encoder="scripted", top=1),
    "generate": lambda _: generate_rules(ASKED, **SCRIPTED),
    "attributes": lambda _: attributes(
        rule_queries(["Don't lie."], "Hi", "I lie."), experts="scripted"
    ),
    "lint": lambda _: lint_rules(),
    "check": lambda _: check_rules(experts="scripted", replies=ASKED),
    "show": lambda _: show_rules(theme="self-harm", foundation="care"),
    "stats": lambda folder: stats(mic(folder)),
}  # fmt: skip


@cache
def made(name, folder):
    plain = to_plain(MAKERS[name](folder))
    del plain["config"]["options"]
    plain["results"] = plain["results"][:1]
    return json.dumps(plain)


@pytest.mark.parametrize("name", MAKERS)
def test_a_record_is_the_same_when_it_is_read_back(name, tmp_path):
    plain = json.loads(made(name, tmp_path))
    record = read_record(plain)
    assert to_plain(record.results) == plain["results"]
    assert to_plain(record.statistics) == plain["statistics"]
    assert any(section.shown == "all" for section in build_page(record).sections)


@pytest.mark.parametrize("name", MAKERS)
def test_a_wrong_value_anywhere_is_shown_or_refused(name, tmp_path):
    for page in pages_with_wrong_values(lambda: json.loads(made(name, tmp_path))):
        charts = [block for section in page.sections for block in section.blocks]
        traces = [block.traces for block in charts if hasattr(block, "traces")]
        json.dumps(traces, allow_nan=False)
