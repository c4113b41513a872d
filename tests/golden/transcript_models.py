"""Tiny models with random weights, made of transformers alone: nothing of the package is needed."""

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS = [chr(code) for code in range(33, 127)]
WORDS = ("kind", "rude", "should", "not", "help", "friend", "lies", "pays", "good", "bad")


def bert(folder):
    """Write a BERT of two layers that reads letters and a few words."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    pieces = [*SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS), *WORDS]
    places = {piece: place for place, piece in enumerate(pieces)}
    inner = Tokenizer(models.WordPiece(vocab=places, unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer()
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", places["[CLS]"]), ("[SEP]", places["[SEP]"])],
    )
    names = {f"{name[1:-1].lower()}_token": name for name in SPECIAL}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, model_max_length=64, **names)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=64,
        initializer_range=0.3,
    )
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def llama(folder):
    """Write a causal model of two layers whose tokens are characters."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    vocabulary = {token: at for at, token in enumerate(["<pad>", "</s>", "Ġ", *LETTERS])}
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="?"))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="</s>", pad_token="<pad>")
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=256,
        initializer_range=0.3,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=1,
        pad_token_id=0,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


MAKERS = {"bert": bert, "llama": llama}
