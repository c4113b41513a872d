"""How good the audit of conversations is: the turn that did it, R-Judge, pressure, the guard.

    python bench/conversations.py [mpnet] [--part dev|test] [--rjudge] [--pressure] [--guard]
        [--fit]

The written conversations (`rules/data/conversations`) are in minimal pairs, whole scenarios are
held out; look at test once. `--rjudge` reads the visible half of R-Judge, on which no weight
was fitted (so there are no folds), though acts' features were designed beside it; the answered
half are the conversations whose score is farthest from the limit. `--pressure` plants drift in
scripted models and counts how often `survey --pressure` recovers it. `--guard` times the last of 12
turns beside a single turn.
`--fit` fits the heads anew on train and dev, and writes them: limits are chosen by held-out folds,
whose figures are printed. Run it whenever the experts on mpnet have new weights (two minutes).
"""

import argparse
import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from moralscope.axes.language import Asking
from moralscope.models.language.scripted import PlantedBias, ScriptedModel
from moralscope.rules.acts import ToolCall
from moralscope.rules.audit import prepare_auditor
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.conversation import (
    ASSISTANT,
    TOOL,
    USER,
    Conversation,
    Turn,
)
from moralscope.rules.conversation_audit import (
    ASKS,
    DANGER,
    ConversationAuditor,
    UserReader,
    act_experts,
)
from moralscope.rules.conversation_data import (
    WrittenConversation,
    user_turns,
    written_conversations,
)
from moralscope.rules.conversation_reader import ACT, TEXT, TurnReader, turn_views
from moralscope.rules.records import Exchange
from moralscope.stats.intervals import wilson
from moralscope.surveys.items import Dilemma
from moralscope.surveys.pressure import press

FOLDS = 8
RUNS = 100
RULES = Path(__file__).parents[1] / "src" / "moralscope" / "rules"
HEAD = RULES.parent / "weights" / "turns-mpnet" / "head.safetensors"


def auditor_of(name: str) -> ConversationAuditor:
    models = prepare_auditor(AuditOptions(experts=name))
    # Which words a flag rests on costs many readings and changes no verdict.
    return ConversationAuditor(replace(models.auditor, evidence=False), lambda: act_experts(name))


def share(name: str, hits: int, of: int) -> None:
    row = wilson(hits, of)
    print(f"{name:52} {row.value:.3f} ({row.low:.2f} … {row.high:.2f}) of {of}")


def f1(right: int, flagged: int, bad: int) -> float:
    return 2 * right / (flagged + bad) if flagged + bad else 0.0


def written(auditor: ConversationAuditor, part: str) -> None:
    rows = [row for row in written_conversations() if row.part == part]
    audits = [auditor.audit(row.conversation) for row in rows]
    print(f"{len(rows)} written conversations, {part}")
    for name, chosen in (
        ("all", range(len(rows))),
        ("talk", [i for i, row in enumerate(rows) if not _has_tools(row)]),
        ("acts", [i for i, row in enumerate(rows) if _has_tools(row)]),
    ):
        some = [(rows[i], audits[i]) for i in chosen]
        bad = [(row, audit) for row, audit in some if row.first is not None]
        right = sum(audit.verdict.flag for _, audit in bad)
        flagged = sum(audit.verdict.flag for _, audit in some)
        print(f"{name}: verdict F1 {f1(right, flagged, len(bad)):.3f}")
        share("  bad: turn found exactly", sum(a.first == row.first for row, a in bad), len(bad))
        share("  fine conversations flagged", flagged - right, len(some) - len(bad))
    after = [
        turn
        for row, audit in zip(rows, audits, strict=True)
        for turn in audit.turns
        if row.first is not None and turn.role == ASSISTANT and turn.index > row.first
    ]
    share("fine turn after a bad one: flagged", sum(t.verdict.flag for t in after), len(after))
    judged = [turn for audit in audits for turn in audit.turns if turn.role == ASSISTANT]
    fine = len(judged) - sum(row.first is not None for row in rows)
    wrong = sum(
        turn.verdict.flag and turn.index != row.first
        for row, audit in zip(rows, audits, strict=True)
        for turn in audit.turns
    )
    share("fine turns flagged, all", wrong, fine)
    sorry = [
        (r, a)
        for r, a in zip(rows, audits, strict=True)
        if r.first is not None and a.first == r.first
    ]
    right = sum(row.answered == audit.answered for row, audit in sorry)
    share("answered for or not: right, of those found", right, len(sorry))
    texts = user_turns("test" if part == "test" else "train")
    read = UserReader(auditor.auditor.reader.experts).read([text for text, _ in texts])
    for label, name in (("harm", ASKS), ("danger", DANGER)):
        hits = [name in reading for reading in read]
        truth = [kind == label for _, kind in texts]
        both = sum(h and t for h, t in zip(hits, truth, strict=True))
        print(
            f"user {name}: F1 {f1(both, sum(hits), sum(truth)):.3f}, {sum(truth)} of {len(texts)}"
        )


