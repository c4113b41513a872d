"""What is fuzzed: every parser that meets a file of somebody else's, by name.

A target writes bytes to a file and has the real parser read it. A `MoralscopeError` is the right
answer to a bad file; anything else that comes out is a bug. Modules are imported when a target is
first run, so that a fuzzing process loads one parser alone.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from moralscope.core.errors import MoralscopeError

GUARDED_KEY = "sk-0123456789"
SHARD = b"\n--shard--\n"  # parts model.json from the weights beside it


@dataclass(frozen=True, slots=True)
class Target:
    """A parser: `read` takes a file whose name ends in one of `forms`."""

    name: str
    forms: tuple[str, ...]
    read: Callable[[Path], Any]

    def run(self, data: bytes, folder: Path) -> bool:
        """Have the parser read `data`, whose first byte chooses the form; tell if it took it."""
        form = self.forms[data[0] % len(self.forms)] if data else self.forms[0]
        path = folder / f"input{form}"
        path.write_bytes(data[1:])
        try:
            self.read(path)
        except MoralscopeError as error:
            told = str(error)
        else:
            return True
        assert told.isprintable(), "an error is one line that can be shown"
        assert len(told) < 5000, "an error is a line that can be read"
        return False

    def input_of(self, form: str, content: bytes) -> bytes:
        """Return the input that gives the parser `content` in that form."""
        return bytes([self.forms.index(form)]) + content


def _rulebook(path: Path) -> Any:
    from moralscope.rules.rulebook import layer_rulebooks, load_rulebook

    book = load_rulebook(path)
    return layer_rulebooks([book, book])


def _stories(path: Path) -> Any:
    from moralscope.stories.reading import read_stories
    from moralscope.stories.stats import categories, duplicates

    found = read_stories(path, malformed="skip").stories
    return categories(found), duplicates(found), read_stories(path)


def _template(path: Path) -> Any:
    from moralscope.axes.templates import load_template

    return load_template(str(path)).questions("kill time")


def _tfjs_graph(path: Path) -> Any:
    from moralscope.models.encoders.use_lite import UseLiteWeights

    model, _, shard = path.read_bytes().partition(SHARD)
    path.write_bytes(model)
    path.with_name("group1-shard1of1").write_bytes(shard)
    return UseLiteWeights(path).take("w", 2, 3)


def _tfjs_vocabulary(path: Path) -> Any:
    from moralscope.models.encoders.use_lite_tokenizer import UseLiteTokenizer

    return UseLiteTokenizer.read(path).encode("kill time: a b")


def _word_vectors(path: Path) -> Any:
    from moralscope.words.vectors.loading import map_table
    from moralscope.words.vectors.readers import read_chunks

    if path.suffix == ".safetensors":
        matrix, _ = map_table(path)
        return float(matrix.sum())
    return sum(len(words) for words, _ in read_chunks(path))


def _gguf(path: Path) -> Any:
    from moralscope.models.language.gguf_header import read_header

    return read_header(path)


def _annotations(path: Path) -> Any:
    from moralscope.rules.annotations.reading import read_annotations
    from moralscope.rules.annotations.statistics import counts, distributions

    read_annotations(path, malformed="skip")
    found = read_annotations(path).annotations
    return counts(found), distributions(found)


def _exchanges(path: Path) -> Any:
    from moralscope.rules.texts.exchanges import open_exchanges
    from moralscope.rules.texts.sanitize import read_exchange, sentences

    return [sentences(read_exchange(each).exchange.reply) for each in open_exchanges(path)]


def _table(path: Path) -> Any:
    """Read a table through each of its doors: the command, the page's upload, a corpus."""
    from moralscope.batch.sources import open_corpus
    from moralscope.io.actions import read_actions
    from moralscope.server.site.pages import read_upload

    doors: tuple[Callable[[], Any], ...] = (
        lambda: read_actions(path),
        lambda: read_upload(path.name, path.read_bytes()),
        lambda: [rows for _, rows in open_corpus([str(path)], ["action"]).scan(64)],
    )
    refused = None
    for door in doors:
        try:
            door()
        except MoralscopeError as error:
            refused = error
    if refused is not None:
        raise refused
    return True


