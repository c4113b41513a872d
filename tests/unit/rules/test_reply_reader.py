"""Replies are read whole, prompts too; what no window holds is counted."""

from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.rules.experts import prepare_rule_experts
from moralscope.rules.records import ALIGNMENTS, Exchange
from moralscope.rules.reply_reader import CONCERNS, NARROW, ReplyReader

LONG = " ".join(f"word{n}" for n in range(900))
OTHER = " ".join(f"said{n}" for n in range(700))


def read(prompt, reply):
    return ReplyReader(prepare_rule_experts("scripted")).read([Exchange(prompt, reply)])[0]


def test_a_short_exchange_is_its_own_window():
    found = read("Hi!", "Hello you.")
    assert found.windows == (Exchange("Hi!", "Hello you."),)
    assert found.window_bad == [found.bad]
    assert set(found.concerns) == set(CONCERNS)


def test_every_word_of_a_long_prompt_and_a_long_reply_is_in_a_window():
    found = read(LONG, OTHER)
    prompts = {word for each in found.windows for word in each.prompt.split()}
    replies = {word for each in found.windows for word in each.reply.split()}
    assert set(LONG.split()) <= prompts
    assert set(OTHER.split()) <= replies
    assert found.unread == 0


def test_a_long_prompt_beside_a_short_reply_is_read_whole():
    found = read(LONG, "Yes, do it.")
    assert set(LONG.split()) <= {word for each in found.windows for word in each.prompt.split()}
    assert found.unread == 0


def test_the_worst_window_counts():
    found = read("Hi!", OTHER)
    assert len(found.window_bad) > 3
    assert abs(found.bad - max(found.window_bad)) < 0.2
    assert found.doubtful(max(found.window_bad)) == []
    assert found.doubtful(-1.0) == list(range(len(found.windows)))


def test_a_wide_window_that_is_clearly_fine_is_not_read_again():
    experts = ScriptedExperts({"verdict": ("fine", "bad")})
    experts.max_length = 384
    wide, some, every = (
        ReplyReader(experts, fine).read([Exchange("Hi!", OTHER)])[0] for fine in (1.0, 0.5, -1.0)
    )
    assert min(len(each.reply.split()) for each in wide.windows[:-1]) > NARROW
    assert len(wide.windows) < len(some.windows) < len(every.windows)
    assert every.windows[: len(wide.windows)] == wide.windows


def test_what_is_not_english_is_no_window_and_counts_as_unread():
    found = read("Hi!", "Ich glaube nicht, dass das eine gute Idee ist. You should leave now.")
    assert found.windows == (Exchange("Hi!", "You should leave now."),)
    assert found.unread == 9


def test_a_disguised_reply_is_read_as_it_is_and_plain():
    found = read("Hi!", "You are a w.o.r.t.h.l.e.s.s p.i.g, my friend.")
    assert [each.reply for each in found.windows] == [
        "You are a w.o.r.t.h.l.e.s.s p.i.g, my friend.",
        "You are a worthless pig, my friend.",
    ]


def test_a_long_reply_is_read_in_narrow_windows_too():
    experts = ScriptedExperts({"verdict": ("fine", "bad")})
    experts.max_length = 384
    (found,) = ReplyReader(experts, -1.0).read([Exchange("Hi!", OTHER)])
    narrow = [each.reply for each in found.windows if len(each.reply.split()) < NARROW]
    assert max(len(each.reply.split()) for each in found.windows) > NARROW
    assert len(set(found.windows)) == len(found.windows)
    assert set(OTHER.split()) <= {word for reply in narrow for word in reply.split()}


def test_experts_without_a_verdict_give_windows_alone():
    old = ScriptedExperts({"alignment": ALIGNMENTS})
    (found,) = ReplyReader(old).read([Exchange("Hi!", OTHER)])
    assert (found.bad, found.vectors, len(found.windows) > 1) == (None, None, True)
    assert found.doubtful(0.5) == list(range(len(found.windows)))
