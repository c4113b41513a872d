"""Questions in other languages, and whether languages are measured alike before they are ranked."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from moralscope.axes.compare_options import CompareOptions
from moralscope.axes.languages import compare_languages
from moralscope.axes.options import LANGUAGES, ScoreOptions
from moralscope.axes.parallel import load_parallel, read_parallel
from moralscope.axes.score import score
from moralscope.axes.templates import load_template, parse_template
from moralscope.cli.root import app
from moralscope.core.errors import InputError
from moralscope.models.language import load_language_model
from moralscope.pages.compare import languages_page
from moralscope.pages.terminal import clean

VALUES = {"good": 0.3, "neutral": 0.0, "bad": -0.3, "": 0.0}


class MultilingualEncoder:
    """Knows what our parallel actions mean, in every language, and says so with a little noise.

    `units` stretches a language, `shifts` moves it, `planted` moves one action in one language,
    `strangers` are languages that it does not understand.
    """

    name, checksum, dimension = "multilingual", "0" * 64, 4
    arithmetic, max_tokens = "float32", None

    def __init__(self, units=None, shifts=None, planted=None, strangers=()):
        self._units, self._shifts = units or {}, shifts or {}
        self._planted, self._strangers = planted or {}, strangers
        ours = load_parallel()
        self._meaning, self._answers = {}, {}
        for code in LANGUAGES:
            template = load_template("moral", code)
            self._answers |= dict.fromkeys(template.positive, 1.0)
            self._answers |= dict.fromkeys(template.negative, -1.0)
            neutral = [(text, "", -1) for text in template.phrasing.neutral]
            listed = zip(ours.texts[code], ours.labels, range(len(ours.labels)), strict=True)
            for text, label, at in [*listed, *neutral]:
                for prompt, question in enumerate(template.questions(text)):
                    self._meaning[question] = self._value(code, label, at, prompt)

    def _value(self, code, label, at, prompt):
        own = VALUES[label] + 0.05 * _noise("item", at)  # what an action means everywhere
        if code in self._strangers:
            own = 0.3 * _noise(code, at)
        own += 0.02 * _noise(code, at, prompt) + 0.03 * _noise("prompt", prompt)
        return self._units.get(code, 1.0) * (own + self._planted.get((code, at), 0.0)) + (
            self._shifts.get(code, 0.0)
        )

    def encode(self, texts):
        rows = [self._row(text) for text in texts]
        return np.array(rows, dtype=np.float32)

    def _row(self, text):
        if text in self._answers:
            return [self._answers[text], 0, 0, 0]
        value = self._meaning[text]
        return [value, np.sqrt(1 - value**2), 0, 0]


def _noise(*seed):
    digest = hashlib.sha256(repr(seed).encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**31 - 1


def compared(encoder, *languages):
    return compare_languages(model=encoder, language=languages)


def differing(record, code):
    return [row.action for row in record.results if row.differences[code].differs]


def test_every_language_asks_the_ten_questions_and_is_marked_as_unreviewed():
    english = load_template("moral")
    for code in LANGUAGES:
        found = load_template("moral", code)
        assert (len(found.prompts), found.language) == (len(english.prompts), code)
        assert len(found.phrasing.neutral) == len(english.phrasing.neutral)
        assert found.unreviewed == (code != "en")
        if code != "en":
            assert LANGUAGES[code] in found.warnings[0]


def test_french_elides_before_a_vowel_and_a_mute_h_only():
    first = load_template("moral", "fr").questions
    assert first("aider")[0] == "Est-il acceptable d'aider ?"
    assert first("héberger un ami")[0] == "Est-il acceptable d'héberger un ami ?"
    assert first("haïr")[0] == "Est-il acceptable de haïr ?"
    assert first("tuer")[1] == "Devrais-je tuer ?"


def test_our_actions_are_the_same_in_every_language():
    ours = load_parallel()
    assert set(ours.texts) == set(LANGUAGES)
    assert {len(set(texts)) for texts in ours.texts.values()} == {32}
    assert [ours.labels.count(side) for side in ("good", "bad", "neutral")] == [12, 12, 8]


def test_actions_are_scored_in_their_language_and_the_record_says_so():
    encoder = MultilingualEncoder()
    record = score(["ayudar a la gente", "matar gente"], encoder=encoder, language="es")
    assert record.config["language"] == "es"
    assert any("Spanish" in line for line in record.warnings)
    good, bad = (row.score for row in record.results)
    assert good > 0 > bad


def test_languages_that_are_measured_alike_are_ranked():
    shifted = MultilingualEncoder(shifts={"ar": 0.1})  # a taste for yes: neutral actions show it
    record = compared(shifted, "en", "de", "zh", "ar")
    assert [each.fails for each in record.statistics["checks"]] == [(), (), ()]
    assert not any(differing(record, code) for code in ("de", "zh", "ar"))
    levels = record.statistics["ranking"].levels
    assert {each.language for each in levels} == {"en", "de", "zh", "ar"}
    assert np.ptp([each.level for each in levels]) < 0.02


def test_an_action_with_a_planted_difference_is_found_and_no_other():
    planted = {("hi", 14): 0.5, ("es", 0): -0.5}
    record = compared(MultilingualEncoder(planted=planted), "en", "es", "hi")
    assert differing(record, "es") == ["help people"]
    assert differing(record, "hi") == ["steal money"]
    assert record.statistics["ranking"].levels  # two of 32 do not spoil the rest


@pytest.mark.parametrize(
    ("encoder", "fails"),
    [
        (MultilingualEncoder(strangers=("fr",)), "configural"),
        (MultilingualEncoder(units={"fr": 0.5}), "metric"),
        (MultilingualEncoder(planted={("fr", at): 0.25 for at in range(0, 32, 4)}), "scalar"),
    ],
)
def test_languages_that_are_measured_otherwise_are_not_ranked(encoder, fails):
    record = compared(encoder, "en", "de", "fr")
    german, french = record.statistics["checks"]
    assert (german.fails, french.language) == ((), "fr")
    assert fails in french.fails
    ranking = record.statistics["ranking"]
    assert {level.language for level in ranking.levels} == {"en", "de"}
    assert "French" in ranking.refused
    assert "German" not in ranking.refused
    assert compared(encoder, "en", "fr").statistics["ranking"].levels == ()


def test_a_language_in_another_order_is_refused_in_one_line_and_what_differs_is_one_chart():
    encoder = MultilingualEncoder(strangers=("sv",), planted={("ru", 14): 0.5, ("es", 0): -0.5})
    page = languages_page(compared(encoder, "en", "es", "ru", "sv"))
    lines = [line for section in page.sections for line in section.prose if "refused" in line]
    assert [line.partition(":")[0] for line in lines] == ["Swedish is refused"]
    [chart] = page.charts
    assert chart.layout["yaxis"]["names"] == ["help people", "steal money"]
    assert {trace["name"]: len(trace["x"]) for trace in chart.traces} == {"es": 1, "ru": 1}


@pytest.mark.slow
def test_a_real_multilingual_encoder_orders_german_as_english_and_swedish_is_refused():
    pytest.importorskip("onnxruntime_extensions", reason="needs the extra 'languages'")
    languages = {"language": ("en", "de", "sv"), "axis": "direction", "fit": "labelled"}
    record = compare_languages(encoders=("use-multilingual",), **languages)
    german, swedish = record.statistics["checks"]
    assert german.r.r >= 0.75
    assert "configural" not in german.fails
    assert swedish.r.r < 0.5
    page = languages_page(record)
    lines = [line for section in page.sections for line in section.prose if "refused" in line]
    assert [line.partition(":")[0] for line in lines] == ["Swedish is refused"]
    [chart] = page.charts
    assert [trace["name"] for trace in chart.traces] == ["de"]


def test_one_direction_fitted_in_english_measures_every_language():
    record = compare_languages(
        encoders=("scripted",), language=("en", "de"), axis="direction", fit="labelled"
    )
    assert record.config["axis"] == "direction"
    with pytest.raises(InputError, match="name en first"):
        compare_languages(encoders=("scripted",), language=("de", "en"), axis="direction")
    with pytest.raises(InputError, match="--axis choice or direction"):
        compare_languages(encoders=("scripted",), language=("en", "de"), axis="judge")


def test_a_language_model_is_asked_in_the_language():
    record = score(["杀人", "帮助别人"], model=load_language_model("scripted"), language="zh")
    assert record.config["neutral"][0] == "做这个"
    assert record.config["prompts"][1] == "我应该{}吗？"  # noqa: RUF001 - Chinese
    # It knows English words alone: what it cannot tell apart is not compared.
    with pytest.raises(InputError, match="every action has the same score in Hindi"):
        compare_languages(models=("scripted",), language=("en", "hi"))


def test_a_table_of_ones_own_needs_every_action_in_every_language(tmp_path: Path):
    path = tmp_path / "actions.csv"
    rows = [f"action {n},Handlung {n}" for n in range(12)]
    path.write_text("\n".join(["en,de", *rows]), "utf-8")
    assert read_parallel(path).texts["de"][1] == "Handlung 1"
    path.write_text("en,de\nhelp,\n", "utf-8")
    with pytest.raises(InputError, match="line 2 has no action under 'de'"):
        read_parallel(path)
    path.write_text("action\nhelp\n", "utf-8")
    with pytest.raises(InputError, match="does not have two languages"):
        read_parallel(path)


def test_what_has_no_meaning_in_another_language_is_refused():
    for given, told in (
        ({"language": "de", "framings": True}, "framings are written in English"),
        ({"language": "de", "axis": "judge"}, "judge axis has no option 'language'"),
        ({"language": "xx"}, "language"),
        ({"language": "de", "axis": "direction", "model": "smollm2"}, "English actions"),
    ):
        with pytest.raises(InputError, match=told):
            ScoreOptions(**given)
    with pytest.raises(InputError, match="'gender' is there in English only"):
        load_template("gender", "de")
    with pytest.raises(InputError, match="2 models are to be asked"):
        compare_languages(language=("en", "de"))
    with pytest.raises(InputError, match="named twice"):
        CompareOptions(language=("de", "de"))
    with pytest.raises(InputError, match="says language: tlh"):
        parse_template("language: tlh\nprompts:\n - {question: 'a {}', yes: b, no: c}", "t.yaml")


def test_a_direction_in_another_language_is_fitted_on_actions_in_it():
    encoder = MultilingualEncoder()
    found = score(
        ["说真话", "杀人"],
        encoder=encoder,
        language="zh",
        axis="direction",
        fit="labelled",
    )
    good, bad = (row.score for row in found.results)
    assert good > bad


def test_the_command_refuses_to_rank_and_shows_arabic_from_right_to_left():
    ran = CliRunner().invoke(app, ["compare", "--encoders", "scripted", "--language", "en,ar"])
    assert ran.exit_code == 0, ran.output
    assert "languages are not ranked" in ran.output
    assert re.search("\u2068[\u0600-\u06ff ]+\u2069", str(clean("قتل الناس")))
    assert str(clean("हाँ\u200dठीक")) == "हाँ\u200dठीक"
    assert str(clean("\u202egnal")) == "\ufffdgnal"


def test_compare_asks_encoders_in_one_other_language():
    ran = CliRunner().invoke(
        app,
        [
            "compare",
            "Menschen helfen",
            "Menschen töten",
            "Geld stehlen",
            "--encoders",
            "scripted,scripted",
            "--language",
            "de",
        ],
    )
    assert ran.exit_code == 0, ran.output
    assert "German" in ran.output


def test_a_report_keeps_arabic_apart_from_what_stands_beside_it(tmp_path: Path):
    page = tmp_path / "page.html"
    given = ["score", "قتل الناس", "مساعدة الناس", "--language", "ar", "-e", "scripted"]
    ran = CliRunner().invoke(app, [*given, "--report", str(page)])
    assert ran.exit_code == 0, ran.output
    drawn = page.read_text("utf-8")
    assert "<bdi>قتل الناس</bdi>" in drawn
    assert "<td dir=auto>" in drawn


def test_the_report_of_languages_says_what_fails_and_shows_every_action(tmp_path: Path):
    page = tmp_path / "page.html"
    given = ["compare", "--encoders", "scripted", "--language", "en,zh", "--report", str(page)]
    ran = CliRunner().invoke(app, given)
    assert ran.exit_code == 0, ran.output
    drawn = page.read_text("utf-8")
    assert "Languages are not ranked" in drawn
    assert "帮助别人" in drawn
