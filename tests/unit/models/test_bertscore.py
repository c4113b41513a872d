"""BERTScore is the matching done by hand, on any transformer, cached, best reference counted."""

import json

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.models.bertscore import (
    BertScorer,
    ScriptedTokens,
    TokenRows,
    TransformerTokens,
    load_bert_scorer,
    match,
)

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "be", "kind", "rude", "to", "dogs", "."]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A BERT of two layers with random weights."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=24,
    )
    BertModel(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    assert json.loads((folder / "config.json").read_text())["hidden_size"] == 16
    return folder


@pytest.fixture(scope="module")
def tokens(tiny):
    return TransformerTokens(tiny, "tiny", "abc")


class Counting:
    """Counts the texts that a token encoder is asked for."""

    name, checksum = "counting", "counting"

    def __init__(self):
        self.asked = 0
        self._inner = ScriptedTokens()

    def tokens(self, texts):
        self.asked += len(texts)
        return self._inner.tokens(texts)


def rows(*vectors, words=None):
    return TokenRows(np.array(vectors, dtype=np.float32), tuple(words or [True] * len(vectors)))


def test_matching_by_hand():
    text = rows([1, 0], [0.6, 0.8])
    reference = rows([0, 1], [0.8, 0.6], [1, 0])
    found = match(text, reference)
    precision = (1.0 + 0.96) / 2  # [1, 0] meets itself; [.6, .8] meets [.8, .6]
    recall = (0.8 + 0.96 + 1.0) / 3
    assert found.precision == pytest.approx(100 * precision)
    assert found.recall == pytest.approx(100 * recall)
    assert found.f1 == pytest.approx(200 * precision * recall / (precision + recall))


def test_edges_weigh_nothing():
    edged = match(rows([1, 0], [0, 1], words=[False, True]), rows([1, 0], [0.6, 0.8]))
    assert edged.precision == pytest.approx(80)
    assert edged.recall == pytest.approx(100 * (1 + 0.8) / 2)  # an edge may still be matched


def test_a_text_is_itself_and_the_best_reference_counts(tokens):
    scorer = BertScorer(tokens)
    same, best, other = scorer.scores(
        ["be kind to dogs.", "be kind", "be kind"],
        [["be kind to dogs."], ["rude to dogs", "be kind"], ["rude to dogs"]],
    )
    assert same.f1 == pytest.approx(100, abs=1e-3)
    assert best.f1 == pytest.approx(100, abs=1e-3)
    assert other.f1 < 99
    assert scorer.f1(["be kind"], [["rude to dogs"]])[0] == pytest.approx(other.f1)


def test_precision_and_recall_trade_places(tokens):
    scorer = BertScorer(tokens)
    (one,) = scorer.scores(["be kind"], [["rude to dogs ."]])
    (two,) = scorer.scores(["rude to dogs ."], [["be kind"]])
    assert (one.precision, one.recall) == pytest.approx((two.recall, two.precision), abs=1e-4)


def test_rows_are_those_of_the_transformer_whatever_stands_in_the_batch(tiny, tokens):
    import torch
    from transformers import AutoModel, AutoTokenizer

    texts = ["be kind", "rude to dogs . be kind to dogs", "dogs"]
    tokenizer, body = AutoTokenizer.from_pretrained(tiny), AutoModel.from_pretrained(tiny).eval()
    for text, found in zip(texts, tokens.tokens(texts), strict=True):
        with torch.no_grad():
            wanted = body(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy()
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
        np.testing.assert_allclose(found.rows, wanted, atol=1e-5)
        assert found.words == (False, *[True] * (len(wanted) - 2), False)


def test_empty_and_very_long_texts(tokens):
    empty, long = BertScorer(tokens).scores(["", "dogs " * 5000], [["be kind"], ["dogs"]])
    assert empty.f1 == 0.0
    assert 0 < long.f1 <= 100


def test_pairs_are_computed_once_and_then_read(tmp_path):
    encoder = Counting()
    scorer = BertScorer(encoder, cache=tmp_path)
    texts, references = ["be kind", "be kind"], [["be rude", "go"], ["go"]]
    first = scorer.scores(texts, references)
    assert encoder.asked == 3  # each text once
    again = BertScorer(encoder, cache=tmp_path).scores(texts, references)
    assert (again, encoder.asked) == (first, 3)


def test_every_text_needs_a_reference():
    with pytest.raises((InputError, ValueError)):
        load_bert_scorer("scripted").scores(["a", "b"], [["a"]])


@pytest.mark.slow
def test_minilm_gives_what_bert_score_gives():
    """The figures of bert-score 0.3.13, one pair at a time (batch_size=1), layer 6."""
    texts = ["You should respond to people's messages.", "It's good to stick up for your sibling."]
    references = [["It is good to treat pets well."], ["It's good to remain friendly with family."]]
    found = load_bert_scorer("minilm").scores(texts, references)
    assert found[1].f1 == pytest.approx(61.012, abs=1e-3)
