"""The pages of the stories commands: of a new record and of the saved one they are the same."""

import json

import pytest

from moralscope.core.records import to_plain
from moralscope.io.files import write_record
from moralscope.models.encoders import load_encoder
from moralscope.models.language import load_generator
from moralscope.pages import build_page, page_of, report_html
from moralscope.stories.chains.run import ChainModels, chain
from moralscope.stories.evaluate import evaluate
from moralscope.stories.experts import prepare_experts
from moralscope.stories.generate import generate
from moralscope.stories.options import EvaluateOptions
from moralscope.stories.reading import StoryFile
from moralscope.stories.reverse import reverse_norms
from moralscope.stories.select_norms import select_norms
from moralscope.stories.split import stories_split
from moralscope.stories.stats import stories_stats
from moralscope.stories.story import MoralStory
from moralscope.stories.text_metrics import score_texts

STORIES = tuple(
    MoralStory(
        str(n),
        f"It's {'rude' if n % 2 else 'kind'} to wave at <b>neighbour {n}</b>.",
        f"Jo meets neighbour {n}.",
        "Jo wants to go home.",
        f"Jo greets neighbour {n}.",
        "The neighbour smiles.",
        f"Jo pushes neighbour {n}.",
        "The neighbour falls.",
    )
    for n in range(8)
)
FILE = StoryFile("mine.jsonl", STORIES)


def models():
    return ChainModels(load_generator("scripted"), prepare_experts("scripted"))


def measured(tmp_path):
    paths = []
    for recipe in ("action-sample", "action-ranking"):
        paths.append(tmp_path / f"{recipe}.json")
        write_record(chain(recipe, STORIES, models()), paths[-1])
    return score_texts(paths, STORIES)


def selected(tmp_path):
    head = "rot,rot-categorization,rot-agree,rot-bad,action-moral-judgment"
    (tmp_path / "rules.csv").write_text(f"{head}\nIt's rude to lie.,social-norms,4,0,-1\n")
    return select_norms(tmp_path / "rules.csv")


RECORDS = {
    "stats": lambda _: stories_stats(FILE, topics=2),
    "split": lambda _: stories_split(FILE, encoder=load_encoder("scripted")),
    "reverse": lambda _: reverse_norms(["It's rude to lie.", "Bonjour"]),
    "norms": selected,
    "evaluate": lambda _: evaluate(
        prepare_experts("scripted"), STORIES, EvaluateOptions(part="all", shortcuts=True)
    ),
    "chain": lambda _: chain("consequence-refinement", STORIES, models()),
    "generate": lambda _: generate("norm|actions", STORIES, models()),
    "metrics": measured,
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_saved_record_has_the_page_of_the_new_one(name, tmp_path):
    record = RECORDS[name](tmp_path)
    saved = build_page(json.loads(json.dumps(to_plain(record))))
    assert to_plain(saved) == to_plain(page_of(record))
    assert any(section.shown != "report" for section in saved.sections)
    assert "<b>neighbour" not in report_html(record)
