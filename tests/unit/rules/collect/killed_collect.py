"""A collection of sixty replies, slow enough to be killed. Prints how many prompts it asked."""

import sys
import time
from pathlib import Path

from moralscope.core.records import Candidate
from moralscope.rules.collect import collect as job
from moralscope.rules.collect.chatbots import Chatbot, ChatPrompt, CollectPrompt


class Slow:
    refs, warnings, usage = (), (), None
    name, checksum, asked = "slow", "5105", 0

    def generate(self, prompts, decoding, seeds):
        time.sleep(0.05)
        self.asked += len(prompts)
        return [[Candidate(f"I would never steal {prompt}")] for prompt in prompts]


def main():
    bot = Slow()
    options = job.CollectOptions(("slow",), filters="scripted", to=Path(sys.argv[1]))
    prompts = [CollectPrompt(f"apple {n}", str(n)) for n in range(60)]
    job.collect(
        prompts,
        options,
        ready=job.Filters(job.prepare(job.CollectOptions(("scripted",), filters="scripted")).sieve),
        load=lambda name, _: Chatbot(name, bot, "plain", ChatPrompt),
    )
    print(bot.asked)


if __name__ == "__main__":
    job._BLOCK = 2
    main()
