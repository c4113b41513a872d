"""Where fuzzing starts: small valid files of every target, and files made to do harm.

All are written by code; nothing here comes from anybody's data.
"""

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Iterator, Mapping

import numpy as np

import moralscope
from moralscope.core.records import to_plain

from .parquet_bombs import bombs as parquet_bombs
from .targets import GUARDED_KEY, SHARD, TARGETS, Target

# Pieces that parsers trip over, put in by the mutators; libFuzzer takes at most 64 bytes of each.
HOSTILE = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\r", b"\r\n",
    b"\n\n",
    b'"', b"'", b"'''", b'"""', b",,", b"|", b"\t", b"=", b"%", b"#", b"\\", b"\\u0000",
    b'"\\ud800"', b"&a ", b"*a", b"<<: *a", b"!!python/object/apply:os.system", b"!!int",
    b"!!float x",
    b"!!timestamp 9999-99-99", b"? [a, b]\n: c", b"{", b"}", b"[", b"]", b"[]", b"{}", b"---\n",
    b"...\n",
    b"null", b"true", b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1", b"-0", b"0x10", b"1_000",
    b"99999999999999999999", b"18446744073709551615", b"4294967295", b"2026-02-30", b"12:30:45",
    b"1.0", b"\xd9\xa1", b"\xc2\xb2", b"../../etc/passwd", b"\x80\x04.", b"PAR1", b"GGUF",
)  # fmt: skip

_RULE = "It's rude to stare at people."
_STORY = {
    "ID": "1",
    "norm": "It's kind to share.",
    "situation": "Jo has bread.",
    "intention": "Jo wants to eat.",
    "moral_action": "Jo shares the bread.",
    "moral_consequence": "Ann is glad.",
    "immoral_action": "Jo hides the bread.",
    "immoral_consequence": "Ann is sad.",
}


def seeds(target: Target) -> list[bytes]:
    """Return the valid inputs of a target, with the byte that chooses their form."""
    return [
        target.input_of(form, content if isinstance(content, bytes) else content.encode())
        for form, content in _VALID[target.name]()
    ]


def bombs(target: Target) -> list[bytes]:
    """Return inputs that look small and cost much where nothing holds them."""
    generic = [
        b"[" * 20_000,
        b'{"a":' * 20_000,
        b"a: [" * 5_000,
        b"- " * 5_000 + b"a",
        b"9" * 20_000,
        b"a = " + b"[" * 5_000,
        b"flag = " + b"9" * 6_000,
        b"steps = " + b"9" * 6_000,
        b"steps = " + b"[" * 5_000,
        b'{"schema": ' + b"9" * 6_000 + b"}",
        b"1," * 20_000,
        b'"' + b"\n" * 50_000,
        b"\x1f\x8b" + b"\x00" * 40,
        _alias_bomb(),
    ]
    own = list(_OWN_BOMBS.get(target.name, tuple)())
    return [
        bytes([form]) + content for content in generic + own for form in range(len(target.forms))
    ]


def _alias_bomb() -> bytes:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(lines).encode()


def _vector_bombs() -> Iterator[bytes]:
    yield b"999999999999 100000\nthe \x00\x00"
    yield b"1000000 99999\n" + b"the " + b"\x01" * 4096
    yield gzip.compress(b"x" * (1 << 22)) * 20  # 4 kB each: lines of 4 MB
    yield _safetensors({}, {"vectors": ("F32", [1 << 62, 4], 0, 1 << 40)})


def _graph_bombs() -> Iterator[bytes]:
    for shape in ([1 << 40, 1 << 40], [-1, -6], [1e308, 10], [True], ["6"]):
        yield _graph(shape)
    for path in ("/dev/zero", "../" * 40 + "dev/zero"):
        yield _graph([6], paths=[path])


def _gguf_bombs() -> Iterator[bytes]:
    for count in (1 << 63, 1 << 40):
        yield struct.pack("<4sIQQ", b"GGUF", 3, count, count)
    one = struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + _gguf_key("a") + _u32(9)
    for kind in (0, 7, 8, 12):
        yield one + struct.pack("<IQ", kind, 1 << 60)
    nested = struct.pack("<IQ", 9, 1) * 3000
    yield one + nested


