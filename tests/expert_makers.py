"""A tiny BERT with random weights, stories that it can learn from, and experts trained on them."""

from pathlib import Path

from moralscope.models.classifiers.saved import ExpertSettings, save_experts
from moralscope.models.hugging_face import folder_checksum
from moralscope.models.training.classifier import train_classifier
from moralscope.models.training.heads import ClassifierTraining, Head
from moralscope.models.training.records import TrainingExample

LABELS = {"action": ("immoral", "moral"), "action+norm": ("breaks", "keeps", "does not concern")}
HEADS = {task: Head(labels) for task, labels in LABELS.items()}
WINDOW = 64
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_LETTERS = [chr(code) for code in range(33, 127)]
_WORDS = ("kind", "rude", "should", "not", "help", "friend", "lies", "pays", "good", "bad")


def tiny_tokenizer(words=_WORDS):
    """WordPiece of single characters and a few words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    pieces = [*_SPECIAL, *_LETTERS, *(f"##{letter}" for letter in _LETTERS), *words]
    places = {piece: place for place, piece in enumerate(pieces)}
    inner = Tokenizer(models.WordPiece(vocab=places, unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer()
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", places["[CLS]"]), ("[SEP]", places["[SEP]"])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
        model_max_length=WINDOW,
    )


def tiny_bert(folder: Path, seed: int = 1) -> Path:
    """Write a BERT of two layers."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    tokenizer = tiny_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=WINDOW,
        initializer_range=0.3,
    )
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_decoder(folder: Path, seed: int = 1) -> Path:
    """Write a causal model of two layers, with its language model's head."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    tokenizer = tiny_tokenizer((*_WORDS, "text", "rule", "judgment"))
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=24,
        max_position_embeddings=WINDOW,
        initializer_range=0.3,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def examples(count: int = 48) -> list[TrainingExample]:
    """Return examples that a tiny model can learn: "good" is 1, "bad" is 0."""
    rows = []
    for number in range(count):
        word = ("bad", "good")[number % 2]
        rows.append(TrainingExample("action", ("", f"jo {number} {word}"), number % 2))
        rows.append(TrainingExample("action+norm", ("be kind", f"al {word} {number}"), number % 2))
    return rows


def trained(base: Path, **changes):
    """Return a learner and its history, after two short epochs."""
    quick = {"epochs": 2, "batch_size": 16, "learning_rate": 1e-2, "rank": 4, "max_length": 32}
    training = ClassifierTraining(**{**quick, **changes})
    return train_classifier(training, base, HEADS, (examples(), examples(8)))


def save_trained(folder: Path, learner, base: Path, **changes) -> Path:
    """Write a learner as experts on their base."""
    settings = {
        "base": str(base),
        "base_sha256": folder_checksum(base),
        "tasks": LABELS,
        "max_length": 32,
        "temperatures": {"action": 1.5},
        "card": {"data": ["made here"]},
        **changes,
    }
    save_experts(folder, learner.module, ExpertSettings(**settings), learner.tokenizer, "# Card\n")
    return folder


def story(number, part):
    return {
        "ID": f"s{number}",
        "norm": f"It's rude to shout at neighbour {number}.",
        "situation": f"Neighbour {number} is loud.",
        "intention": "Mia wants quiet.",
        "moral_action": f"Mia asks for quiet {number}.",
        "moral_consequence": "It is quiet.",
        "immoral_action": f"Mia shouts {number}.",
        "immoral_consequence": "It is louder.",
        "splits": {kind: {"norm_distance": part} for kind in ("action", "consequence")},
    }