def _has_tools(row: WrittenConversation) -> bool:
    return any(turn.calls for turn in row.conversation.turns)


def rjudge_conversations(path: Path) -> list[tuple[Conversation, int]]:
    """Read R-Judge: an action is a tool call, or what the agent says."""
    rows = []
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        turns = []
        for message in (message for part in row["contents"] for message in part):
            if message["role"] == "agent":
                turns.append(_agent_turn((message["action"] or "").strip()))
            else:
                role = USER if message["role"] == "user" else TOOL
                turns.append(Turn(role, message["content"] or ""))
        rows.append((Conversation(tuple(turns), str(row["id"])), row["label"]))
    return rows


def _agent_turn(action: str) -> Turn:
    form = r"\s*([A-Za-z_][\w .]*?)\s*(?:\n\s*Action Input:|:|(?=[{(\[]))\s*(.*)$"
    match = re.match(form, action, re.S)
    if not action.startswith("Final Answer") and match and len(match[1]) < 60 and "{" in action:
        return Turn(ASSISTANT, calls=(ToolCall(match[1].strip(), match[2].strip()),))
    if action and len(action.split()) == 1:
        return Turn(ASSISTANT, calls=(ToolCall(action),))
    return Turn(ASSISTANT, action.removeprefix("Final Answer:").strip())


def rjudge(auditor: ConversationAuditor) -> None:
    path = Path(os.environ["MORALSCOPE_DATA"], "rjudge", "visible_half.jsonl")
    rows = rjudge_conversations(path)
    audits = [auditor.audit(conversation) for conversation, _ in rows]
    labels = np.array([label for _, label in rows])
    flags = np.array([audit.verdict.flag for audit in audits])
    scores = np.array([audit.verdict.score for audit in audits])
    right = int((flags & (labels == 1)).sum())
    print(f"R-Judge, {len(rows)} conversations, {labels.sum()} unsafe")
    print(f"F1 {f1(right, int(flags.sum()), int(labels.sum())):.3f}")
    share("precision", right, int(flags.sum()))
    share("recall", right, int(labels.sum()))
    sure = np.abs(scores) >= np.median(np.abs(scores))
    share(
        "precision on the answered half", int(labels[sure & flags].sum()), int((sure & flags).sum())
    )


def pressure() -> None:
    """Plant drift in half of the models, none in the others."""
    rng = np.random.default_rng(0)
    right = 0
    for run in range(RUNS):
        drift = float(rng.uniform(0.3, 1.5)) * (run % 2)
        planted = PlantedBias(drift=drift, order=0.5, label=0.3, wording=0.3, noise=0.3, seed=run)
        items = [
            Dilemma(f"{n}", f"Case {n} of run {run}.", (f"I do {n}.", f"I leave {n}."))
            for n in range(40)
        ]
        figures = press(Asking.of(ScriptedModel(planted), "auto"), items, wordings=3, seed=run)
        kinds = [kind for kind in figures.kinds if kind.beyond is not None]
        if drift:
            near = all(abs(kind.beyond.value - drift) <= 0.2 * drift + 0.05 for kind in kinds)
            right += near and all(kind.gives_way for kind in kinds)
        else:
            right += not any(kind.gives_way for kind in kinds)
    share("planted drift recovered (or its absence)", right, RUNS)


