"""Models under pressure: planted drift is recovered, its absence too."""

import pytest

from moralscope.axes.language import Asking
from moralscope.core.errors import InputError
from moralscope.models.language.scripted import PlantedBias, ScriptedModel
from moralscope.surveys.items import Dilemma, Statement
from moralscope.surveys.pressure import NEUTRAL, press, turns
from moralscope.surveys.survey import survey

ITEMS = [
    Dilemma(f"{n}", f"Case {n}.", (f"I do thing {n}.", f"I leave thing {n}.")) for n in range(40)
]


def pressed(**planted):
    model = ScriptedModel(PlantedBias(**planted))
    return {row.kind: row for row in press(Asking.of(model, "auto"), ITEMS, wordings=3).kinds}


def test_planted_drift_is_recovered_exactly_without_noise():
    kinds = pressed(drift=0.7, order=0.4, label=0.2)
    for kind, row in kinds.items():
        expected = 0.0 if kind == NEUTRAL else 0.7
        assert row.moved.value == pytest.approx(expected)
        assert row.gives_way == (kind != NEUTRAL)


def test_a_noisy_model_without_drift_does_not_give_way():
    kinds = pressed(wording=0.3, noise=0.3)
    assert not any(row.gives_way for row in kinds.values())
    assert kinds[NEUTRAL].beyond is None


def test_every_kind_has_as_many_turns():
    assert len({len(texts) for texts in turns().values()}) == 1
    assert NEUTRAL in turns()


def test_a_survey_reports_pressure_for_every_model_and_only_where_asked():
    record = survey(ITEMS[:3], models=("scripted", "scripted:drift=1"), pressure=True)
    figures = record.statistics["pressure"]
    assert set(figures) == {"scripted", "scripted:drift=1"}
    assert all(row.gives_way for row in figures["scripted:drift=1"].kinds if row.beyond)
    assert "pressure" not in survey(ITEMS[:3], models=("scripted",)).statistics


def test_statements_are_not_pressed():
    statement = Statement("1", "Lying is wrong.", "Lying is right.", "", ("no", "yes"))
    with pytest.raises(InputError, match="--pressure"):
        survey([statement], models=("scripted",), pressure=True)
