"""`moralscope stories chain` and `generate` as a person types them."""

import json

import pytest

SCRIPTED = ("--generator", "scripted", "--experts", "scripted")
FIVE = (
    "action-ranking",
    "action-abduction",
    "consequence-ranking",
    "consequence-refinement",
    "norm-synthesis",
)


def story(name, **changes):
    return {
        "ID": name,
        "norm": "You should return what you borrow.",
        "situation": "Mia has a ladder of her neighbour's.",
        "intention": "Mia wants to paint her wall.",
        "moral_action": "Mia paints and brings it back.",
        "moral_consequence": "Her neighbour lends her a brush.",
        "immoral_action": "Mia keeps the ladder.",
        "immoral_consequence": "Her neighbour buys another one.",
        **changes,
    }


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "stories.jsonl"
    rows = [story("a"), story("b"), story("c", situation=None)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def one_line(run):
    def call(*words):
        code, out, err = run(*words)
        assert (code, out) == (2, ""), err
        assert len(err.strip().splitlines()) == 1
        assert err.startswith("error: ")
        return err

    return call


def test_stories_need_only_the_sentences_that_the_recipe_reads(run, tmp_path):
    path = tmp_path / "short.jsonl"
    short = {key: story("a")[key] for key in ("ID", "norm", "situation", "intention")}
    path.write_text(json.dumps(short) + "\n")
    code, out, err = run(
        "stories", "chain", "action-ranking", "--stories", path, "--json", *SCRIPTED
    )
    assert code == 0, err
    assert [row["target"] for row in json.loads(out)["results"]] == ["moral", "immoral"]


@pytest.mark.parametrize("recipe", FIVE)
def test_the_contract(run, file, recipe):
    code, out, _ = run("stories", "chain", recipe, "--stories", file, "--json", *SCRIPTED)
    plain = json.loads(out)
    assert code == 0
    assert plain["job"] == "chain"
    targets = [None] if recipe.startswith("norm") else ["moral", "immoral"]
    wanted = [(name, target) for name in "ab" for target in targets]
    assert [(row["id"], row["target"]) for row in plain["results"]] == wanted
    for row in plain["results"]:
        assert row["choice"] in [None, *(item["text"] for item in row["candidates"])]
        assert all({"text", "score"} == set(item) for item in row["candidates"])
    assert any("'c'" in line and "lacks situation" in line for line in plain["warnings"])


def test_the_same_seed_gives_the_same_document(run, file):
    words = ("stories", "chain", "action-ranking", "--stories", file, "--json", *SCRIPTED)
    first, second, third = (json.loads(run(*words, "--seed", seed)[1]) for seed in (3, 3, 4))
    assert first["results"] == second["results"]
    assert first["results"] != third["results"]


def test_the_table_the_record_and_the_report(run, file, tmp_path):
    out, report = tmp_path / "run.json", tmp_path / "run.html"
    words = ("stories", "chain", "action-ranking", "--stories", file, *SCRIPTED)
    code, shown, _ = run(*words, "--out", out, "--report", report, "--count", "4")
    assert code == 0
    for text in ("action-ranking: 4 results", "moral", "skipped"):
        assert text in shown
    assert len(json.loads(out.read_text())["results"][0]["candidates"]) == 4
    assert "Mia wants to paint her wall." in report.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "run.html",
        "run.json",
        "stories.jsonl",
    ]


def test_runs_beside_each_other_share_a_report(run, file, tmp_path):
    base, report = tmp_path / "base.json", tmp_path / "both.html"
    words = ("--stories", file, *SCRIPTED)
    run("stories", "chain", "action-sample", *words, "--out", base)
    code, _, _ = run(
        "stories", "chain", "action-ranking", *words, "--beside", base, "--report", report
    )
    assert code == 0
    assert "Moral action (action-sample)" in report.read_text()


def test_one_storys_path_is_a_tree(run, file, tmp_path):
    words = ("stories", "chain", "action-abduction", "--stories", file, *SCRIPTED, "--show", "b")
    code, out, _ = run(*words)
    assert code == 0
    for text in ("b moral", "b immoral", "propose actions", "rank best refined action", "●"):
        assert text in out
    assert "a moral" not in out
    # Once for each of three rankings and for each of two conditions, for both targets.
    assert out.count("●") == 10
    saved = tmp_path / "run.json"
    first = run(*words, "--out", saved)
    assert len(json.loads(saved.read_text())["results"]) == 4
    again = run(*words, "--out", saved)
    assert again[1] == first[1]


