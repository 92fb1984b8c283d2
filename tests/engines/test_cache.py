import json
import logging
import multiprocessing
import sqlite3
import threading
import time
from contextlib import closing

import pytest
from click.testing import CliRunner

from tests.engines.test_replay import Counter
from verikit.cli.cache import cache as command
from verikit.engines import Cache, CachedEngine, Engine, Generation, Output, Request, load_engine
from verikit.engines.errors import ServerFailed
from verikit.errors import ConfigError


def cached(path, engine=None, **options):
    return CachedEngine(engine or Counter(), Cache(path / "c.sqlite", **options))


class Fails(Engine):
    """Fails on every other call."""

    name = "fails"
    calls = 0

    def generate(self, requests):
        results = []
        for _ in requests:
            self.calls += 1
            ok = self.calls % 2 == 0
            results.append(Generation((Output("ok"),)) if ok else Generation(error=ServerFailed("down")))
        return results


def texts(generations):
    return [generation.text for generation in generations]


def test_a_hit_is_the_same_generation_marked_in_usage_and_costs_no_call(tmp_path):
    engine = cached(tmp_path)
    requests = [Request("a", n=2, seed=1, temperature=1), Request("b")]
    first, second = engine.generate(requests), engine.generate(requests)
    assert [generation.outputs for generation in second] == [generation.outputs for generation in first]
    assert [generation.cached for generation in first + second] == [False, False, True, True]
    assert second[0].usage == {"cached": 1.0}
    assert cached(tmp_path).generate(requests) == second  # another engine of the same identity


def test_another_engine_or_another_request_is_no_hit(tmp_path):
    class Other(Counter):
        identity = "other"

    cached(tmp_path).generate([Request("a")])
    assert not cached(tmp_path, Other()).generate([Request("a")])[0].cached
    assert not cached(tmp_path).generate([Request("a", max_tokens=3)])[0].cached
    assert cached(tmp_path).generate([Request("a", meta={"row": 3})])[0].cached


def test_errors_are_never_cached(tmp_path):
    engine = cached(tmp_path, Fails())
    assert [engine.generate([Request("a")])[0].error is None for _ in range(3)] == [False, True, True]
    assert engine._engine.calls == 2


def test_equal_deterministic_requests_are_asked_once_and_equal_unseeded_ones_stay_different_samples(tmp_path):
    engine = cached(tmp_path)
    assert texts(engine.generate([Request("a"), Request("b"), Request("a")])) == ["1", "2", "1"]
    sampled = [Request("a", temperature=1)] * 3
    first = [generation.text for generation in engine.generate(sampled)]
    assert first == ["3", "4", "5"]
    again = engine.generate([*sampled, Request("a", temperature=1)])
    assert [generation.text for generation in again] == [*first, "6"]
    assert [generation.cached for generation in again] == [True, True, True, False]


def test_what_came_before_a_crash_is_kept(tmp_path):
    class Dies(Engine):
        name = "counter"

        def generate(self, requests):
            raise NotImplementedError

        def stream(self, requests):
            yield 1, Generation((Output("paid for"),))
            raise KeyboardInterrupt

    requests = [Request("a"), Request("b")]
    with pytest.raises(KeyboardInterrupt):
        cached(tmp_path, Dies()).generate(requests)
    assert [generation.text for generation in cached(tmp_path).generate(requests)] == ["1", "paid for"]


def test_the_file_stays_within_its_cap_and_the_least_recently_used_leave(tmp_path, monkeypatch):
    class Long(Counter):
        def generate(self, requests):
            return [Generation((Output("".join(map(chr, range(40, 8000))) + str(r.prompt)),)) for r in requests]

    engine = cached(tmp_path, Long(), max_bytes=300_000)
    engine.generate([Request("kept")])
    now = time.time()
    for hour in range(30):
        monkeypatch.setattr(time, "time", lambda hour=hour: now + hour * 7200)
        assert engine.generate([Request("kept")])[0].cached
        engine.generate([Request(f"{hour} {i}") for i in range(3)])
    with closing(engine._cache.connect()) as connection:
        assert 100_000 < engine._cache.size(connection) <= 300_000
    assert (tmp_path / "c.sqlite").stat().st_size <= 400_000
    assert engine.generate([Request("29 0")])[0].cached
    assert not engine.generate([Request("0 0")])[0].cached