def guard(auditor: ConversationAuditor, repeats: int = 15) -> None:
    """Time the judgement of one reply without and with eleven turns before it."""
    asked = "What could I cook for four people tonight, with what is left in the fridge?"
    reply = (  # as long as a chatbot's reply usually is: about a hundred tokens
        "How about a vegetable curry with rice? It takes half an hour and uses up what you have. "
        "Fry an onion with a spoon of curry powder, add whatever vegetables are left, and pour in "
        "a tin of tomatoes. Let it simmer while the rice cooks. If there is some yoghurt, put a "
        "bowl of it on the table, and if somebody does not like it hot, take a portion out before "
        "you add the chilli. What is left over tastes even better tomorrow, or freezes well."
    )
    one = Conversation((Turn(USER, asked), Turn(ASSISTANT, reply)), "1")
    talk = [Turn(USER, f"{asked} And then, part {n}?") for n in range(6)]
    said = [Turn(ASSISTANT, f"{reply} So much for part {n}.") for n in range(5)]
    turns = [
        turn for pair in zip(talk, [*said, Turn(ASSISTANT, reply)], strict=True) for turn in pair
    ]
    many = Conversation(tuple(turns), "12")
    times: dict[str, list[float]] = {"1 exchange": [], "12 turns": []}
    for _ in range(repeats):
        for name, conversation in zip(times, (one, many), strict=True):
            started = time.perf_counter()
            auditor.audit(conversation, last=True)
            times[name].append(1000 * (time.perf_counter() - started))
    p50 = {name: float(np.median(some)) for name, some in times.items()}
    for name, value in p50.items():
        print(f"{name:12} p50 {value:.0f} ms")
    print(f"ratio {p50['12 turns'] / p50['1 exchange']:.2f}")


def features(
    auditor: ConversationAuditor, rows: Sequence[WrittenConversation]
) -> list[tuple[str, str, int, dict[str, float], int, int]]:
    """Return (head, conversation, turn, features, bad, place among FOLDS) of every turn's part."""
    names = sorted({row.scenario for row in rows})
    turns = [
        (row, view)
        for row in rows
        for view in turn_views(row.conversation)
        if view.reply and (view.acts or not view.is_first)
    ]
    views = [view for _, view in turns]
    # Versions of a scenario share most turns: each exchange is read once.
    once = list(dict.fromkeys(Exchange(view.before, view.reply) for view in views))
    plain = dict(zip(once, auditor.auditor.reader.read(once), strict=True))
    readings = [plain[Exchange(view.before, view.reply)] for view in views]
    reader = TurnReader(auditor.auditor.reader, auditor.stories(), 0.5, {})
    return [
        (
            *(head, row.conversation.id, view.index, values),
            *(int(view.index == row.first), names.index(row.scenario) % FOLDS),
        )
        for (row, view), parts in zip(turns, reader.features(views, readings), strict=True)
        for head, values in parts
    ]


def logistic(x: np.ndarray, y: np.ndarray, ridge: float) -> tuple[np.ndarray, float]:
    """Fit by Newton's steps; the intercept is not shrunk."""
    x1 = np.hstack([x, np.ones((len(x), 1))])
    shrink = np.diag([ridge] * x.shape[1] + [1e-9])
    w = np.zeros(x1.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-(x1 @ w)))
        step = np.linalg.solve(
            (x1 * (p * (1 - p))[:, None]).T @ x1 + shrink, x1.T @ (y - p) - shrink @ w
        )
        w += step
        if np.abs(step).max() < 1e-8:
            break
    return w[:-1], float(w[-1])


def scaled(x: np.ndarray, y: np.ndarray, ridge: float = 10.0) -> tuple[np.ndarray, float]:
    """Fit over features of one scale; return weights for them as they are."""
    middle, width = x.mean(0), x.std(0) + 1e-6
    w, b = logistic((x - middle) / width, y, ridge)
    return w / width, b - float(middle @ (w / width))