def _gate(path: Path) -> Any:
    from moralscope.stats.gates import check_gate, parse_gate

    gate = parse_gate(path.read_bytes().decode("utf-8", "replace"), ["r", "changed"])
    return check_gate(gate, {"": {"r": 0.5, "changed": float("nan")}})


def _run_record(path: Path) -> Any:
    from moralscope.io.files import read_run
    from moralscope.pages import report_html

    return report_html(read_run(path), path.name).encode()


def _text_run(path: Path) -> Any:
    from moralscope.stories.examples import read_drafts
    from moralscope.stories.text_runs import read_beside, read_texts

    for read in (read_drafts, lambda place: read_beside([place])):
        with suppress(MoralscopeError):
            read(path)
    return read_texts([path])


def _project(path: Path) -> Any:
    from moralscope.annotation.projects import parse_project, project_text
    from moralscope.io.documents import read_document

    found = parse_project(read_document(path, "project", "fix it").content, path.name)
    assert parse_project(project_text(found), "again") == found
    return found


def _items(path: Path) -> Any:
    from moralscope.annotation.item_files import read_items

    for task in ("story-writing", "action-yes-no", "filter"):
        with suppress(MoralscopeError):
            return read_items(path, task)
    return read_items(path, "rule-ratings")


def _actions(path: Path) -> Any:
    from moralscope.axes.direction.labelled import read_labelled
    from moralscope.io.actions import read_actions

    read_labelled(path, all_labelled=False)
    return read_actions(path)


def _judge_rows(path: Path) -> Any:
    from moralscope.axes.options import AXES
    from moralscope.axes.score import read_rows

    return read_rows(path, AXES["judge"].columns)


def _word_sets(path: Path) -> Any:
    from moralscope.words.word_sets import load_word_sets

    return load_word_sets(str(path)).lowered()


def _pairs(path: Path) -> Any:
    from moralscope.steer.pairs import load_pairs

    return load_pairs("mine", path)


def _steering(path: Path) -> Any:
    """Read a vector: ours, lm-eval's, llama.cpp's."""
    from moralscope.models.language.steering import load_vector
    from moralscope.steer.exchange import read_gguf, read_lm_eval

    return {".safetensors": load_vector, ".pt": read_lm_eval}.get(path.suffix, read_gguf)(path)


def _settings(path: Path) -> Any:
    """Read what a user writes or shares as TOML or JSON: recipes, limits, experts, adapters."""
    from moralscope.models.classifiers.saved import read_settings
    from moralscope.rules.thresholds import read_limits
    from moralscope.stories.chains.recipes import load_recipe

    if path.suffix == ".json":
        return read_settings(path.rename(path.with_name("expert.json")).parent)
    if b"steps" in path.read_bytes():
        return load_recipe(str(path))
    return read_limits(path)


def _ratings(path: Path) -> Any:
    from moralscope.axes.ratings import read_ratings
    from moralscope.steer.teach import read_corrections

    head = path.read_bytes()[:40]
    return (read_ratings if b"yes" in head or b"no" in head else read_corrections)(path)


def _judgments(path: Path) -> Any:
    from moralscope.annotation.agreement_files import read_judgments, read_people

    return (read_judgments if b"item" in path.read_bytes()[:200] else read_people)(path)


def _saved_axis(path: Path) -> Any:
    from moralscope.axes.direction.saved import load_direction
    from moralscope.models.encoders.edited import load_edit

    if b"moralscope.edit" in path.read_bytes():
        return load_edit(path)
    encoder = SimpleNamespace(name="scripted", checksum="abc", dimension=2)
    return load_direction(path, encoder, SimpleNamespace(fingerprint="f"))