def test_a_row_that_cannot_be_read_is_a_miss(tmp_path):
    engine = cached(tmp_path)
    engine.generate([Request("a")])
    for value in (b"junk", b"x\x9c\xabV\x02\x00\x00\xa3\x00\xa3"):
        with closing(sqlite3.connect(tmp_path / "c.sqlite")) as connection:
            connection.execute("UPDATE generations SET value = ?", (value,))
            connection.commit()
        result = engine.generate([Request("a")])[0]
        assert (result.cached, result.error) == (False, None)
        assert engine.generate([Request("a")])[0].cached


def test_a_file_that_is_no_cache_is_refused_and_left_as_it_is(tmp_path):
    text, other = tmp_path / "t.sqlite", tmp_path / "o.sqlite"
    text.write_text("my thesis " * 1000)
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE generations (mine TEXT)")
    for path in (text, other, tmp_path):
        before = path.read_bytes() if path.is_file() else b""
        with pytest.raises(ConfigError, match="can't open the cache"):
            CachedEngine(Counter(), Cache(path)).generate([Request("a")])
        assert not path.is_file() or path.read_bytes() == before


def test_a_disk_that_takes_no_writes_costs_the_cache_not_the_run(tmp_path, caplog):
    engine = cached(tmp_path)
    engine.generate([Request("a")])
    cache = engine._cache
    real = Cache.connect

    def full(self):
        connection = real(self)
        connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
        return connection

    Cache.connect = full
    try:
        with caplog.at_level(logging.WARNING):
            result = CachedEngine(_Big(), cache).generate([Request("b")])[0]
    finally:
        Cache.connect = real
    assert len(result.text) > 100_000
    assert "was not written" in caplog.text


class _Big(Counter):
    def generate(self, requests):
        return [Generation((Output("".join(str(i * i) for i in range(40_000))),)) for _ in requests]


def _work(path, worker):
    engine = CachedEngine(Counter(), Cache(path / "c.sqlite"))
    for start in range(0, 200, 20):
        results = engine.generate([Request(f"{i}") for i in range(start, start + 20)])
        assert all(result.error is None for result in results)
        engine.generate([Request(f"{worker} {start}")])


@pytest.mark.parametrize("kind", ["process", "thread"])
def test_many_processes_and_threads_share_one_file(tmp_path, kind):
    context = multiprocessing.get_context("spawn")
    make = context.Process if kind == "process" else threading.Thread
    workers = [make(target=_work, args=(tmp_path, worker)) for worker in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    if kind == "process":
        assert [worker.exitcode for worker in workers] == [0] * 4
    with closing(Cache(tmp_path / "c.sqlite").connect()) as connection:
        assert connection.execute("SELECT count(*) FROM generations").fetchone()[0] == 200 + 4 * 10
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_threads_that_make_one_file_at_the_same_time_all_get_it(tmp_path):
    failures = []

    def connect(path):
        try:
            Cache(path).connect().close()
        except ConfigError as error:
            failures.append(error)

    for number in range(40):
        threads = [threading.Thread(target=connect, args=(tmp_path / f"{number}.sqlite",)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_a_spec_loads_behind_a_cache(tmp_path):
    (tmp_path / "r.jsonl").write_text('{"request": {"prompt": "a"}, "generation": {"outputs": [{"text": "x"}]}}\n')
    engine = load_engine(f"replay:{tmp_path / 'r.jsonl'}", cache=Cache(tmp_path / "c.sqlite"))
    assert [engine.generate([Request("a")])[0].cached for _ in range(2)] == [False, True]


def test_the_command_shows_and_clears(tmp_path):
    run = CliRunner().invoke
    path = str(tmp_path / "c.sqlite")
    assert json.loads(run(command, ["--path", path, "--json"]).output)["entries"] == 0
    assert not (tmp_path / "c.sqlite").exists()
    cached(tmp_path).generate([Request("a"), Request("b")])
    cached(tmp_path, Fails()).generate([Request("a"), Request("b")])
    found = json.loads(run(command, ["--path", path, "--json"]).output)
    assert found["engines"] == {"counter": 2, "fails": 1}
    assert "3 generations" in run(command, ["--path", path]).output
    unused = run(command, ["--path", path, "clear", "--unused-days", "1"]).output
    assert unused.startswith("0 generations deleted\nnext: nothing to do")
    assert "1 generation deleted\n" in run(command, ["--path", path, "clear", "--engine", "fails"]).output
    assert "2 generations deleted\n" in run(command, ["--path", path, "clear"]).output
