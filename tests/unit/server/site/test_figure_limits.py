"""Figures that are asked for over HTTP are bounded: how large, and how many at a time."""

import threading
from concurrent.futures import ThreadPoolExecutor

from moralscope.server.site import routes

from ..site_pages import whole_site


def record(count, job="score"):
    rows = [{"action": f"kill time {n}", "score": 0.1} for n in range(count)]
    return {"schema": "moralscope.run/1", "job": job, "config": {}, "results": rows}


def test_a_figure_of_too_many_results_is_refused_in_words(tmp_path):
    with whole_site(tmp_path) as client:
        for given in (record(2001), record(21, "reproduce")):
            answer = client.post("/api/site/figure", json=given)
            assert answer.status_code == 422
            assert "too large for the page" in answer.json()["detail"]
            assert "--figure" in answer.json()["remedy"]
        assert client.post("/api/site/figure", json=record(2)).status_code == 200


def test_only_a_few_figures_are_drawn_at_a_time(tmp_path, monkeypatch):
    go, began = threading.Event(), threading.Semaphore(0)

    def draw(_):
        began.release()
        go.wait(10)
        return b"<svg/>"

    monkeypatch.setattr(routes, "figure_svg", draw)
    with whole_site(tmp_path) as client, ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(client.post, "/api/site/figure", json=record(1)) for _ in range(2)]
        for _ in asked:
            assert began.acquire(timeout=10)
        refused = client.post("/api/site/figure", json=record(1))
        health = client.get("/v1/health")
        go.set()
        assert [each.result().status_code for each in asked] == [200, 200]
        assert (refused.status_code, health.status_code) == (429, 200)
        assert refused.headers["retry-after"]
        assert client.post("/api/site/figure", json=record(1)).status_code == 200
