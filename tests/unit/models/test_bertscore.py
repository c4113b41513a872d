"""BERTScore is the matching done by hand, on any transformer, cached, best reference counted."""

import json
import math

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.models.bertscore import (
    BertScorer,
    ScriptedTokens,
    TokenRows,
    TransformerTokens,
    idf_weights,
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

    def token_ids(self, texts):
        return self._inner.token_ids(texts)


def rows(*vectors, words=None, ids=None):
    table = np.array(vectors, dtype=np.float32)
    count = len(vectors)
    return TokenRows(tuple(ids or range(count)), table, tuple(words or [True] * count))


def test_matching_by_hand():
    text = rows([1, 0], [0.6, 0.8])
    reference = rows([0, 1], [0.8, 0.6], [1, 0])
    found = match(text, reference)
    precision = (1.0 + 0.96) / 2  # [1, 0] meets itself; [.6, .8] meets [.8, .6]
    recall = (0.8 + 0.96 + 1.0) / 3
    assert found.precision == pytest.approx(100 * precision)
    assert found.recall == pytest.approx(100 * recall)
    assert found.f1 == pytest.approx(200 * precision * recall / (precision + recall))


def test_rare_tokens_weigh_more_and_edges_nothing():
    text = rows([1, 0], [0, 1], ids=(7, 8))
    reference = rows([1, 0], [0.6, 0.8], ids=(7, 9))
    found = match(text, reference, {7: 1.0, 8: 3.0, -1: 0.0})
    assert found.precision == pytest.approx(100 * (1 + 3 * 0.8) / 4)
    assert found.recall == pytest.approx(100)  # token 9 is unseen and weighs nothing here
    edged = match(rows([1, 0], [0, 1], words=[False, True]), reference)
    assert edged.precision == pytest.approx(80)
    assert edged.recall == pytest.approx(100 * (1 + 0.8) / 2)  # an edge may still be matched


def test_weights_are_those_of_the_paper_smoothed():
    weights = idf_weights([(1, 2, 2), (1,), (3,)])
    assert weights[1] == pytest.approx(math.log(4 / 3))
    assert weights[2] == pytest.approx(math.log(4 / 2))
    assert weights[-1] == pytest.approx(math.log(4))


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


def test_another_layer_gives_other_rows_and_a_missing_one_is_refused(tiny, tokens):
    first = TransformerTokens(tiny, "tiny", "abc", layer=1)
    assert first.checksum != tokens.checksum
    assert not np.allclose(first.tokens(["be kind"])[0].rows, tokens.tokens(["be kind"])[0].rows)
    with pytest.raises(InputError, match="no layer 3"):
        TransformerTokens(tiny, "tiny", "abc", layer=3)


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


def test_scores_with_other_weights_are_not_mixed_up(tmp_path):
    texts, references = ["be kind to dogs"], [["be rude to dogs"]]
    plain = BertScorer(ScriptedTokens(), cache=tmp_path).scores(texts, references)
    many = [*references, ["be calm"], ["be late"]]
    weighed = BertScorer(ScriptedTokens(), idf=True, cache=tmp_path)
    found = weighed.scores([*texts, "be", "be"], many)
    assert found[0] != plain[0]
    assert found[0] == BertScorer(ScriptedTokens(), idf=True).scores([*texts, "be", "be"], many)[0]


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
