"""A chain on real weights: the same texts whatever the block and the batch (CPU, float32)."""

import pytest

from moralscope.core.records import Decoding
from moralscope.models.language import load_generator
from moralscope.stories.chains.run import ChainModels, ChainOptions, chain
from moralscope.stories.experts import prepare_experts
from moralscope.stories.story import MoralStory


def stories(count):
    return [
        MoralStory(
            f"s{n}",
            "You should water the plants." + " Even small ones count." * (n % 3),
            f"Noa has {n} pots on the balcony.",
            "Noa wants to leave for a week.",
        )
        for n in range(count)
    ]


@pytest.mark.slow
def test_the_same_texts_for_batches_of_one_and_of_many():
    found = []
    for batch, block in ((1, 1), (32, 32)):
        models = ChainModels(load_generator("smollm2", batch=batch), prepare_experts("scripted"))
        options = ChainOptions("moral", Decoding(count=2, max_tokens=10), block=block)
        found.append(list(chain("action-abduction", stories(2), models, options).results))
    assert found[0] == found[1]
    drafts = [draft.text for row in found[0] for draft in row.candidates]
    assert len(drafts) == len(set(drafts)) == 4  # scripted experts may take none of them
