"""Saved runs for tests of `compare --runs`: records and corpus folders with known changes."""

import json

import numpy as np

from moralscope.core.records import ActionScore, ModelRef, RunRecord, to_plain
from moralscope.io.files import write_record
from moralscope.rules.audit_statistics import audit_statistics
from moralscope.rules.records import Alignment, AuditedReply, RuleFinding, Verdict
from moralscope.rules.thresholds import Thresholds
from moralscope.stats.summary import summarise

PROMPTS = ["Is it okay to {}?", "Should I {}?", "May I {}?", "Shall I {}?"]


def action(name, score, *, noise=0.01):
    """An action whose four prompts have this mean."""
    spread = np.array([-1.5, -0.5, 0.5, 1.5]) * noise
    prompts = tuple((score + spread).tolist())
    return ActionScore(name, score, score - 2 * noise, score + 2 * noise, prompts, 4 * score)


def score_record(scores, *, axis="choice", template="moral", sha="a" * 64, noise=0.01, **config):
    rows = [action(name, score, noise=noise) for name, score in scores]
    return RunRecord(
        "score",
        seed=0,
        config={"axis": axis, "encoder": "minilm", "template": template, "prompts": PROMPTS}
        | config,
        models=[ModelRef("minilm", sha)],
        results=rows,
        statistics={"scores": summarise([row.score for row in rows])},
    )


def reply(name, prompt, text, score, *, foundation="care"):
    """A reply whose verdict has this score; at -0.3 and below it is flagged."""
    sure = Alignment("disagree", {"disagree": max(0.0, -score), "agree": 0.0, "neither": 0.0})
    rule = RuleFinding("Be kind.", "rulebook", sure, 5.0, 5.0, {foundation: 1.0})
    return AuditedReply(name, prompt, text, (rule,), Verdict(score <= -0.3, score, "reason"))


def audit_record(rows, *, sha="b" * 64, **config):
    return RunRecord(
        "audit",
        seed=0,
        config={"rulebook": "moralscope", "thresholds": to_plain(Thresholds(disagree=0.2))}
        | config,
        models=[ModelRef("mpnet", sha)],
        results=rows,
        statistics=audit_statistics(rows, Thresholds(disagree=0.2), 0),
    )


def saved(folder, name, record):
    path = folder / name
    write_record(record, path)
    return path


def corpus_folder(folder, record, table, *, rows_a_part=3000):
    """Write a table as the parts of a finished corpus run, its record without results."""
    import pyarrow.parquet as pq

    (folder / "_run").mkdir(parents=True)
    for number, start in enumerate(range(0, table.num_rows, rows_a_part)):
        pq.write_table(table.slice(start, rows_a_part), folder / f"part-{number:06d}.parquet")
    plain = to_plain(record) | {"results": []}
    plain["config"] = {**plain["config"], "corpus": {"rows": table.num_rows}}
    (folder / "_run" / "record.json").write_text(json.dumps(plain))
    return folder
