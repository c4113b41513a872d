"""Shipped adapters load with plain peft and transformers, and say what our own loader says."""

import json

import numpy as np
import pytest

from moralscope.models.store import shipped_folder
from moralscope.stories.experts import RULES, prepare_experts

PAIR = ("It is wrong to lie to customers.", "I lie to customers all day.")


def columns(facts, wanted):
    """Return where a task's columns stand: tasks follow each other, a tied one has another's."""
    start, tied = 0, facts.get("tied", {})
    for task, labels in facts["tasks"].items():
        if task == tied.get(wanted, wanted):
            return slice(start, start + len(labels))
        start += 0 if task in tied else len(labels)
    raise KeyError(wanted)


def test_an_expert_loads_with_plain_peft_and_says_the_same(minilm_folder):
    import torch
    from peft import PeftModel
    from safetensors.torch import load_file
    from transformers import AutoModel, AutoTokenizer

    folder = shipped_folder("rules-minilm")
    facts = json.loads((folder / "expert.json").read_text())
    body = PeftModel.from_pretrained(AutoModel.from_pretrained(minilm_folder), folder).eval()
    head = load_file(folder / "head.safetensors")
    batch = AutoTokenizer.from_pretrained(minilm_folder)(*PAIR, return_tensors="pt")
    with torch.no_grad():
        rows = body(**{name: batch[name] for name in ("input_ids", "attention_mask")})
        logits = head["weight"] @ rows.last_hidden_state.mean(1)[0] + head["bias"]
    scaled = logits[columns(facts, "alignment")] / facts["temperatures"].get("alignment", 1.0)
    plain = torch.softmax(scaled, 0).numpy()
    ours = prepare_experts("minilm", family=RULES).expert("alignment").probabilities([PAIR])[0]
    assert np.abs(plain - ours).max() < 1e-3


@pytest.mark.slow
def test_a_generator_loads_with_plain_peft(smollm2):
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(smollm2)
    folder = shipped_folder("rules-smollm2")
    markers = json.loads((folder / "expert.json").read_text("utf-8"))["markers"]
    base.resize_token_embeddings(len(tokenizer) + len(markers))  # the adapter has rows for them
    ids = tokenizer("My friend told me a secret.", return_tensors="pt")
    with torch.no_grad():
        before = base(**ids).logits[0, -1]
        after = PeftModel.from_pretrained(base, folder).eval()(**ids)
    assert (after.logits[0, -1] - before).abs().max() > 0.1
