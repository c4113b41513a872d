"""Chains: moralscope against the procedure of the paper's release, same weights, same N.

    python bench/chains.py
    python bench/chains.py --generator smollm2 --experts FOLDER --stories 256 --block 256

Theirs: one story at a time, N calls of `model.generate` one after the other, the ranker one pair
at a time (`run_coe_action_ranking_experiment.py` of the release samples so; it gives its ranker
small batches, so the ratio with a ranker in batches of eight is printed too). What it costs a
story does not depend on how many there are, so it is measured on the first few (`--theirs`).
Ours: `stories chain action-ranking`. Both sample with p = 0.9 up to `--tokens` or the model's own
end of text; ours does not use its earlier stop at the sentence's end here.

Prints seconds a story, tokens and the ratio (bars: 4 on two CPU cores, 8 on a GPU), the cost of
twice as many stories (linear: 2) and how much memory they take on top. The stories are written for
this file. Run it on a machine that does nothing else.
"""

import argparse
import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import torch

from moralscope.core.protocols import Classifier
from moralscope.core.records import Decoding
from moralscope.models.language import load_generator
from moralscope.stories.chains.run import ChainModels, ChainOptions, chain
from moralscope.stories.experts import prepare_experts
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.tasks import classification_task, generation_task, path_row

Models = tuple[Any, Any]  # a language model of transformers and its tokenizer
BARS = {"cpu": 4.0, "cuda": 8.0}
NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "June", "Kim", "Leo")
SCENES = (
    (
        "You should return what you borrow.",
        "has had a neighbour's ladder since spring",
        "paint a wall",
    ),
    ("It is rude to jump the queue.", "comes late to a bakery full of people", "buy fresh bread"),
    ("It's good to keep your promises.", "said yes to a friend who moves house", "rest on Sunday"),
    ("You shouldn't read other people's letters.", "finds an open envelope", "know who wrote it"),
    (
        "It is kind to share your umbrella.",
        "waits at a bus stop in the rain with a child",
        "stay dry",
    ),
    ("It's wrong to blame others for your mistakes.", "has lost a file at work", "keep the job"),
    (
        "People should tidy up after a picnic.",
        "has eaten in the park with friends",
        "go home early",
    ),
)


def stories(count: int) -> list[MoralStory]:
    found = []
    for place in range(count):
        name = NAMES[place % len(NAMES)]
        norm, situation, intention = SCENES[place % len(SCENES)]
        found.append(
            MoralStory(f"{place}", norm, f"{name} {situation}.", f"{name} wants to {intention}.")
        )
    return found


def prompts_of(given: Sequence[MoralStory]) -> list[tuple[str, dict[str, str | None], int]]:
    """Every story and target: the prompt, the row, the class that is wanted."""
    task = generation_task("action|context")
    rows = [(path_row(story, side), side) for story in given for side in ORIENTATIONS]
    return [(str(task.prompt(row)), row, int(side == "moral")) for row, side in rows]


def their_sampling(models: Models, prompt: str, decoding: Decoding) -> tuple[list[str], int]:
    """Return N texts of one prompt, one call each, and how many tokens they have."""
    model, tokenizer = models
    ids = tokenizer(prompt, return_tensors="pt").to(model.device)
    texts, tokens, start = [], 0, ids["input_ids"].shape[1]
    for _ in range(decoding.count):
        with torch.no_grad():
            made = model.generate(
                **ids,
                do_sample=True,
                top_p=decoding.p,
                top_k=0,
                temperature=1.0,
                max_new_tokens=decoding.max_tokens,
                pad_token_id=tokenizer.eos_token_id,
            )[0, start:]
        tokens += len(made)
        texts.append(tokenizer.decode(made, skip_special_tokens=True).strip() or ".")
    return texts, tokens