def test_hostile_texts_are_printed_as_they_stand(run, tmp_path):
    path = tmp_path / "stories.jsonl"
    name = "x\x1b[31m[bold]"
    path.write_text(json.dumps(story(name, norm="[red]Never[/red] \x1b]0;gone\x07.")) + "\n")
    words = ("stories", "chain", "action-ranking", "--stories", path, *SCRIPTED)
    for more in ((), ("--show", name)):
        code, out, _ = run(*words, *more)
        assert code == 0
        assert "\x1b[31m" not in out
        assert "\x1b]0" not in out
        assert "[bold]" in out
    assert "[red]Never[/red]" in out


def test_explain_needs_no_stories_and_no_models(run):
    code, out, _ = run("stories", "chain", "norm-synthesis", "--explain", "--generator", "nobody")
    assert code == 0
    assert "├─ 7 propose    norms" in out
    assert "reads the story's situation, intention" in out


def test_a_recipe_of_ones_own(run, file, tmp_path):
    path = tmp_path / "twice.toml"
    path.write_text(
        """steps = [
          { name = "actions", do = "propose", task = "action|context", count = 3 },
          { name = "moral ones", do = "rank", expert = "action", label = "moral" },
          { name = "best", do = "rank", expert = "action+norm" },
        ]"""
    )
    code, out, _ = run("stories", "chain", path, "--stories", file, "--json", *SCRIPTED)
    assert code == 0
    (first, *_) = json.loads(out)["results"]
    assert [step["step"] for step in first["path"]] == ["actions", "moral ones", "best"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("action-rankin",), "did you mean 'action-ranking'"),
        (("action-ranking", "--target", "good"), "there is no target 'good'"),
        (("action-ranking", "--p", "0"), "p is 0.0"),
        (("action-ranking", "--temperature", "0"), "temperature is 0.0"),
        (("action-ranking", "--count", "0"), "count is 0; give 1 to 1,000"),
        (("action-ranking", "--show", "z"), "there is no story 'z'; the first one is 'a'"),
        (("action-ranking", "--experts", "mpnt"), "there are no experts 'mpnt'"),
        (("action-ranking", "--part", "test"), "membership"),
        (("action-ranking", "--beside", "nothing.json"), "nothing.json cannot be read"),
    ],
)
def test_wrong_usage_is_one_line(one_line, file, words, said):
    assert said in one_line("stories", "chain", "--stories", file, *SCRIPTED, *words)


def test_a_recipe_with_a_cycle_is_one_line_with_file_and_step(one_line, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('steps = [{name = "a", do = "rank", expert = "action", from = "a"}]')
    assert "mine.toml, step 'a' takes texts from 'a'" in one_line("stories", "chain", path)


def test_a_file_without_stories_is_one_line(one_line, tmp_path):
    path = tmp_path / "none.jsonl"
    path.write_text(json.dumps(story("a", norm=None, situation=None)) + "\n")
    line = one_line("stories", "chain", "action-sample", "--stories", path, *SCRIPTED)
    assert "no story has what action-sample reads" in line


@pytest.mark.parametrize("decode", ["greedy", "beam", "nucleus"])
def test_generate_writes_without_experts(run, file, decode):
    words = ("stories", "generate", "norm|actions", "--stories", file, "-g", "scripted", "--json")
    code, out, _ = run(*words, "--decode", decode, "--count", "1" if decode == "greedy" else "3")
    plain = json.loads(out)
    assert code == 0
    assert plain["job"] == "generate"
    assert [row["id"] for row in plain["results"]] == ["a", "b", "c"]
    for row in plain["results"]:
        assert row["choice"] == row["candidates"][0]["text"]


def test_what_cannot_be_generated_is_one_line(one_line, file):
    draft = "consequence|context+action+draft+label"
    words = ("stories", "generate", "--stories", file, "-g", "scripted")
    assert "rewrites drafts" in one_line(*words, draft)
    assert "did you mean 'norm|actions'" in one_line(*words, "norm|action")
    assert "strategy is 'best'" in one_line(*words, "norm|actions", "--decode", "best")
