"""Local models against transformers' own loops, adapters against peft, and long prompts."""

import json

import pytest

from moralscope.core.errors import InputError, StoreError
from moralscope.core.records import Decoding
from moralscope.models.adapters import read_adapter
from moralscope.models.language import load_generator
from moralscope.models.language.conversion import resolve_base

from ....generator_makers import WINDOW, tiny_llama, tiny_seq2seq, tiny_tokenizer

PROMPTS = ["Jo finds a purse", "Ann", "x" * 70]
MARKERS = ["<|ACT|>", "<|CSQ|>"]
WHOLE = Decoding("greedy", max_tokens=12, sentence=False)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp("llama"))


def reference(folder, prompt, **options):
    """What transformers' own `generate` writes."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    seq2seq = AutoConfig.from_pretrained(folder).is_encoder_decoder
    model = (AutoModelForSeq2SeqLM if seq2seq else AutoModelForCausalLM).from_pretrained(folder)
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    found = model.eval().generate(
        ids,
        do_sample=False,
        max_new_tokens=12,
        output_scores=True,
        return_dict_in_generate=True,
        **options,
    )
    start = 1 if seq2seq else ids.shape[1]
    return [
        tokenizer.decode(row[start:], skip_special_tokens=True).strip() for row in found.sequences
    ]


@pytest.mark.parametrize("kind", ["llama", "gemma", "t5", "bart"])
def test_greedy_and_beams_are_those_of_transformers(tmp_path, kind):
    make = tiny_llama if kind in ("llama", "gemma") else tiny_seq2seq
    folder = make(tmp_path, kind)
    generator = load_generator(str(folder))
    beams = Decoding("beam", count=3, beams=3, max_tokens=12, sentence=False)
    greedy = generator.generate(PROMPTS, WHOLE, [0, 0, 0])
    searched = generator.generate(PROMPTS, beams, [0, 0, 0])
    for prompt, one, some in zip(PROMPTS, greedy, searched, strict=True):
        assert [c.text for c in one] == reference(folder, prompt)
        if kind != "t5":  # whose random weights like the padding token, which ends a text of ours
            many = {"num_beams": 3, "num_return_sequences": 3, "early_stopping": True}
            assert [c.text for c in some] == reference(folder, prompt, **many)


@pytest.mark.parametrize("kind", ["gpt2", "mistral", "qwen2", "gpt_neox", "opt", "phi"])
def test_other_kinds_of_causal_models_decode_as_in_transformers(tmp_path, kind):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(3)
    tokenizer = tiny_tokenizer()
    config = AutoConfig.for_model(
        kind,
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=WINDOW,
        initializer_range=0.3,
        init_std=0.3,
        word_embed_proj_dim=32,
        bos_token_id=1,
        eos_token_id=1,
        pad_token_id=0,
    )
    if kind in ("mistral", "qwen2"):
        config.num_key_value_heads, config.sliding_window = 2, 8
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    found = load_generator(str(tmp_path)).generate(PROMPTS, WHOLE, [0, 0, 0])
    assert [one.text for [one] in found] == [reference(tmp_path, p)[0] for p in PROMPTS]


def test_a_model_with_another_attention_is_refused(tmp_path):
    from transformers import Gemma2Config, Gemma2ForCausalLM

    tokenizer = tiny_tokenizer()
    config = Gemma2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=64,
    )
    Gemma2ForCausalLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(StoreError, match="Gemma2Attention are not supported"):
        load_generator(str(tmp_path)).generate(["Jo"], WHOLE, [0])


def test_log_probabilities_are_the_models_own(llama):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    generator = load_generator(str(llama))
    hot = Decoding(count=2, max_tokens=6, temperature=2.0, p=0.5, sentence=False)
    model, tokenizer = (
        kind.from_pretrained(llama) for kind in (AutoModelForCausalLM, AutoTokenizer)
    )
    for seed in range(5):
        for one in generator.generate(["Jo"], hot, [seed])[0]:
            tail = [] if one.finish == "length" else [1]
            written = tokenizer(one.text)["input_ids"] + tail
            if len(written) != len(one.log_probabilities):
                continue  # spaces at its ends were stripped
            ids = torch.tensor([tokenizer("Jo")["input_ids"] + written])
            scores = torch.log_softmax(model(ids).logits[0, 1:-1], -1)
            expected = scores.gather(1, ids[0, 2:, None])[:, 0].tolist()
            assert one.log_probabilities == pytest.approx(expected, abs=1e-4)
            return
    pytest.fail("no candidate could be read back")


def test_a_small_nucleus_is_greedy(llama):
    generator = load_generator(str(llama))
    narrow = Decoding(max_tokens=12, sentence=False, p=1e-9)
    assert generator.generate(PROMPTS, narrow, [1, 2, 3]) == generator.generate(
        PROMPTS, WHOLE, [0, 0, 0]
    )


def test_a_long_prompt_loses_its_oldest_text_and_says_so(llama):
    generator = load_generator(str(llama))
    room = WINDOW - WHOLE.max_tokens
    long = "".join(chr(97 + at % 26) for at in range(400))
    found = generator.generate(["Ann", "</s>" + long], WHOLE, [0, 0])
    assert found[1] == generator.generate(["</s>" + long[-(room - 1) :]], WHOLE, [0])[0]
    assert len(generator.warnings) == 1
    assert "prompt 2 has 401 tokens" in generator.warnings[0]
    assert "oldest text" in generator.warnings[0]


def test_more_new_tokens_than_the_window_are_refused(llama):
    with pytest.raises(InputError, match="do not fit the window"):
        load_generator(str(llama)).generate(["Jo"], Decoding(max_tokens=WINDOW), [0])


@pytest.fixture(scope="module")
def adapter(llama, tmp_path_factory):
    """LoRA weights with trained rows for two markers, far from zero."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(5)
    tokenizer = AutoTokenizer.from_pretrained(llama)
    first = len(tokenizer)
    tokenizer.add_tokens(MARKERS, special_tokens=True)
    model = AutoModelForCausalLM.from_pretrained(llama)
    model.resize_token_embeddings(len(tokenizer))
    config = LoraConfig(
        r=2,
        target_modules=["q_proj", "down_proj"],
        trainable_token_indices=[first, first + 1],
    )
    tuned = get_peft_model(model, config)
    for parameter in tuned.parameters():
        if parameter.requires_grad:
            torch.nn.init.normal_(parameter, std=0.5)
    folder = tmp_path_factory.mktemp("adapter")
    tuned.save_pretrained(folder, save_embedding_layers=False)
    card = {"base": str(llama), "base_sha256": resolve_base(str(llama))[1], "markers": MARKERS}
    (folder / "expert.json").write_text(json.dumps(card))
    ids = tokenizer("<|ACT|> Jo <|CSQ|>", return_tensors="pt").input_ids
    logits = tuned.eval()(ids).logits[0, -1]
    return folder, torch.log_softmax(logits, -1)