def their_chain(
    models: Models, ranker: Classifier, given: Sequence[MoralStory], decoding: Decoding
) -> dict[str, float]:
    task = classification_task("action+context")
    spent = {"sampling": 0.0, "ranking": 0.0, "ranking in eights": 0.0, "tokens": 0.0}
    for prompt, row, wanted in prompts_of(given):
        start = perf_counter()
        texts, tokens = their_sampling(models, prompt, decoding)
        spent["sampling"] += perf_counter() - start
        spent["tokens"] += tokens
        pairs = [pair for text in texts if (pair := task.pair({**row, "action": text}))]
        for name, size in (("ranking", 1), ("ranking in eights", 8)):
            start = perf_counter()
            scores = [
                float(line[wanted])
                for at in range(0, len(pairs), size)
                for line in ranker.probabilities(pairs[at : at + size])
            ]
            max(zip(scores, texts, strict=True))
            spent[name] += perf_counter() - start
    return spent


def memory() -> float:
    """Return the largest memory so far in MB: the device's, or the process's."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


@contextmanager
def plain_model(generator: Any) -> Iterator[tuple[Any, Any]]:
    """Lend the generator's own weights to transformers, with the attention it would choose."""
    model, ours = generator._model, generator._model.config._attn_implementation
    model.set_attn_implementation("sdpa")
    yield model, generator._tokenizer
    model.set_attn_implementation(ours)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stories", type=int, default=12, help="each is run for both targets")
    parser.add_argument("--theirs", type=int, default=3, help="stories for their procedure")
    parser.add_argument("--count", type=int, default=10, help="N")
    parser.add_argument("--tokens", type=int, default=60, help="the longest text")
    parser.add_argument("--block", type=int, default=12, help="results a block")
    parser.add_argument("--generator", default="stories")
    parser.add_argument("--experts", default="mpnet")
    options = parser.parse_args()
    generator, experts = load_generator(options.generator), prepare_experts(options.experts)
    models = ChainModels(generator, experts)
    decoding = Decoding(count=options.count, max_tokens=options.tokens, sentence=False)
    settings = ChainOptions(decoding=decoding, block=options.block)

    def ours(number: int) -> tuple[float, float]:
        """Return seconds and tokens a story."""
        start = perf_counter()
        record = chain("action-ranking", stories(number), models, settings)
        seconds = perf_counter() - start
        written = (row["path"][0]["candidates"] for row in record.results)
        tokens = sum(item.get("tokens", 0) for some in written for item in some)
        return seconds / number, tokens / number

    ours(1)  # both are warm before the clock starts
    once = ours(options.stories)
    print(f"ours    {once[0]:8.2f} s a story  {once[1]:6.0f} tokens", flush=True)
    with plain_model(generator) as lent:
        their_sampling(lent, "<|NRM|> Be kind.", Decoding(max_tokens=4))
        ranker, given = experts.expert("action+context"), stories(options.theirs)
        theirs = their_chain(lent, ranker, given, decoding)
    met = report(once, {name: value / options.theirs for name, value in theirs.items()})
    first = memory()
    twice = ours(2 * options.stories)
    print(
        f"twice as many stories: {2 * twice[0] / once[0]:.2f} times the seconds, "
        f"{memory() - first:+.0f} MB beyond {first:,.0f} MB"
    )
    return int(not met)


def report(ours: tuple[float, float], theirs: dict[str, float]) -> bool:
    """Print seconds a story of both, and the ratios."""
    seconds, tokens = ours
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sampling, written = theirs["sampling"], theirs["tokens"]
    whole, eights = sampling + theirs["ranking"], sampling + theirs["ranking in eights"]
    print(
        f"theirs  {whole:8.2f} s a story  {written:6.0f} tokens  "
        f"(sampling {sampling:.2f} s, ranking {theirs['ranking']:.2f} s)"
    )
    threads = f", {torch.get_num_threads()} threads" if device == "cpu" else ""
    print(f"ratio   {whole / seconds:.1f}x on {device}{threads} (bar {BARS[device]:.0f}x)")
    print(f"        {eights / seconds:.1f}x with their ranker in batches of eight")
    print(f"        {whole / written / (seconds / tokens):.1f}x for the same number of tokens")
    return whole / seconds >= BARS[device]


if __name__ == "__main__":
    raise SystemExit(main())
