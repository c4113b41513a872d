"""Plain run records as JSON holds them, one of each kind that a report knows."""

import random

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "<a href='javascript:alert(1)'>click</a>",
    "<b>bold</b> &lt;i&gt; &amp; ${alert(1)} %{x}",
    "'\"><svg onload=alert(1)>",
)
PROMPTS = tuple(f"Is it fine, way {number}, to {{}}?" for number in range(10))


def record(job, results, *, config=None, statistics=None, **more):
    return {
        "schema": "moralscope.run/1",
        "job": job,
        "version": "0.1.0",
        "created": "2026-01-02T03:04:05+00:00",
        "seed": 0,
        "config": config or {},
        "models": [{"name": "minilm", "sha256": "53aa" * 16}],
        "results": results,
        "statistics": statistics or {},
        "warnings": ["scores describe a model, they are not moral advice"],
        **more,
    }


def action_row(action, score, rng=None):
    rng = rng or random.Random(0)
    prompts = [score + rng.gauss(0, 0.02) for _ in PROMPTS]
    return {
        "action": action,
        "score": score,
        "low": score - 0.015,
        "high": score + 0.015,
        "prompts": prompts,
        "sum": sum(prompts),
    }


def score_record(actions=("help", "wait", "harm"), *, axis="choice", human=False):
    """Scores falling from +0.1 to -0.1; `direction` brings a map and its variances."""
    rng = random.Random(1)
    step = 0.2 / max(1, len(actions) - 1)
    results = [action_row(name, 0.1 - step * place, rng) for place, name in enumerate(actions)]
    statistics = {}
    if axis == "direction":
        statistics["direction"] = {
            "fit": "pca",
            "method": "pca",
            "fitted_on": 62,
            "raw_scale": 0.1,
            "anchors": {"good": ["help"], "bad": ["harm"]},
            "separation": 0.9,
            "validation": {},
            "prominence": {"share": 0.31, "broken_stick": 0.1, "ratio": 2.6, "stands_out": True},
            "explained_variance": [0.31, 0.12, 0.08],
            "explained_variance_differences": [0.25, 0.2, 0.1],
            "stands_out": True,
            "stability": {
                "leave_one_out_degrees_max": 2.0,
                "leave_one_out_action": "smile",
                "bootstrap_degrees_median": 4.2,
                "bootstrap_degrees_p95": 9.0,
            },
        }
        statistics["map"] = {
            "points": [[row["score"], rng.gauss(0, 0.05)] for row in results],
            "fitting": [{"action": "smile", "x": 0.05, "y": 0.01}],
            "x_label": "moral direction",
            "y_label": "second component",
        }
    if human:
        statistics["human"] = human_statistics(results)
    config = {"axis": axis, "encoder": "minilm", "template": "moral", "prompts": list(PROMPTS)}
    return record("score", results, config=config, statistics=statistics)


def human_statistics(results):
    found = {"r": 0.7, "p": 1e-6, "low": 0.5, "high": 0.8, "n": 56, "stars": "***", "within": {}}
    return {
        "populations": {"amt": {"n": 3, "raters": 9, "pearson": found, "spearman": found}},
        "noise_ceiling": {
            "sampling": {"amt": {"expected": 0.97, "low": 0.9, "high": 0.99}},
            "between": [{"pair": ["amt", "regional"], "pearson": found, "spearman": found}],
        },
        "rows": [
            {
                "action": row["action"],
                "score": row["score"],
                "rate": 0.5 + row["score"],
                "rates": {"amt": 0.5 + row["score"], "regional": 0.5},
                "residual": row["score"] * 10,
                "residuals": {"amt": row["score"] * 10, "regional": 0.0},
            }
            for row in results
        ],
        "unscored": ["fly"],
        "unrated": [],
    }


def words_record():
    rows = [
        {"word": f"{side}{n}", "group": side, "association": sign * 0.1 + n / 100,
         "bias": sign * 0.02 + n / 300, "low": -1.0, "high": 1.0}
        for side, sign in (("dos", 1), ("don'ts", -1))
        for n in range(8)
    ]  # fmt: skip
    ends = {"low": -1.0, "high": 1.0}
    rows.append({"word": "unknown", "group": "dos", "association": None, "bias": 0.0, **ends})
    inner = {"r": 0.1, "p": 0.5, "low": -0.3, "high": 0.4, "n": 8, "stars": ""}
    found = {**inner, "r": 0.78, "stars": "***", "n": 16, "within": {"dos": inner, "don'ts": inner}}
    config = {"encoder": "use-lite", "vectors": "googlenews-26k", "sets": "papers"}
    test = {"kind": "student", "t": 3.0, "p": 0.01, "df": 14.0, "stars": "**"}
    side = {"n": 8, "mean": 0.1, "sd": 0.05}
    statistics = {"correlation": found, "bias": {"dos": side, "don'ts": side}, "t": test}
    statistics["missing"] = ["unknown"]
    return record("words correlate", rows, config=config, statistics=statistics)


def compare_record(actions=("help", "wait", "harm")):
    models = ["minilm", "mpnet"]
    rows = []
    for place, action in enumerate(actions):
        scores = {"minilm": 1.0 - place / 10, "mpnet": place / 5}
        gap = scores["mpnet"] - scores["minilm"]
        difference = {"pair": models, "difference": gap, "low": gap - 0.2, "high": gap + 0.2}
        rows.append({"action": action, "scores": scores, "spread": abs(gap),
                     "differences": [{**difference, "p": 0.01, "p_holm": 0.03}]})  # fmt: skip
    found = {"r": 0.57, "p": 0.01, "low": 0.3, "high": 0.7, "n": len(rows), "stars": "**"}
    pair = {
        "pair": models, "pearson": found, "spearman": found, "kendall": found,
        "mean_difference": 0.01, "mean_shift": 0.3, "max_shift": 0.9,
        "minimum_detectable_effect": 0.8, "minimum_detectable_effect_corrected": 1.1,
        "significant": 2,
    }  # fmt: skip
    gate = {"expression": "r>=0.7", "met": False, "values": {"r": 0.57}, "checks": []}
    config = {"encoders": models, "axis": "choice", "scale": "z-scores"}
    statistics = {"pairs": [pair], "gate": gate}
    return record("compare", rows, config=config, statistics=statistics)


def unknown_record():
    rows = [
        {"text": f"nurse {n}", "group": "jobs", "before": n / 10, "after": n / 100}
        for n in range(5)
    ]
    statistics = {
        "summary": {"n": 5, "mean": 0.5, "sd": 0.1},
        "nested": {"tables": [{"a": 1, "b": None}], "deep": {"x": {"y": [1, 2]}}},
    }
    return record("something new", rows, config={"keep": ["moral"]}, statistics=statistics)
