"""A chain of eighty results, two a block, slow enough to be killed. Prints the prompts it asked."""

import sys
import time
from pathlib import Path

from moralscope.core.records import Candidate, Decoding
from moralscope.io.files import write_record
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.stories.chains.run import ChainModels, ChainOptions, chain, finish
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import classification_tasks


class Slow:
    refs, warnings, usage = (), (), None
    name, checksum, asked = "slow", "5105", 0

    def generate(self, prompts, decoding, seeds):
        time.sleep(0.03)
        self.asked += len(prompts)
        return [
            [Candidate(f"{seed % 99991} {n}.") for n in range(decoding.count)] for seed in seeds
        ]


def main():
    out, writer = Path(sys.argv[1]), Slow()
    tasks = {row.name: row.labels for row in classification_tasks().values()}
    stories = [MoralStory(f"s{n}", "Be kind.", f"Day {n}.", "Ada wants tea.") for n in range(40)]
    options = ChainOptions(decoding=Decoding(count=5), block=2, out=out)
    models = ChainModels(writer, ScriptedExperts(tasks))
    record = chain("action-ranking", stories, models, options)
    write_record(record, out)
    finish(record)
    print(writer.asked)


if __name__ == "__main__":
    main()