def _lexicon(path: Path) -> Any:
    from moralscope.rules.collect.lexicons import load_lexicon
    from moralscope.words.valence import load_valence

    if path.suffix == ".txt":
        return load_valence(path)
    return load_lexicon(str(path)).find("You should not steal.")


def _endpoint_answer(path: Path) -> Any:
    from moralscope.core.records import Decoding
    from moralscope.models.language import endpoint

    generator = endpoint.EndpointGenerator("openai:m", endpoint.EndpointOptions())
    try:
        answer = generator._checked(path.read_bytes())
    except endpoint._TryAgainError as error:
        raise MoralscopeError(str(error), "ask again") from None
    return [endpoint._candidate(choice, Decoding()) for choice in answer["choices"]]


def _guarded_answer(path: Path) -> Any:
    """Read what a server behind the guard answers; what goes out is JSON without the key."""
    import json
    from functools import partial

    from moralscope.models.language.http_client import without_secret
    from moralscope.server.guard import GuardDecision
    from moralscope.server.guard.upstream import UpstreamError, read_answer, read_stream
    from moralscope.server.guard.writing import events, whole

    data, clean = path.read_bytes(), partial(without_secret, GUARDED_KEY)
    try:
        found = read_stream(data, clean, 1) if path.suffix == ".sse" else read_answer(data, clean)
    except UpstreamError as error:
        json.dumps(error.body, allow_nan=False)
        raise MoralscopeError("the answer was refused", "ask again") from None
    passed = [GuardDecision(choice.text, "passed", "kept", {}) for choice in found.choices]
    streamed = "".join(events(found, passed, "m", with_usage=True)).encode().decode()
    written = [json.loads(line[6:]) for line in streamed.split("\n\n")[:-2]]
    out = json.dumps([whole(found, passed, "m"), written], ensure_ascii=False, allow_nan=False)
    assert GUARDED_KEY not in out
    return out.encode()


_TABLE = (
    Target("rulebook", (".yaml", ".csv", ".txt"), _rulebook),
    Target("stories", (".jsonl",), _stories),
    Target("template", (".yaml", ".csv"), _template),
    Target("tfjs-graph", (".json",), _tfjs_graph),
    Target("tfjs-vocabulary", (".json",), _tfjs_vocabulary),
    Target("word-vectors", (".bin", ".safetensors"), _word_vectors),
    Target("gguf", (".gguf",), _gguf),
    Target("annotations", (".csv",), _annotations),
    Target("exchanges", (".csv", ".jsonl", ".parquet"), _exchanges),
    Target("table", (".parquet", ".csv", ".jsonl"), _table),
    Target("gate", (".txt",), _gate),
    Target("run-record", (".json",), _run_record),
    Target("text-run", (".json",), _text_run),
    Target("project", (".yaml",), _project),
    Target("items", (".csv", ".jsonl"), _items),
    Target("actions", (".csv", ".jsonl", ".txt"), _actions),
    Target("judge-rows", (".csv", ".jsonl"), _judge_rows),
    Target("word-sets", (".yaml", ".toml", ".json"), _word_sets),
    Target("pairs", (".yaml", ".csv"), _pairs),
    Target("steering", (".safetensors", ".pt", ".gguf"), _steering),
    Target("settings", (".toml", ".json"), _settings),
    Target("ratings", (".csv",), _ratings),
    Target("judgments", (".csv", ".jsonl"), _judgments),
    Target("saved-axis", (".safetensors",), _saved_axis),
    Target("lexicon", (".dic", ".tff", ".csv", ".txt"), _lexicon),
    Target("endpoint-answer", (".json",), _endpoint_answer),
    Target("guarded-answer", (".sse", ".json"), _guarded_answer),
)
TARGETS: Mapping[str, Target] = {target.name: target for target in _TABLE}