def _torch_file(pickled: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo("v/data.pkl"), b"\x80\x02" + pickled)
        archive.writestr(zipfile.ZipInfo("v/data/0"), bytes(8))
        archive.writestr(zipfile.ZipInfo("v/version"), b"3\n")
    return stream.getvalue()


def _torch_bombs() -> Iterator[bytes]:
    """Values that hold themselves twice over, thirty times: written out, they would fill a disk."""
    doubled = b"".join(b"(h%ch%ct" % (at, at) + b"q" + bytes([at + 1]) for at in range(30))
    yield _torch_file(b"}K\x01\x85q\x00" + doubled + b"K\x01s.")
    yield _torch_file(b"}X\x08\x00\x00\x00layers.0K\x01\x85q\x00" + doubled + b"s.")
    yield _torch_file(b"K\x01\x85q\x00" + doubled + b")R.")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("v/data.pkl"), b"\x80\x02N.")
        archive.writestr("v/data/0", bytes(100_000_000))
    yield stream.getvalue()


def _record_bombs() -> Iterator[bytes]:
    record = {"schema": "moralscope.run/1", "job": "score", "config": {}}
    text = json.dumps({**record, "results": [{"action": "a", "score": 0}]})
    yield text.replace('"score": 0', f'"score": {"9" * 4000}').encode()


_OWN_BOMBS = {
    "word-vectors": _vector_bombs,
    "tfjs-graph": _graph_bombs,
    "gguf": _gguf_bombs,
    "steering": _torch_bombs,
    "run-record": _record_bombs,
    "table": lambda: (data for _, data in parquet_bombs()),
    "gate": lambda: [b"r>=" + b"1" * 900 + b"e" + b"9" * 50, b"and " * 240],
    "lexicon": lambda: [b"%\n" + b"1" * 6000 + b"\ta\n%\nb\t" + b"1" * 6000],
    "actions": lambda: [b'{"action": "a", "n": ' + b"9" * 6000 + b"}"],
    "judgments": lambda: [b'{"item": ' + b"9" * 4200 + b', "person": "p", "x": 1}'],
}


def _csv(*rows: str) -> str:
    return "\n".join(rows) + "\n"


def _rulebooks() -> list[tuple[str, str | bytes]]:
    full = f"- id: stare\n  text: {_RULE}\n  foundations: [care]\n  severity: 3\n  examples: [x]\n"
    return [
        (".yaml", f"name: ours\nrules:\n{full}"),
        (".yaml", f"- text: {_RULE}\n- text: You should thank people.\n"),
        (".csv", _csv("text,foundations,severity", f"{_RULE},care|fairness,2")),
        (".txt", f"# ours\n{_RULE}\nYou should thank people.\n"),
    ]


def _stories() -> list[tuple[str, str | bytes]]:
    sample = {key: _STORY[key] for key in ("norm", "moral_action")}
    split = {"action": {"norm_distance": "train", "lexical_bias": None}}
    return [
        (".jsonl", json.dumps(_STORY) + "\n"),
        (".jsonl", json.dumps({**_STORY, "splits": split}) + "\n"),
        (".jsonl", json.dumps({"ID": "11", **sample, "label": "1"}) + "\n"),
    ]


def _templates() -> list[tuple[str, str | bytes]]:
    prompt = "- question: Should I {}?\n  positive: Yes.\n  negative: No.\n"
    return [
        (".yaml", f"name: mine\nabout: x\ninsert: with-article\nprompts:\n{prompt}".replace(
            "Should I {}", '"Should I {}"').replace('?\n  pos', '?"\n  pos').replace('}"?', "}?")),
        (".csv", _csv("question,positive,negative", "Should I {}?,Yes.,No.")),
    ]  # fmt: skip


