"""What a generator learns: the sentence after the prompt, and nothing else."""

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

from moralscope.models.training.generator import GeneratorLearner, GeneratorTraining
from moralscope.models.training.records import TextExample

from ....generator_makers import tiny_llama, tiny_seq2seq

ROWS = [
    TextExample("Jo spits.", "Al is upset.", "a"),
    TextExample("Jo", "He leaves at once.", "b"),
    TextExample("Jo smiles at Al on the road.", "Good.", "a"),
]


def learner_of(folder, kind, examples=ROWS, **limits):
    model = kind.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    training = GeneratorTraining(**{"max_length": 160, **limits})
    return GeneratorLearner(model, tokenizer, examples, examples, training)


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    return learner_of(tiny_llama(tmp_path_factory.mktemp("llama")), AutoModelForCausalLM)


@pytest.fixture(scope="module", params=["t5", "bart"])
def encoder_decoder(tmp_path_factory, request):
    folder = tiny_seq2seq(tmp_path_factory.mktemp(request.param), request.param)
    return learner_of(folder, AutoModelForSeq2SeqLM)


def by_hand(learner, row):
    """Return the summed loss of one sentence and its end, without batch or padding."""
    prompt = learner.tokenizer(row.prompt)["input_ids"]
    words = learner.tokenizer(" " + row.target, add_special_tokens=False)["input_ids"] + [1]
    with torch.no_grad():
        logits = learner.module(input_ids=torch.tensor([prompt + words])).logits[0]
    each = torch.log_softmax(logits[len(prompt) - 1 : -1], 1)
    return -float(each.gather(1, torch.tensor(words)[:, None]).sum()), len(words)


def test_only_the_sentence_and_its_end_count(causal):
    expected = [by_hand(causal, row) for row in ROWS]
    total = sum(loss for loss, _ in expected) / sum(size for _, size in expected)
    assert float(causal.loss([0, 1, 2]).detach()) == pytest.approx(total, abs=1e-4)


def test_the_prompt_counts_too_where_asked(tmp_path):
    learner = learner_of(tiny_llama(tmp_path), AutoModelForCausalLM, ROWS[:1], learn_prompt=True)
    prompt, target = learner._rows[0]
    ids = torch.tensor([prompt + target])
    with torch.no_grad():
        each = torch.log_softmax(learner.module(input_ids=ids).logits[0, :-1], 1)
    mean = -float(each.gather(1, ids[0, 1:, None]).mean())
    assert float(learner.loss([0]).detach()) == pytest.approx(mean, abs=1e-4)
    only = learner_of(tiny_llama(tmp_path), AutoModelForCausalLM, ROWS[:1])
    assert only.data_sha256 != learner.data_sha256
    with torch.inference_mode():
        assert learner.dev() == pytest.approx(only.dev())  # dev is of the sentence alone


@pytest.mark.parametrize("overlap", ["BLEU", "ROUGE-L"])
def test_written_texts_are_judged_by_the_best_of_what_people_wrote(tmp_path, overlap):
    rows = [
        TextExample("Jo spits.", "Al is upset about it.", "a"),
        TextExample("Jo spits.", "Al goes home by bus.", "a"),
        TextExample("Jo sings.", "Al likes to hear it.", "a"),
        TextExample("Jo swims.", "Al is not looked at.", "a"),
    ]
    learner = learner_of(
        tiny_llama(tmp_path), AutoModelForCausalLM, rows, answered=2, overlap=overlap
    )
    asked = []

    def write(places):
        asked.extend(places)
        return ["Al goes home by bus.", "Al likes to hear it."]

    learner._write = write
    with torch.inference_mode():
        found = learner.dev()
    assert asked == [0, 2]  # each prompt once, as many as `written` says
    assert found["score"] == found[f"a {overlap}"] == pytest.approx(100.0)


def test_dev_tells_the_loss_a_token_by_group(causal):
    (one, sizes), (other, more), (third, last) = (by_hand(causal, row) for row in ROWS)
    with torch.inference_mode():
        found = causal.dev()
    assert found["a"] == pytest.approx((one + third) / (sizes + last), abs=1e-4)
    assert found["b"] == pytest.approx(other / more, abs=1e-4)
    assert found["score"] == pytest.approx(-(found["a"] + found["b"]) / 2)


def test_an_encoder_decoder_has_the_same_loss_alone_and_in_a_batch(encoder_decoder):
    with torch.inference_mode():
        alone = [encoder_decoder._losses([row])[0] for row in encoder_decoder._rows]
        together = encoder_decoder._losses(encoder_decoder._rows)
    assert together == pytest.approx(alone, abs=1e-3)
    sizes = [len(target) for _, target in encoder_decoder._rows]
    mean = float(encoder_decoder.loss([0, 1, 2]).detach())
    assert mean == pytest.approx(sum(alone) / sum(sizes), abs=1e-4)


def test_long_texts_are_cut_to_their_limits(tmp_path):
    rows = [TextExample("x" * 90, "y" * 90, "a")]
    cut = learner_of(tiny_llama(tmp_path), AutoModelForCausalLM, rows, max_length=20, max_output=9)
    prompt, target = cut._rows[0]
    assert (len(prompt), len(target), target[-1]) == (20, 10, cut.tokenizer.eos_token_id)
    assert cut.lengths == [30]


def test_a_sentence_that_spells_a_special_token_is_text(tmp_path):
    rows = [TextExample("Jo", "ends</s> here", "a")]
    learner = learner_of(tiny_llama(tmp_path), AutoModelForCausalLM, rows)
    assert learner._rows[0][1].count(learner.tokenizer.eos_token_id) == 1


def test_other_lessons_have_another_checksum(tmp_path):
    folder = tiny_llama(tmp_path)
    first, again, other = (
        learner_of(folder, AutoModelForCausalLM, rows).data_sha256
        for rows in (ROWS, ROWS, [*ROWS[:2], TextExample("Jo", "Goof.", "a")])
    )
    assert first == again != other
