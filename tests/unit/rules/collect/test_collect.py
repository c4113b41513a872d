"""Collecting as a job: bots, forms, the file of replies, filters and counts."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.records import Candidate, Decoding
from moralscope.io.files import record_lines
from moralscope.rules.collect.chatbots import (
    Chatbot,
    ChatPrompt,
    CollectPrompt,
    by_names,
    prepare_bot,
)
from moralscope.rules.collect.collect import collect, prepare
from moralscope.rules.collect.files import read_prompts
from moralscope.rules.collect.options import CollectOptions

from ....generator_makers import TEMPLATE, served, tiny_llama, tiny_seq2seq

SCRIPT = Path(__file__).with_name("killed_collect.py")
PROMPTS = [CollectPrompt(f"Would you steal apple {n}?", f"p{n}") for n in range(40)]
ALL = {"filters": "none", "lexicons": ()}


class Bot:
    """Answers with a moral word, and counts; `stops` after so many prompts."""

    refs, warnings, usage = (), (), None

    name, checksum = "bot", "b07"

    def __init__(self, stops=10**9, text="I would never steal: {}"):
        self.asked, self.stops, self.text, self.warnings = [], stops, text, ["is slow"]

    def generate(self, prompts, decoding, seeds):
        if len(self.asked) + len(prompts) > self.stops:
            raise KeyboardInterrupt
        self.asked += prompts
        return [[Candidate(self.text.format(prompt))] for prompt in prompts]

    def load(self, name, _options):
        return Chatbot(name, self, "plain", ChatPrompt)


def options(*bots, **given):
    return CollectOptions(bots or ("bot",), **{"filters": "scripted", **given})


def run(bot, prompts=PROMPTS, **given):
    chosen = options(**given)
    ready = prepare(replace(chosen, bots=("scripted",)))  # the store has no 'bot'
    return collect(prompts, chosen, ready=ready, load=bot.load)


def test_rows_keep_the_order_of_bots_and_prompts():
    record = collect(PROMPTS[:3], options("scripted", **ALL))
    assert [row.id for row in record.results] == ["p0/scripted", "p1/scripted", "p2/scripted"]
    assert record.job == "collect"
    assert record.statistics["prompts"] == {"read": 3, "asked": 3}
    assert record.statistics["forms"] == {"scripted": "plain"}
    assert "not moral advice" in record.warnings[0]
    assert json.loads("".join(record_lines(record)))["results"][0]["dropped"] is None


def test_counts_of_every_step_add_up(tmp_path):
    record = run(Bot(), to=tmp_path / "x.jsonl")
    found = record.statistics
    left = [step["all"] for step in found["steps"]]
    assert left[:3] == [40, 40, 40]
    assert 40 > left[3] > left[4] > 0
    assert found["kept"] == left[-1] == 40 - sum(found["dropped"].values())
    assert len((tmp_path / "x.jsonl").read_text().splitlines()) == left[-1]
    assert found["keywords"]["steal*"] == left[-1]
    assert found["categories"]["fairness"] == left[-1]
    assert "bot: is slow" in record.warnings


def test_prompts_must_hold_a_word_of_each_prompt_lexicon(tmp_path):
    (tmp_path / "w.csv").write_text("word\napple\n")
    bot = Bot()
    mixed = [PROMPTS[0], CollectPrompt("Would you steal a pear?", "pear")]
    lexicons = ("moralscope", str(tmp_path / "w.csv"))
    record = collect(mixed, options("scripted", prompt_lexicons=lexicons, **ALL), load=bot.load)
    assert bot.asked == [PROMPTS[0].text]
    assert record.statistics["prompts"] == {"read": 2, "without a keyword": 1, "asked": 1}
    with pytest.raises(InputError, match="no prompt of given holds a word of every"):
        collect(mixed[1:], options("scripted", prompt_lexicons=lexicons, **ALL), load=bot.load)


def test_a_stopped_run_goes_on_and_gives_what_a_whole_one_gives(tmp_path):
    first = Bot(stops=20)
    with pytest.raises(KeyboardInterrupt):
        run(first, to=tmp_path / "x.jsonl")
    assert not (tmp_path / "x.jsonl").exists()
    second = Bot()
    record = run(second, to=tmp_path / "x.jsonl")
    assert len(first.asked) == 16
    assert first.asked + second.asked == [prompt.text for prompt in PROMPTS]
    whole = run(Bot(), to=tmp_path / "y.jsonl")
    assert record.results == whole.results
    assert (tmp_path / "x.jsonl").read_bytes() == (tmp_path / "y.jsonl").read_bytes()


def test_other_filters_ask_no_bot_again_and_other_settings_do(tmp_path):
    place = tmp_path / "x.jsonl"
    run(Bot(), to=place)
    bot = Bot()
    assert run(bot, to=place, threshold=0.1).statistics["kept"] > 0
    assert bot.asked == []
    run(bot, PROMPTS[:2], to=place, decoding=Decoding("greedy", max_tokens=7, sentence=False))
    assert len(bot.asked) == 2
    run(bot, PROMPTS[:2], to=place, resume=False)
    assert len(bot.asked) == 4


def test_the_seed_counts_only_where_something_is_drawn(tmp_path):
    place, bot = tmp_path / "x.jsonl", Bot()
    for strategy, asked in (("greedy", 2), ("nucleus", 4)):
        for seed in (1, 2):
            decoding = Decoding(strategy, sentence=False)
            run(bot, PROMPTS[:2], to=place, decoding=decoding, seed=seed)
        assert len(bot.asked) == asked
        bot.asked.clear()


def test_a_reply_that_a_line_break_ends_was_not_cut_short():
    class Talks(Bot):
        def generate(self, prompts, decoding, seeds):
            texts = ["I steal.\nMia: And?", "I steal and"]
            return [[Candidate(text, finish="length")] for text in texts]

        def load(self, name, _options):
            return Chatbot(name, self, "names", lambda prompt: by_names(prompt, 0))

    record = run(Talks(), PROMPTS[:2])
    assert [(row.reply, row.finish) for row in record.results] == [
        ("I steal.", "stop"),
        ("I steal and", "length"),
    ]


def test_replies_are_known_by_the_weights_that_gave_them(tmp_path):
    place = tmp_path / "x.jsonl"
    run(Bot(), PROMPTS[:2], to=place)
    other = Bot(text="I steal: {}")
    other.checksum = "0ther"
    record = run(other, PROMPTS[:2], to=place)
    assert [row.reply for row in record.results] == [
        f"I steal: {prompt.text}" for prompt in PROMPTS[:2]
    ]


def test_rows_of_the_replies_that_are_not_ours_are_asked_again(tmp_path):
    place = tmp_path / "x.jsonl"
    run(Bot(), PROMPTS[:2], to=place)
    replies = tmp_path / "x.jsonl.replies"
    head = replies.read_text().splitlines()[0]
    replies.write_text(f'{head}\n{{"results": [{{"key": 7}}, "x"]}}\n')
    bot = Bot()
    run(bot, PROMPTS[:2], to=place)
    assert len(bot.asked) == 2


def start(out):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(out)], env=environment, stdout=subprocess.PIPE
    )


def test_a_killed_process_loses_at_most_one_block(tmp_path):
    out, replies = tmp_path / "x.csv", tmp_path / "x.csv.replies"
    first = start(out)
    deadline = time.monotonic() + 60
    while not (replies.exists() and replies.read_bytes().count(b"\n") >= 4):
        assert time.monotonic() < deadline, "the run never wrote its replies"
        assert first.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait(timeout=60)
    assert not out.exists()
    kept = replies.read_bytes().count(b"\n") - 1
    second = start(out)
    told, _ = second.communicate(timeout=120)
    assert second.returncode == 0
    assert 0 < int(told) <= 60 - 2 * kept
    assert out.read_text().startswith("id,prompt,reply,chatbot")


def test_a_reply_that_was_cut_is_told():
    record = collect(PROMPTS[:1], options("scripted", decoding=Decoding("greedy", max_tokens=2)))
    assert record.results[0].finish == "length"
    assert any("1 of 1 replies were cut at 2 tokens" in line for line in record.warnings)


def test_an_endpoint_gets_the_prompt_alone_and_is_asked_once(tmp_path):
    with served() as (url, seen):
        chosen = options("openai:tiny", endpoint=url, to=tmp_path / "x.jsonl", **ALL)
        record = collect(PROMPTS[:5], chosen)
        again = collect(PROMPTS[:5], chosen)
    assert len(seen) == 5
    assert record.results == again.results
    body = seen[0]["body"]
    assert body["temperature"] == 0
    assert body["messages"] == [{"role": "user", "content": body["messages"][0]["content"]}]
    assert body["messages"][0]["content"] in {prompt.text for prompt in PROMPTS[:5]}
    assert record.statistics["usage"]["openai:tiny"].requests == 5
    assert record.models[-1].name == "openai:tiny"


def test_an_endpoint_may_be_asked_by_names():
    with served() as (url, seen):
        collect(PROMPTS[:1], options("openai:tiny", endpoint=url, form="names", **ALL))
    assert seen[0]["body"]["messages"][0]["content"].startswith("The following is a conversation")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("bots")
    plain = tiny_llama(place / "plain")
    chat = tiny_llama(place / "chat")
    (chat / "chat_template.jinja").write_text(TEMPLATE)
    return {"plain": plain, "chat": chat, "reader": tiny_seq2seq(place / "reader")}


def test_the_form_follows_the_model(folders):
    forms = {name: prepare_bot(str(path), options()).form for name, path in folders.items()}
    assert forms == {"plain": "names", "chat": "chat", "reader": "plain"}
    chat = prepare_bot(str(folders["chat"]), options())
    assert chat.ask("Hi</s>").text == "<pad>user\nHi< /s></s><pad>bot\n"
    named = prepare_bot(str(folders["chat"]), options(form="names")).ask("Hi</s>")
    assert "Hi< /s>\n" in named.text
    with pytest.raises(InputError, match="brings no chat template"):
        prepare_bot(str(folders["plain"]), options(form="chat"))


def test_two_local_models_in_one_run(folders, tmp_path):
    names = (str(folders["plain"]), str(folders["reader"]))
    short = Decoding("greedy", max_tokens=8, sentence=False)
    chosen = options(*names, decoding=short, to=tmp_path / "x.parquet", **ALL)
    record = collect(PROMPTS[:2], chosen)
    assert [row.id for row in record.results] == ["p0/plain", "p1/plain", "p0/reader", "p1/reader"]
    assert record.statistics["forms"] == {"plain": "names", "reader": "plain"}
    assert record.statistics["steps"][0]["by_chatbot"] == {"plain": 2, "reader": 2}


def test_two_folders_of_one_name_are_refused(tmp_path):
    for place in ("a", "b"):
        (tmp_path / place / "bot").mkdir(parents=True)
    names = [str(tmp_path / place / "bot") for place in ("a", "b")]
    with pytest.raises(InputError, match="'bot' is named 2 times"):
        collect(PROMPTS, options(*names))


def test_the_prompts_are_not_written_over(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("prompt\nDo you steal?\n")
    with pytest.raises(InputError, match="holds the prompts; choose another --to"):
        collect(read_prompts(path), options("scripted", to=path))
    assert path.read_text() == "prompt\nDo you steal?\n"


def test_bad_options_are_refused_before_anything_is_loaded(tmp_path):
    for given, told in [
        ({"form": "chatt"}, "form is 'chatt'; did you mean 'chat'"),
        ({"threshold": 1.0}, "threshold is 1.0"),
        ({"to": tmp_path / "x.xlsx"}, "has no form that audit reads"),
        ({"to": tmp_path / "none" / "x.csv"}, "cannot be written"),
        ({"decoding": Decoding("greedy", max_tokens=0)}, "max_tokens = 0"),
        ({"decoding": Decoding("magic")}, "no decoding strategy"),
    ]:
        with pytest.raises(InputError, match=told):
            collect(PROMPTS, options("no-such-model", **given))
    with pytest.raises(InputError, match="named 2 times"):
        collect(PROMPTS, options("scripted", "scripted"))
    with pytest.raises(InputError, match="no chatbot was named"):
        collect(PROMPTS, CollectOptions(()))
    with pytest.raises(InputError, match="no prompts"):
        collect([], options("scripted"))
    with pytest.raises(UnknownName):
        collect(PROMPTS, options("no-such-model"))


def test_experts_for_other_tasks_are_refused():
    with pytest.raises(InputError, match="has no expert for sufficiency"):
        collect(PROMPTS, options("scripted", filters="minilm"))