def _graph(shape: object, paths: list[str] | None = None) -> bytes:
    weights = [{"name": "w", "dtype": "float32", "shape": shape}]
    group = {"paths": paths or ["group1-shard1of1"], "weights": weights}
    return json.dumps({"weightsManifest": [group]}).encode() + SHARD + bytes(24)


def _vocabulary() -> list[tuple[str, str | bytes]]:
    pieces = [["?", 0]] * 6 + [["\u2581", -3.5], ["a", -2], ["kill", None], ["\u2581a", -1]]
    return [(".json", json.dumps(pieces))]


def _word_vectors() -> list[tuple[str, str | bytes]]:
    text = "2 3\nthe 0.1 0.2 0.3\nNew York 1 2e-3 -3\n"
    rows = np.array([[0.1, 1e-30, 3], [1, 2, 3]], "<f4")
    binary = b"2 3\nthe " + rows[0].tobytes() + b"\nof " + rows[1].tobytes() + b"\n"
    words, matrix = b"the\nof", rows.tobytes()
    tensors = {"vectors": ("F32", [2, 3], 0, 24), "words": ("U8", [6], 24, 30)}
    return [
        (".bin", text),
        (".bin", "the 0.1 0.2\nof 0.3 0.4\n"),
        (".bin", binary),
        (".bin", gzip.compress(text.encode(), mtime=0)),
        (".safetensors", _safetensors({}, tensors, matrix + words)),
    ]


def _safetensors(
    metadata: Mapping[str, str], tensors: Mapping[str, tuple[str, list[int], int, int]],
    data: bytes = b"",
) -> bytes:  # fmt: skip
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    for name, (kind, shape, start, end) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def _u32(value: int) -> bytes:
    return struct.pack("<I", value)


def _gguf_key(name: str) -> bytes:
    return struct.pack("<Q", len(name)) + name.encode()


def _gguf() -> list[tuple[str, str | bytes]]:
    begin = _gguf_key("tokenizer.ggml.add_bos_token") + _u32(7) + b"\x01"
    name = _gguf_key("general.name") + _u32(8) + _gguf_key("tiny")
    list_ = _gguf_key("tokens") + _u32(9) + struct.pack("<IQ", 8, 2) + _gguf_key("a") * 2
    fields = begin + name + list_
    tensor = _gguf_key("token_embd.weight") + _u32(1) + struct.pack("<QIQ", 4, 0, 0)
    head = struct.pack("<4sIQQ", b"GGUF", 3, 1, 3) + fields + tensor
    return [
        (".gguf", struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + begin),
        (".gguf", head + bytes(-len(head) % 32) + bytes(16)),
    ]


def _annotations() -> list[tuple[str, str | bytes]]:
    mic = "Q,A,rot,rot-agree,violation-severity,moral,A_agrees,worker_answer,split,WorkerId,id"
    row = "Steal?,Yes.,Do not steal.,4,3,care|fairness,0,No.,train,w1,1"
    social = "situation,rot,rot-agree,rot-moral-foundations,action,action-moral-judgment,rot-bad"
    return [
        (".csv", _csv(mic, row, row.replace("Yes.", '"Yes, do."'))),
        (".csv", _csv(social, "taking bread,It is wrong to steal.,3,care-harm,steal,-1,0")),
    ]


