"""What fuzzing found, one test each: small files that crashed a parser or cost it too much."""

import gzip
import json
import struct
import time
import tracemalloc

import pytest

from moralscope.annotation.item_files import read_items
from moralscope.axes.direction.labelled import read_labelled
from moralscope.axes.templates import parse_template
from moralscope.core.errors import InputError, MoralscopeError, StoreError
from moralscope.core.records import Decoding
from moralscope.io.actions import read_actions
from moralscope.models.adapters import read_adapter
from moralscope.models.classifiers.saved import read_settings
from moralscope.models.encoders.use_lite import UseLiteWeights
from moralscope.models.encoders.use_lite_tokenizer import UseLiteTokenizer
from moralscope.models.language import endpoint
from moralscope.models.language.gguf_header import read_header
from moralscope.rules.collect.lexicons import load_lexicon
from moralscope.rules.thresholds import read_limits
from moralscope.stories.chains.recipes import parse_recipe
from moralscope.stories.examples import read_drafts
from moralscope.words.vectors.readers import read_chunks
from moralscope.words.word_sets import parse_word_sets

LONG = "9" * 6000  # more digits than Python turns into a number
DEEP = "[" * 20_000


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("text", [DEEP, "a: [" * 5000, "- " * 5000])
def test_a_template_nested_too_deep_is_refused_at_once(text):
    began = time.process_time()
    with pytest.raises(InputError, match=r"line 1 .*(too deep|not YAML)"):
        parse_template(text, "mine.yaml")
    assert time.process_time() - began < 2  # it took 24 seconds


@pytest.mark.parametrize("text", ["prompts: &a [x]\nname: *a", "name: !!python/name:os.system x"])
def test_a_template_has_no_aliases_and_no_tags(text):
    with pytest.raises(InputError, match=r"alias or an anchor|has a tag"):
        parse_template(text, "mine.yaml")


@pytest.mark.parametrize("name", ["a.json", "a.toml", "a.yaml"])
@pytest.mark.parametrize("value", [LONG, DEEP])
def test_word_sets_with_a_huge_number_or_depth_are_refused(name, value):
    text = f'{{"x": {value}' if name == "a.json" else f"x = {value}"
    with pytest.raises(InputError, match="word sets"):
        parse_word_sets(text, name)


@pytest.mark.parametrize("value", [LONG, DEEP])
def test_toml_with_a_huge_number_or_depth_is_refused(tmp_path, value):
    with pytest.raises(InputError, match="is not TOML"):
        parse_recipe(f"steps = {value}", "mine", "mine.toml")
    with pytest.raises(InputError, match="is not TOML"):
        read_limits(written(tmp_path / "a.toml", f"flag = {value}"))


def test_json_nested_too_deep_is_refused_wherever_it_is_read(tmp_path):
    written(tmp_path / "expert.json", DEEP)
    with pytest.raises(InputError, match="no experts"):
        read_settings(tmp_path)
    with pytest.raises(InputError):
        read_drafts(tmp_path / "expert.json")
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        written(tmp_path / name, "{}")
    with pytest.raises(StoreError, match="not the card"):
        read_adapter(tmp_path)
    with pytest.raises(StoreError, match="vocabulary"):
        UseLiteTokenizer.read(tmp_path / "expert.json")
    with pytest.raises(StoreError, match="not the model"):
        UseLiteWeights(tmp_path / "expert.json")


@pytest.mark.parametrize("row", [["a", "1"], ["a", float("nan")], ["a", True], ["", 1], [1, 1]])
def test_a_vocabulary_holds_pieces_and_finite_numbers(tmp_path, row):
    path = written(tmp_path / "vocab.json", json.dumps([["?", 0]] * 6 + [row]))
    with pytest.raises(StoreError, match="vocabulary of use-lite"):
        UseLiteTokenizer.read(path)


def graph(folder, shape, shard="part"):
    weights = [{"name": "w", "dtype": "float32", "shape": shape}]
    written(folder / "part", bytes(24))
    text = json.dumps({"weightsManifest": [{"paths": [shard], "weights": weights}]})
    return UseLiteWeights(written(folder / "model.json", text))


@pytest.mark.parametrize("shard", ["/dev/zero", "../part", "a/../part", "..", "", 3])
def test_a_shard_lies_beside_its_graph(tmp_path, shard):
    (tmp_path / "in").mkdir()
    written(tmp_path / "part", bytes(24))
    with pytest.raises(StoreError, match="does not lie beside"):
        graph(tmp_path / "in", [6], shard)


@pytest.mark.parametrize("shape", [[1 << 40, 1 << 40], [-1, -6], [1e308, 6], [True, 6], "6", [7]])
def test_a_graph_claims_no_more_than_its_shards_hold(tmp_path, shape):
    with pytest.raises(StoreError, match="is not the model"):
        graph(tmp_path, shape)


def test_a_sound_graph_is_read(tmp_path):
    assert graph(tmp_path, [2, 3]).take("w", 6).tolist() == [0.0] * 6


