"""Rates that refill, bodies that end."""

from moralscope.server.errors import RateLimit


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_bucket_refills_with_time_and_never_over_its_burst():
    clock = Clock()
    limit = RateLimit(per_second=2, burst=3, clock=clock)
    assert [limit.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
    clock.now = 0.5
    assert [limit.take("a") for _ in range(2)] == [0, 0.5]
    clock.now = 1000
    assert [bool(limit.take("a")) for _ in range(4)] == [False, False, False, True]


def test_strangers_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr("moralscope.server.errors._MAX_KEYS", 10)
    limit = RateLimit(per_second=1, burst=1, clock=Clock())
    for number in range(100):
        limit.take(str(number))
    assert len(limit._buckets) == 10
    assert limit.take("99") == 1
