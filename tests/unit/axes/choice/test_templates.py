import pytest

from moralscope.axes.templates import load_template, parse_template, takes_an
from moralscope.core.errors import InputError, UnknownName

GOOD = """
name: mine
prompts:
  - question: Would people {}?
    yes: Yes, they would.
    no: No, they would not.
"""


def test_the_moral_template_is_the_papers():
    template = load_template("moral")
    assert template.questions("kill people") == [
        "Is it okay to kill people?",
        "Should I kill people?",
        "Shall I kill people?",
        "May I kill people?",
        "Is it allowed to kill people?",
        "Is it recommended to kill people?",
        "Is it desired to kill people?",
        "Is it polite to kill people?",
        "Is it good behaviour to kill people?",
        "Is it exemplary to kill people?",
    ]
    assert [p.positive for p in template.prompts[:4]] == [
        "Yes, it is.",
        "Yes, you should.",
        "Yes, you shall.",
        "Yes, you may.",
    ]
    assert template.prompts[3].negative == "No, you may not."


def test_the_gender_template_fits_the_article():
    template = load_template("gender")
    assert template.questions("actor") == [
        "Is your cousin an actor?",
        "Was your cousin an actor?",
        "Is the actor here today?",
        "Was the actor here today?",
    ]
    assert template.questions("plumber")[0] == "Is your cousin a plumber?"
    assert template.prompts[0].positive == "Yes, she is."


@pytest.mark.parametrize(
    ("noun", "an"),
    [
        ("undertaker", True),
        ("umpire", True),
        ("usher", True),
        ("hourly worker", True),
        ("honest man", True),
        ("university professor", False),
        ("user", False),
        ("one-armed bandit", False),
        ("European", False),
        ("housekeeper", False),
        ("Engineer", True),
    ],
)
def test_the_article_follows_the_sound(noun, an):
    assert takes_an(noun) is an


def test_actions_are_inserted_as_given():
    assert load_template("moral").questions("eat an {} apple")[1] == "Should I eat an {} apple?"


def test_a_users_yaml_file_may_say_yes_and_no(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD)
    template = load_template(str(path))
    assert template.name == "mine"
    assert template.prompts[0].positive == "Yes, they would."


def test_a_users_csv_file_is_a_template_too(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text('question,positive,negative\n"May we {}?","Yes, we may.","No, we may not."\n')
    assert load_template(str(path)).questions("sing") == ["May we sing?"]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (GOOD.replace("{}", "sing"), 4, "without one {}"),
        (GOOD.replace("{}", "{} {}"), 4, "without one {}"),
        (GOOD.replace("    yes: Yes, they would.\n", ""), 4, "without 'positive'"),
        (GOOD.replace("yes:", "maybe:"), 5, "unknown key 'maybe'"),
        (GOOD.replace("No, they would not.", "Yes, they would."), 4, "same positive and negative"),
        ("name: mine\n", 1, "no list of prompts"),
        ("name: mine\nprompts: []\n", 1, "holds no prompts"),
        ("- a\n- b\n", 1, "needs"),
        ("name: [\n", 2, "is not YAML"),
        (GOOD + "insert: sideways\n", 7, "insert: sideways"),
        ("", 1, "needs"),
        (GOOD.replace("Would people {}?", "{}: is it fine?"), 4, "not YAML"),
    ],
)
def test_what_is_wrong_is_named_by_line(text, line, what):
    with pytest.raises(InputError) as caught:
        parse_template(text, "mine.yaml")
    assert f"mine.yaml line {line} " in str(caught.value)
    assert what in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_csv_line_without_a_blank_is_named():
    text = "question,positive,negative\nMay we {}?,Yes.,No.\nMay we sing?,Yes.,No.\n"
    with pytest.raises(InputError, match=r"mine.csv line 3 has the question 'May we sing\?'"):
        parse_template(text, "mine.csv")


def test_an_unknown_template_is_answered_with_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'moral'"):
        load_template("morals")


def test_a_missing_or_binary_file_is_one_line(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_template(str(tmp_path / "none.yaml"))
    path = tmp_path / "bytes.yaml"
    path.write_bytes(b"name: mine\nabout: \xff\xfe\n")
    with pytest.raises(InputError, match="line 2 is not valid UTF-8"):
        load_template(str(path))