def _exchanges() -> list[tuple[str, str | bytes]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = {"id": ["1", "2"], "prompt": ["Hi!", "Steal?"], "reply": ["Hello you.", "No. Never."]}
    table = io.BytesIO()
    pq.write_table(pa.table(rows), table, compression="none")
    lines = [json.dumps({"prompt": "Hi!", "reply": "Hello you.", "id": n}) for n in (1, 2)]
    return [
        (".csv", _csv("prompt,reply,id", "Hi!,Hello you.,1", '"Steal, now?","No.\nNever.",2')),
        (".jsonl", _csv(*lines)),
        (".parquet", table.getvalue()),
    ]


def _tables() -> list[tuple[str, str | bytes]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    more = {"paraphrases": [["a", "b"], []], "about": [{"n": 1}, None], "sort": ["x", "x"]}
    rows = pa.table({"action": ["kill time", "help people"], **more})
    files = []
    for options in ({}, {"data_page_version": "2.0", "compression": "zstd"}):
        stream = io.BytesIO()
        pq.write_table(rows, stream, **options)
        files.append((".parquet", stream.getvalue()))
    lines = [json.dumps({"action": text, "n": 1}) for text in ("kill time", "help people")]
    return [*files, (".csv", _csv("action,n", "kill time,1")), (".jsonl", _csv(*lines))]


def _run_records() -> list[tuple[str, str | bytes]]:
    head = {"schema": "moralscope.run/1", "version": "0.1.0", "created": "now", "seed": 0}
    scored = {"action": "a", "score": 0.1, "low": 0.0, "high": 0.2, "prompts": [0.1, 0.1]}
    model = {"name": "scripted", "sha256": "0" * 64}
    score = {**head, "job": "score", "config": {"axis": "choice"}, "models": [model]}
    audit = to_plain(moralscope.audit(prompt="Hi!", reply="Hello.", experts="scripted"))
    return [
        (".json", json.dumps({**score, "results": [scored], "statistics": {}, "warnings": ["w"]})),
        (".json", json.dumps(audit)),
        (".json", json.dumps({**head, "job": "other", "config": {}, "results": [[1]]})),
    ]


def _text_runs() -> list[tuple[str, str | bytes]]:
    candidate = {"text": "Jo waits.", "log_probability": -3.5, "tokens": 4, "score": 0.7}
    row = {"id": "1", "target": "moral", "choice": "Jo waits.", "story": _STORY}
    step = {"step": "a", "do": "propose", "candidates": [candidate]}
    row |= {"path": [step], "candidates": [candidate]}
    norm = {**row, "target": None}
    record = {
        "schema": "moralscope.run/1",
        "job": "chain",
        "models": [{"name": "a", "sha256": "b"}],
    }
    steps = [{"name": "a", "do": "propose", "task": "x"}]
    config = {"recipe": "mine", "kind": "consequence", "experts": "mpnet", "steps": steps}
    return [
        (".json", json.dumps({**record, "config": config, "results": [row]})),
        (".json", json.dumps({**record, "config": {"task": "norm|actions"}, "results": [norm]})),
    ]


def _projects() -> list[tuple[str, str | bytes]]:
    from moralscope.annotation.projects import new_project, project_text

    return [
        (".yaml", project_text(new_project("rules", "rule-of-thumb"))),
        (".yaml", "{name: a, task: filter, policies: {people_per_item: 2}}"),
    ]


def _items() -> list[tuple[str, str | bytes]]:
    return [
        (".jsonl", _csv(*(json.dumps({"norm": f"Be kind {n}."}) for n in range(3)))),
        (".csv", _csv("id,action,chatbot", "A,wave to a friend,ours", "B,lie,")),
    ]


def _actions() -> list[tuple[str, str | bytes]]:
    row = {"action": "kill time", "label": "good", "paraphrases": ["pass the time"]}
    return [
        (".csv", _csv("action,label,paraphrases", "kill time,good,pass time|idle", "lie,bad,")),
        (".jsonl", json.dumps(row) + "\n" + json.dumps({**row, "action": "lie", "label": 0})),
        (".txt", "kill time\nlie\n"),
    ]


def _judge_rows() -> list[tuple[str, str | bytes]]:
    row = {"action": "Jo waits.", "norm": "Be kind.", "situation": None}
    return [
        (".csv", _csv("action,norm,note", "Jo waits.,Be kind.,x")),
        (".jsonl", json.dumps(row) + "\n"),
    ]


def _word_sets() -> list[tuple[str, str | bytes]]:
    sets = {"positive": ["joy", "fun"], "negative": ["war", "no"], "x": ["a"], "y": ["b"]}
    return [
        (".yaml", "name: mine\npositive: [joy, fun]\nnegative:\n- war\n- no\n"),
        (".toml", 'about = "x"\npositive = ["joy"]\nnegative = ["war"]\n'),
        (".json", json.dumps(sets)),
    ]


def _pairs() -> list[tuple[str, str | bytes]]:
    return [
        (".yaml", "- [she, he]\n- [her dress., his dress.]\n- [woman, man, noun]\n"),
        (".csv", _csv("first,second,kind", "she,he,subject", "woman,man,noun")),
    ]


def _settings() -> list[tuple[str, str | bytes]]:
    experts = {
        "schema": "moralscope.experts/1",
        "base": "minilm",
        "base_sha256": "0" * 64,
        "tasks": {"alignment": ["agree", "disagree"], "foundations": ["care"]},
        "kinds": {"foundations": "many"},
        "thresholds": {"foundations": [0.5]},
    }
    recipe = (
        'about = "x"\nsteps = [\n {name = "a", do = "propose", task = "action|context", count = 3},'
        '\n {name = "b", do = "rank", expert = "action+norm"},\n]\n'
    )
    return [(".toml", recipe), (".toml", "flag = 0.5\n"), (".json", json.dumps(experts))]


def _ratings() -> list[tuple[str, str | bytes]]:
    return [
        (".csv", _csv("action,amt_yes,amt_no", "lie,1,9", "help,9,1")),
        (".csv", _csv("action,label", "eat meat,fine", "lie,-2")),
    ]


def _judgments() -> list[tuple[str, str | bytes]]:
    answer = {"item": "1", "person": "p", "answer": {"severity": 4}, "texts": {"a": "b"}}
    return [
        (".csv", _csv("item,person,field,value", "1,p,severity,4", "1,q,severity,5")),
        (".csv", _csv("person,leaning,care", "p,left,3", "q,right,2")),
        (".jsonl", json.dumps(answer) + "\n" + json.dumps({**answer, "person": 7})),
    ]


def _saved_axes() -> list[tuple[str, str | bytes]]:
    edit = {"name": "gender", "encoder": "scripted", "checksum": "abc", "source": "x"}
    metadata = {"format": "moralscope.edit/1", "edit": json.dumps({**edit, "strength": 1.0})}
    basis = np.eye(1, 4).tobytes()
    direction = {
        **{"fit": "pca", "method": "pca", "encoder": "scripted", "checksum": "abc"},
        **{"template": "moral", "fingerprint": "f", "centres": [0, 0], "scales": [1, 1]},
        **{"actions": ["help"], "anchors": {"good": ["help"], "bad": ["kill"]}, "separation": 1},
        **{"explained": [0.5], "explained_differences": [0.5]},
        "prominence": {"share": 0.5, "broken_stick": 0.3, "ratio": 2, "stands_out": True},
        "stability": {
            **{"leave_one_out_degrees_max": 1, "leave_one_out_action": "help"},
            **{"bootstrap_degrees_median": 1, "bootstrap_degrees_p95": 1},
        },
    }
    about = {"schema": "moralscope.axes.direction/1", "direction": json.dumps(direction)}
    places = {"positions": ("F64", [1, 2], 0, 16), "second": ("F64", [2], 16, 32)}
    vectors = {**places, "vector": ("F64", [2], 32, 48)}
    rows = np.array([0.1, 0.2, 0, 1, 1, 0]).tobytes()
    return [
        (".safetensors", _safetensors(metadata, {"basis": ("F64", [1, 4], 0, 32)}, basis)),
        (".safetensors", _safetensors(about, vectors, rows)),
    ]


def _steering() -> list[tuple[str, str | bytes]]:
    info = {"model": "m", "checksum": "c", "width": 2, "layers": [3], "method": "mean", "kl": 0.5}
    info |= {"strength": 1.0, "source": "x", "blocks": "layers"}
    metadata = {"format": "moralscope.steering/1", "vector": json.dumps(info)}
    ours = _safetensors(metadata, {"rows": ("F32", [1, 2], 0, 8)}, bytes(8))
    key = _gguf_key("general.architecture") + _u32(8) + _gguf_key("controlvector")
    tensor = _gguf_key("direction.1") + _u32(1) + struct.pack("<QIQ", 4, 0, 0)
    head = struct.pack("<4sIQQ", b"GGUF", 3, 1, 1) + key + tensor
    return [
        (".safetensors", ours),
        (".pt", _torch_file(b"}X\x08\x00\x00\x00layers.0}(X\x0f\x00\x00\x00steering_vector"
            b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
            b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02tQK\x00K\x02\x85K\x01\x85\x89}tRus.")),
        (".gguf", head + bytes(-len(head) % 32) + bytes(16)),
    ]  # fmt: skip


def _lexicons() -> list[tuple[str, str | bytes]]:
    clue = "type=strongsubj len=1 word1=steal pos1=verb stemmed1=y priorpolarity=negative"
    return [
        (".dic", "%\n1\tcare\n02 fairness\n%\nsteal*\t1 2\nin need\t1\n"),
        (".tff", f"{clue}\n"),
        (".csv", _csv("word,care_p,fairness_p", "steal,0.1,0.9")),
        (".txt", "steal\t-2\njoy\t3\n"),
    ]


def _answers() -> list[tuple[str, str | bytes]]:
    scores = {"content": [{"token": "Yes", "logprob": -0.5}, {"token": ".", "logprob": -1}]}
    choice = {"message": {"content": "Yes. No."}, "finish_reason": "stop", "logprobs": scores}
    return [(".json", json.dumps({"choices": [choice], "usage": {"total_tokens": 3}}))]


def _guarded_answers() -> list[tuple[str, str | bytes]]:
    token = {"token": GUARDED_KEY[:5], "logprob": -1, "bytes": [115], "top_logprobs": []}
    call = {"index": 0, "id": "t", "function": {"name": "a", "arguments": f'"{GUARDED_KEY}"'}}
    said = {"content": f"Say {GUARDED_KEY}", "refusal": "No.", "tool_calls": [call]}
    more = {"reasoning_content": "So.", "audio": {"id": "a", "data": "QQ==", "transcript": "A"}}
    parts = {"content": [{"type": "text", "text": "A"}, {"type": "image", GUARDED_KEY: 1}]}
    choice = {"index": 0, "message": {**said, **more}, "logprobs": {"content": [token]}}
    head = {"id": "c", "model": "m", "created": 1, "usage": {"total_tokens": 3}}
    chunks = [
        {**head, "choices": [{"index": 0, "delta": {"content": piece}}]}
        for piece in (GUARDED_KEY[:4], GUARDED_KEY[4:], "\ud83d", "\ude00")
    ]
    chunks += [{"choices": [{"index": 0, "delta": parts, "finish_reason": "stop"}]}]
    lines = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    return [
        (".sse", f"{lines}data: [DONE]\n\n"),
        (".sse", ": hi\r\n" + lines.replace("\n", "\r\n").replace(", ", ",\r\ndata:")),
        (".json", json.dumps({**head, "choices": [choice]})),
    ]


_VALID = {
    "rulebook": _rulebooks,
    "stories": _stories,
    "template": _templates,
    "tfjs-graph": lambda: [(".json", _graph([2, 3]))],
    "tfjs-vocabulary": _vocabulary,
    "word-vectors": _word_vectors,
    "gguf": _gguf,
    "steering": _steering,
    "annotations": _annotations,
    "exchanges": _exchanges,
    "table": _tables,
    "gate": lambda: [(".txt", "r>=0.7 and changed<=3"), (".txt", "R > -.5e3, changed==0")],
    "run-record": _run_records,
    "text-run": _text_runs,
    "project": _projects,
    "items": _items,
    "actions": _actions,
    "judge-rows": _judge_rows,
    "word-sets": _word_sets,
    "pairs": _pairs,
    "settings": _settings,
    "ratings": _ratings,
    "judgments": _judgments,
    "saved-axis": _saved_axes,
    "lexicon": _lexicons,
    "endpoint-answer": _answers,
    "guarded-answer": _guarded_answers,
}
assert set(_VALID) == set(TARGETS)
