"""Rank the actions of a saved chain again by other experts: two rankings of the same texts.

    moralscope stories chain action-ranking --part dev --limit 50 --out mpnet.json
    python bench/chain_ranking.py mpnet.json large.json [--experts large] [--limit 100]
    moralscope stories metrics mpnet.json large.json --judge minilm

The second record has the first one's candidates in the order in which the other experts put them,
so the paired tests of `stories metrics` compare nothing but the ranking. `--limit` takes the first
N results (a story has two). Prints how often the choice is another one.
"""

import argparse
import json
from pathlib import Path

from moralscope.core.records import to_plain
from moralscope.stories.experts import prepare_experts
from moralscope.stories.tasks import classification_task


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--experts", default="large")
    parser.add_argument("--limit", type=int)
    given = parser.parse_args()
    run = json.loads(given.run.read_text("utf-8"))
    experts = prepare_experts(given.experts, eight_bits=True)
    task = classification_task(run["config"]["steps"][-1]["expert"])
    run["results"] = [row for row in run["results"] if row["choice"]][: given.limit]
    others = 0
    for row in run["results"]:
        texts = [one["text"] for one in row["candidates"]]
        pairs = [task.pair({**row["story"], "action": text}) for text in texts]
        scores = experts.expert(task.name).probabilities(pairs)[:, int(row["target"] == "moral")]
        order = (-scores).argsort(kind="stable")
        row["candidates"] = [{"text": texts[i], "score": float(scores[i])} for i in order]
        others += row["choice"] != texts[order[0]]
        row["choice"] = row["path"][-1]["choice"] = texts[order[0]]
    run["config"] |= {"experts": experts.ref.name, "recipe": f"ranked by {given.experts}"}
    run["models"] = [*run["models"][:-1], to_plain(experts.ref)]
    given.out.write_text(json.dumps(run, ensure_ascii=False), "utf-8")
    print(f"{others} of {len(run['results'])} choices are others")


if __name__ == "__main__":
    main()