@pytest.mark.parametrize(
    "content",
    [
        b"1000000 99999\nthe " + b"\x01" * 4096,
        gzip.compress(b"x" * (1 << 22)) * 20,
    ],
    ids=["a header that promises 400 GB", "lines of 4 MB in 80 kB"],
)
def test_word_vectors_take_no_more_memory_than_a_block(tmp_path, content):
    path = written(tmp_path / "words.bin", content)
    tracemalloc.start()
    try:
        with pytest.raises(InputError):
            list(read_chunks(path))
        assert tracemalloc.get_traced_memory()[1] < 64_000_000
    finally:
        tracemalloc.stop()


def gguf(*fields, tensors=0, keys=None):
    count = len(fields) if keys is None else keys
    return struct.pack("<4sIQQ", b"GGUF", 3, tensors, count) + b"".join(fields)


def key(name, kind, value):
    return struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", kind) + value


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "cut short"),
        (b"GGML" + bytes(20), "does not begin"),
        (gguf(keys=1 << 63), "claims more"),
        (gguf(tensors=1 << 40), "claims more"),
        (gguf(key("a", 9, struct.pack("<IQ", 0, 1 << 60))), "claims more"),
        (gguf(key("a", 9, struct.pack("<IQ", 8, 1 << 60))), "claims more"),
        (gguf(key("a", 9, struct.pack("<IQ", 9, 1) * 3000)), "neither a number nor a text"),
        (gguf(key("a", 8, struct.pack("<Q", 1 << 62))), "claims more"),
        (gguf(key("a", 77, bytes(4))), "unknown type 77"),
        (gguf(key("a", 7, b"\1"), key("a", 7, b"\1")), "a key twice"),
        (gguf(struct.pack("<Q", 2) + b"\xff\xfe" + bytes(9)), "not UTF-8"),
        (gguf(tensors=1) + struct.pack("<QI", 0, 99) + bytes(99), "99 dimensions"),
    ],
)
def test_a_damaged_gguf_header_is_one_line(tmp_path, content, told):
    with pytest.raises(StoreError, match=told):
        read_header(written(tmp_path / "a.gguf", content))


def test_a_gguf_header_is_read(tmp_path):
    fields = [
        key("tokenizer.ggml.add_bos_token", 7, b"\1"),
        key("general.name", 8, struct.pack("<Q", 4) + b"tiny"),
        key("tokens", 9, struct.pack("<IQ", 8, 2) + (struct.pack("<Q", 1) + b"a") * 2),
        key("scores", 9, struct.pack("<IQ", 6, 2) + bytes(8)),
    ]
    tensor = struct.pack("<Q", 6) + b"weight" + struct.pack("<IQIQ", 1, 4, 0, 0)
    header = read_header(written(tmp_path / "a.gguf", gguf(*fields, tensors=1) + tensor))
    assert header.tensors == ("weight",)
    assert header.values["general.name"] == "tiny"
    assert header.values["tokenizer.ggml.add_bos_token"] is True
    assert header.values["tokens"] is None


def test_a_row_with_a_huge_number_is_refused_by_line(tmp_path):
    path = written(tmp_path / "a.jsonl", f'{{"action": "a"}}\n{{"action": "b", "n": {LONG}}}\n')
    for read in (read_actions, lambda path: read_labelled(path, all_labelled=False)):
        with pytest.raises(InputError, match="line 2 is not JSON"):
            read(path)


def test_a_lexicon_with_a_huge_number_is_refused_by_line(tmp_path):
    path = written(tmp_path / "a.dic", f"%\n{LONG}\tcare\n%\nhelp\t1\n")
    with pytest.raises(InputError, match="line 2"):
        load_lexicon(str(path))


def test_an_answer_of_tool_calls_alone_is_an_empty_text():
    data = json.dumps({"choices": [{"message": {"tool_calls": []}}]}).encode()
    generator = endpoint.EndpointGenerator("openai:m", endpoint.EndpointOptions())
    (choice,) = generator._checked(data)["choices"]
    assert endpoint._candidate(choice, Decoding()).text == ""


@pytest.mark.parametrize("row", [{"norzm": "c"}, {"norm": None}, {"norm": "\ud800"}, {"norm": 3}])
def test_a_norm_that_is_no_text_is_refused_by_line(tmp_path, row):
    rows = [{"norm": "Be kind."}, {"norm": "Be fair."}, {"norm": "Be true."}, row]
    path = written(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match="line 4 has no text under 'norm'"):
        read_items(path, "story-writing")


def test_a_message_that_quotes_a_strangers_file_stays_one_line(tmp_path):
    path = written(tmp_path / "a.csv", '"na\nme\x1b[2J\x07",b\n1,2\n')
    with pytest.raises(InputError) as caught:
        read_actions(path)
    assert str(caught.value).isprintable()
    assert len(str(MoralscopeError("x" * 100_000, "y"))) < 3000
