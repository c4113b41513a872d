"""A generator and experts that write down what they are asked, and stories of our own."""

from hashlib import blake2b

import numpy as np

from moralscope.core.records import Candidate, ModelRef
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import classification_tasks


def number(*parts):
    digest = blake2b(repr(parts).encode(), digest_size=6).digest()
    return int.from_bytes(digest)


class Writer:
    """Candidates that depend on the prompt and its seed alone; every call is noted in `log`."""

    refs, warnings, usage = (), (), None

    name, checksum = "writer", "c0ffee"

    def __init__(self, log=None, text=None):
        self.log = [] if log is None else log
        self.text = text or (lambda prompt, seed, place: f"text {number(prompt, seed, place)}.")

    def generate(self, prompts, decoding, seeds):
        assert len(prompts) == len(seeds)
        self.log.append(("write", list(prompts), decoding, list(seeds)))
        return [
            [Candidate(self.text(prompt, seed, n), (-1.0, -0.5)) for n in range(decoding.count)]
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]


class Judge:
    name, checksum = "judge", "beef"

    def __init__(self, task, log):
        self.task, self.labels, self.log = task, classification_tasks()[task].labels, log

    def probabilities(self, pairs):
        self.log.append(("judge", self.task, list(pairs)))
        rows = [[number(self.task, pair, n) % 997 + 1 for n in self.labels] for pair in pairs]
        table = np.array(rows, dtype=np.float32)
        return table / table.sum(axis=1, keepdims=True)


class Panel:
    """Experts for every task of the table."""

    ref, card = ModelRef("panel", "feed"), {}

    def __init__(self, log=None):
        self.log = [] if log is None else log
        self.tasks = tuple(classification_tasks())

    def expert(self, task):
        return Judge(task, self.log)


def a_story(name="s1", **changes):
    sentences = {
        "norm": f"You should water the plants of {name}.",
        "situation": f"{name} looks after a garden.",
        "intention": f"{name} wants a free evening.",
        "moral_action": f"{name} waters the beds first.",
        "moral_consequence": f"The garden of {name} stays green.",
        "immoral_action": f"{name} leaves the beds dry.",
        "immoral_consequence": f"The garden of {name} withers.",
    }
    return MoralStory(name, **{**sentences, **changes})


def stories(count):
    return [a_story(f"s{place}") for place in range(count)]