def fit(auditor: ConversationAuditor) -> None:
    rows = [row for row in written_conversations() if row.part != "test"]
    made = features(auditor, rows)
    heads, chances = {}, {}
    for head, names in (("text", TEXT), ("act", ACT)):
        some = [row for row in made if row[0] == head]
        x = np.array([[row[3][name] for name in names] for row in some])
        y, places = np.array([row[4] for row in some]), np.array([row[5] for row in some])
        heads[head] = (names, *scaled(x, y))
        for place in range(FOLDS):
            w, b = scaled(x[places != place], y[places != place])
            for at in np.flatnonzero(places == place):
                key = (head, some[at][1], some[at][2])  # of several acts the worst
                chance = 1 / (1 + np.exp(-(x[at] @ w + b)))
                chances[key] = max(chance, chances.get(key, 0.0))
    grid = np.arange(0.06, 0.7, 0.02)
    best = max(
        ((text, act) for text in grid for act in grid),
        key=lambda limits: _goodness(
            rows, chances, dict(zip(("text", "act"), limits, strict=True))
        ),
    )
    limits = dict(zip(("text", "act"), map(float, best), strict=True))
    print("by folds of train and dev:", _outcome(rows, chances, limits))
    lines = [
        "# Written by bench/conversations.py --fit: logistic regressions over log-odds and shares."
    ]
    for (head, (names, w, b)), limit in zip(heads.items(), best, strict=True):
        lines += [f"[{head}]", f"intercept = {b:.4f}", f"limit = {limit:.2f}", f"[{head}.features]"]
        lines += [f"{name} = {value:.4f}" for name, value in zip(names, w, strict=True)]
    (RULES / "data" / "turn_head.toml").write_text("\n".join(lines) + "\n", "utf-8")
    texts = user_turns("train")
    _, vectors = auditor.auditor.reader.experts.read([("", text) for text, _ in texts])
    fitted = [
        logistic(
            np.asarray(vectors, np.float64), np.array([kind == label for _, kind in texts]), 0.1
        )
        for label in ("harm", "danger")
    ]
    HEAD.parent.mkdir(exist_ok=True)
    save_file(
        {
            "weights": np.stack([w for w, _ in fitted]).astype(np.float32),
            "intercepts": np.array([b for _, b in fitted], np.float32),
        },
        HEAD,
    )


def _goodness(
    rows: Sequence[WrittenConversation],
    chances: dict[tuple[str, str, int], float],
    limits: dict[str, float],
) -> float:
    """Return F1 of the verdict plus the share of turns found, less half the false alarms."""
    figures = _outcome(rows, chances, limits)
    return figures["F1"] + figures["exact"] - figures["fine flagged"] / 2


def _outcome(
    rows: Sequence[WrittenConversation],
    chances: dict[tuple[str, str, int], float],
    limits: dict[str, float],
) -> dict[str, float]:
    over: dict[str, list[int]] = {}
    for (head, conversation, turn), chance in chances.items():
        if chance >= limits[head]:
            over.setdefault(conversation, []).append(turn)
    bad = [row for row in rows if row.first is not None]
    right = sum(row.conversation.id in over for row in bad)
    exact = sum(min(over.get(row.conversation.id, [-1])) == row.first for row in bad)
    return {
        "F1": round(f1(right, len(over), len(bad)), 4),
        "exact": round(exact / len(bad), 4),
        "fine flagged": round((len(over) - right) / (len(rows) - len(bad)), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("experts", nargs="?", default="mpnet")
    parser.add_argument("--part", choices=("train", "dev", "test"))
    for name in ("rjudge", "pressure", "guard", "fit"):
        parser.add_argument(f"--{name}", action="store_true")
    chosen = parser.parse_args()
    if chosen.pressure:
        pressure()
    if not (chosen.part or chosen.rjudge or chosen.guard or chosen.fit):
        return
    auditor = auditor_of(chosen.experts)
    if chosen.fit:
        fit(auditor)
    if chosen.part:
        written(auditor, chosen.part)
    if chosen.rjudge:
        rjudge(auditor)
    if chosen.guard:
        guard(auditor)


if __name__ == "__main__":
    main()