def test_an_adapter_gives_what_peft_gives(llama, adapter):
    folder, expected = adapter
    best = Decoding("greedy", max_tokens=1, sentence=False)
    prompts = ["<|ACT|> Jo <|CSQ|>"]
    for generator in (
        load_generator(str(llama), adapter=folder),
        load_generator(str(folder)),  # its card names the base
    ):
        [[one]] = generator.generate(prompts, best, [0])
        assert one.log_probabilities == pytest.approx([expected.max().item()], abs=1e-4)
        assert [ref.name for ref in generator.refs] == [llama.name, folder.name]
    bare = load_generator(str(llama))
    assert bare.checksum != generator.checksum
    assert bare.generate(prompts, best, [0])[0][0].log_probabilities != one.log_probabilities


def test_an_adapter_of_another_base_is_refused(adapter, tmp_path):
    other = tiny_llama(tmp_path, "gemma")
    with pytest.raises(StoreError, match=r"was trained on .*, not on"):
        load_generator(str(other), adapter=adapter[0])


@pytest.mark.parametrize("missing", ["adapter_config.json", "adapter_model.safetensors"])
def test_half_an_adapter_is_refused(llama, adapter, tmp_path, missing):
    for path in adapter[0].iterdir():
        if path.name != missing:
            (tmp_path / path.name).write_bytes(path.read_bytes())
    with pytest.raises(StoreError, match=missing):
        load_generator(str(llama), adapter=tmp_path)


@pytest.mark.parametrize("card", ["", "[]", '{"markers": [1]}', '{"markers": "x"}', "\xff"])
def test_a_damaged_card_is_refused(adapter, tmp_path, card):
    for path in adapter[0].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "expert.json").write_bytes(card.encode("latin-1"))
    with pytest.raises((StoreError, InputError)):
        read_adapter(tmp_path)


def test_pickled_weights_are_refused(llama, tmp_path):
    for path in llama.iterdir():
        name = path.name.replace("model.safetensors", "pytorch_model.bin")
        (tmp_path / name).write_bytes(path.read_bytes())
    with pytest.raises(InputError, match="safetensors"):
        load_generator(str(tmp_path))


def test_a_folder_that_is_no_language_model_is_refused(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"junk")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(StoreError, match=r"model\.safetensors is damaged"):
        load_generator(str(tmp_path))
