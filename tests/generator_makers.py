"""Tiny language models with random weights, and a local server that speaks chat completions."""

import contextlib
import json
import threading
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

WINDOW = 256

TEMPLATE = (
    "{% for m in messages %}<pad>{{ m['role'] }}\n{{ m['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<pad>bot\n{% endif %}"
)


def tiny_tokenizer(end=""):
    """Every ASCII character is a token, "?" stands for others; `end` is appended to a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = ["Ġ", *map(chr, range(33, 127))]
    vocabulary = {token: at for at, token in enumerate(["<pad>", "</s>", *letters])}
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="?"))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    if end:
        inner.post_processor = processors.TemplateProcessing(
            single=f"$A {end}", special_tokens=[(end, vocabulary[end])]
        )
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="</s>", pad_token="<pad>")


def tiny_llama(folder: Path, kind: str = "llama") -> Path:
    """Write a causal model of two layers; `gemma` has sliding windows shorter than prompts."""
    import torch
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    tokenizer = tiny_tokenizer()
    shape = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": WINDOW,
        "initializer_range": 0.3,
        "tie_word_embeddings": True,
        "bos_token_id": 1,
        "eos_token_id": 1,
        "pad_token_id": 0,
    }
    if kind == "gemma":
        shape["tie_word_embeddings"] = False
        layers = ["sliding_attention", "full_attention"]
        config = Gemma3TextConfig(**shape, sliding_window=8, layer_types=layers)
        model = Gemma3ForCausalLM(config)
    else:
        model = LlamaForCausalLM(LlamaConfig(**shape))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_seq2seq(folder: Path, kind: str = "t5") -> Path:
    """Write an encoder-decoder of two layers: `t5` or `bart`."""
    import torch
    from transformers import (
        BartConfig,
        BartForConditionalGeneration,
        T5Config,
        T5ForConditionalGeneration,
    )

    torch.manual_seed(2)
    tokenizer = tiny_tokenizer(end="</s>")
    shared = {
        "vocab_size": len(tokenizer),
        "d_model": 32,
        "eos_token_id": 1,
        "pad_token_id": 0,
        "decoder_start_token_id": 0,
    }
    if kind == "bart":
        sizes = {
            f"{part}_{what}": n
            for part in ("encoder", "decoder")
            for what, n in (("layers", 2), ("ffn_dim", 48), ("attention_heads", 4))
        }
        config = BartConfig(
            **shared,
            **sizes,
            max_position_embeddings=WINDOW,
            init_std=0.3,
            bos_token_id=0,
            forced_eos_token_id=None,
        )
        model = BartForConditionalGeneration(config)
    else:
        config = T5Config(
            **shared,
            d_kv=8,
            d_ff=48,
            num_layers=2,
            num_heads=4,
            n_positions=WINDOW,
            initializer_factor=0.7,
        )
        model = T5ForConditionalGeneration(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def answer_to(body):
    """Return a sound answer that prompt, seed and number of a choice decide."""
    prompt = body["messages"][-1]["content"]
    choices = []
    for number in range(body["n"]):
        seed = 0 if body["temperature"] == 0 else body["seed"] + number
        digest = sha256(f"{prompt} {seed}".encode()).hexdigest()
        words = [f"{digest[at : at + 4]} " for at in range(0, 32, 4)]
        words = ["Jo ", "says ", *words, "now. ", "Then ", "more."][: body["max_tokens"]]
        rows = [{"token": word, "logprob": -len(word) / 8} for word in words]
        finish = "stop" if len(words) == 13 else "length"
        choices.append(
            {
                "index": number,
                "message": {"role": "assistant", "content": "".join(words)},
                "finish_reason": finish,
                "logprobs": {"content": rows} if body.get("logprobs") else None,
            }
        )
    used = {"prompt_tokens": len(prompt.split()), "completion_tokens": 13 * body["n"]}
    return {"choices": choices, "usage": used}


@contextlib.contextmanager
def served(reply=None):
    """Serve chat completions; `reply(handler, body, times)` may misbehave and then return True."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append({"body": body, "headers": self.headers, "path": self.path})
            if reply is None or not reply(self, body, len(seen)):
                self.send(200, json.dumps(answer_to(body)).encode())

        def send(self, status, data, **headers):
            with contextlib.suppress(OSError):  # the client may have given up
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), str(value))
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", seen
    finally:
        server.shutdown()
        server.server_close()
