"""What the batch runner relies on, of every job: it travels, loads from its state, keeps rows."""

import json
import pickle
from types import SimpleNamespace

import pytest

from moralscope.axes.batch import ScoreBatch
from moralscope.axes.options import ScoreOptions
from moralscope.batch.block_worker import RowErrors
from moralscope.batch.job import load_job
from moralscope.batch.parts import Parts
from moralscope.rules.audit_batch import AuditBatch
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.collect.batch import CollectBatch
from moralscope.rules.collect.options import CollectOptions
from moralscope.rules.conversation_batch import ConversationBatch
from moralscope.surveys.batch import SurveyBatch
from moralscope.surveys.options import SurveyOptions

MAKERS = {
    "choice": lambda columns: ScoreBatch(ScoreOptions(encoder="scripted"), columns),
    "direction": lambda columns: ScoreBatch(
        ScoreOptions(axis="direction", encoder="scripted"), columns
    ),
    "judge": lambda columns: ScoreBatch(ScoreOptions(axis="judge", experts="scripted"), columns),
    "choice-language": lambda columns: ScoreBatch(
        ScoreOptions(axis="choice", model="scripted"), columns
    ),
    "audit": lambda columns: AuditBatch(AuditOptions(experts="scripted"), columns),
    "conversations": lambda columns: ConversationBatch(AuditOptions(experts="scripted"), columns),
    "survey": lambda columns: SurveyBatch(SurveyOptions(models=("scripted",), wordings=1), columns),
    "collect": lambda columns: CollectBatch(
        CollectOptions(bots=("scripted",), filters="none", lexicons=()), columns
    ),
}
TEXTS = ["I would never steal from a friend.", "kill time", "help old people"]


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


def batch_of(job, texts):
    """Give every needed column texts of its own: a dilemma has no two equal actions."""
    if job.needed == ("messages",):
        said = [text and json.dumps([{"role": "assistant", "content": text}]) for text in texts]
        return {job.theirs("messages"): said}
    return {
        job.theirs(name): [None if text is None else f"{text} {number}" for text in texts]
        for number, name in enumerate(job.needed)
    }


def test_a_job_travels_and_loads_from_its_state_alone(make):
    job = make({})
    assert job.light
    prepared = job.prepare()
    travelled, state = pickle.loads(pickle.dumps((job, prepared.state)))
    one, two = (load_job(each, state)(batch_of(job, TEXTS)) for each in (job, travelled))
    assert list(one) == prepared.writes.names
    assert one == two
    assert all(len(values) == len(TEXTS) for values in one.values())
    assert {name: type(value) for name, value in vars(job).items()} == {
        name: type(value) for name, value in vars(make({})).items()
    }, "loading leaves the job that travels as it was"


def test_a_row_does_not_depend_on_its_batch(make):
    job = make({})
    loaded = load_job(job, job.prepare().state)
    whole = loaded(batch_of(job, TEXTS))
    for at, text in enumerate(TEXTS):
        alone = loaded(batch_of(job, [text]))
        for name, values in whole.items():
            number = isinstance(values[at], float)
            assert alone[name][0] == (pytest.approx(values[at]) if number else values[at])


def test_columns_have_the_names_that_the_user_gives(make):
    job = make({make({}).needed[-1]: "theirs"})
    assert job.theirs(job.needed[-1]) == "theirs"
    loaded = load_job(job, job.prepare().state)
    assert len(next(iter(loaded(batch_of(job, TEXTS)).values()))) == len(TEXTS)


def test_rows_that_cannot_be_done_are_told_by_their_places(make):
    job = make({})
    loaded = load_job(job, job.prepare().state)
    with pytest.raises(RowErrors) as caught:
        loaded(batch_of(job, [TEXTS[0], None, TEXTS[1]]))
    assert list(caught.value.reasons) == [1]


def test_what_decides_the_numbers_is_plain_and_names_no_file_of_the_user(make):
    prepared = make({}).prepare()
    assert prepared.decides
    assert prepared.config


def test_no_rows_have_figures_too(make, tmp_path):
    job = make({})
    found = job.sum_up(Parts(tmp_path, {}), job.prepare(), SimpleNamespace(seconds=1.0))
    assert found
