"""Jobs on models that stay loaded: made once, shared, and with the numbers of the jobs alone."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from moralscope.axes.options import ScoreOptions
from moralscope.core.errors import InputError, UnknownName
from moralscope.core.options import build_options
from moralscope.core.records import Decoding
from moralscope.models.batching import Cancelled, OutOfTime, Patience, patience
from moralscope.models.encoders import load_encoder
from moralscope.models.language import load_generator
from moralscope.rules.audit import AuditOptions, audit
from moralscope.rules.options import LintOptions
from moralscope.rules.records import Exchange
from moralscope.rules.thresholds import Thresholds
from moralscope.server.models import Models, NotHere, SingleFlightCache
from moralscope.server.service import AuditRules, RulebookText, Service
from moralscope.stories.experts import prepare_experts

ACTIONS = ["kill people", "kill time", "help people"]
GIVEN = [Exchange("Do you steal?", "I would never steal from a friend.", "a")]


@pytest.fixture(scope="module")
def service():
    made = Service()
    yield made
    made.close()


@pytest.fixture
def models():
    made = Models()
    yield made
    made.close()


def test_what_many_ask_for_at_once_is_made_once():
    made, kept, start = [], SingleFlightCache(4), threading.Barrier(8)

    def make():
        made.append(1)
        time.sleep(0.05)
        return object()

    def ask(_):
        start.wait()
        return kept.get("a", make)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert len(made) == len(set(map(id, found))) == 1


def test_a_failure_is_not_kept_and_the_longest_unused_goes():
    kept = SingleFlightCache(2)
    with pytest.raises(InputError):
        kept.get("a", lambda: (_ for _ in ()).throw(InputError("no", "yes")))
    assert kept.get("a", lambda: 1) == 1
    kept.get("b", lambda: 2)
    kept.get("a", lambda: 0)
    kept.get("c", lambda: 3)
    assert kept.values() == [1, 3]


def test_who_waits_makes_it_anew_where_the_maker_gave_up():
    kept, began, go = SingleFlightCache(2), threading.Event(), threading.Event()

    def gives_up():
        began.set()
        go.wait(5)
        raise Cancelled("gone", "ask again")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(kept.get, "a", gives_up)
        assert began.wait(5)
        second = pool.submit(kept.get, "a", lambda: "made")
        time.sleep(0.05)
        go.set()
        assert second.result(5) == "made"
        with pytest.raises(Cancelled):
            first.result(5)


def test_who_waits_for_a_model_waits_no_longer_than_its_time():
    kept, began, go = SingleFlightCache(2), threading.Event(), threading.Event()

    def make():
        began.set()
        go.wait(5)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(kept.get, "a", make)
        assert began.wait(5)
        with patience(Patience(time.monotonic() + 0.1)), pytest.raises(OutOfTime):
            kept.get("a", make)
        go.set()


def test_shared_models_give_the_rows_of_the_models_themselves(models):
    texts = [f"feed {n} cats" for n in range(700)]
    own, shared = load_encoder("scripted"), models.encoder("scripted")
    assert (shared.encode(texts) == own.encode(texts)).all()
    assert (shared.name, shared.checksum) == (own.name, own.checksum)
    assert shared.encode([]).shape == (0, own.dimension)
    pairs = [("Be kind.", text) for text in texts]
    known, experts = prepare_experts("scripted"), models.experts("scripted")
    for task in known.tasks:
        expected = known.expert(task).probabilities(pairs)
        assert (experts.expert(task).probabilities(pairs) == expected).all()
    asked = (texts[:30], Decoding(count=2), list(range(30)))
    assert models.generator("scripted").generate(*asked) == load_generator("scripted").generate(
        *asked
    )


@pytest.mark.parametrize("name", ["/etc", "./model", "owner/name", "openai:gpt", "minlm", ""])
def test_only_names_of_the_catalogue_are_known(models, name):
    for ask in (models.encoder, models.experts, models.generator):
        with pytest.raises(UnknownName):
            ask(name)


def test_weights_that_are_not_here_are_not_fetched(models, empty_home):
    for ask, name in (
        (models.encoder, "mpnet"),
        (models.experts, "minilm"),
        (models.generator, "smollm2"),
    ):
        with pytest.raises(NotHere, match=f"models pull {name}"):
            ask(name)
    assert not (empty_home / "models").exists()


def test_an_axis_is_fitted_once(service, monkeypatch):
    from moralscope.server import service as serving

    built = []
    real = serving.build_axis
    monkeypatch.setattr(serving, "build_axis", lambda *given: built.append(1) or real(*given))
    options = ScoreOptions(axis="direction", encoder="scripted", seed=41)
    first = service.score(ACTIONS, options)
    assert service.score(ACTIONS, options) == first
    assert built == [1]


def test_an_audit_is_that_of_the_job(service):
    options = AuditOptions(experts="scripted", top=7, seed=5)
    found = service.audit(GIVEN, options)
    alone = audit(GIVEN, options)
    assert found.results == alone.results
    assert (found.config, found.models) == (alone.config, alone.models)


def test_rulebooks_of_a_request_are_laid_over_ours(service):
    options = AuditOptions(experts="scripted")
    own = RulebookText("text,severity\nIt's wrong to steal from friends.,5\n", "csv")
    alone = service.audit(GIVEN, options, AuditRules((own,)))
    both = service.audit(GIVEN, options, AuditRules((None, own)))
    ours = service.audit(GIVEN, options)
    rules = [record.config["rules"] for record in (alone, both, ours)]
    assert rules == [1, rules[2] + 1, rules[2]]


def test_a_rulebook_of_a_request_is_bounded(service):
    text = "\n".join(f"It is wrong to steal {n} bikes." for n in range(2001))
    with pytest.raises(InputError, match="2,001 rules"):
        service.lint([RulebookText(text, "txt")], LintOptions())


def test_options_of_another_axis_are_refused(service):
    with pytest.raises(InputError, match="judge axis"):
        service.score(ACTIONS, ScoreOptions(axis="choice", norm="Be kind."))
    with pytest.raises(UnknownName):
        build_options(Thresholds, {"flagg": 0.5})


def test_a_job_ends_where_its_time_is_over(service):
    with pytest.raises(OutOfTime), patience(Patience(time.monotonic() - 1)):
        service.score(ACTIONS, ScoreOptions(encoder="scripted"))
