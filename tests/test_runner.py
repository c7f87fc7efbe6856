"""Every planned case ends as exactly one row, whatever its operators do; what finished is never lost."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from .conftest import SPEC, Workspace

AXES = "{kind: mac, name: [HMAC-SHA256, HMAC-SHA512, CMAC-AES-128]}"


def newest(out: Path) -> Path:
    return max(p for p in out.glob("*/*") if p.is_dir())


def rows(out: Path) -> list[dict[str, str]]:
    (path,) = newest(out).glob("benchmark_*.csv")
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def run(workspace: Workspace, cli):
    """Run a spec text in the workspace; return exit code, CSV rows and what was said."""

    def call(text: str = SPEC, *words: str):
        out = workspace.root / "out"
        told = cli("run", workspace.spec(text), "--out", out, *words)
        return told.code, rows(out), told

    return call


def test_a_run_writes_one_row_per_case(run, workspace) -> None:
    """Table, CSV, two Parquet files and run.json, with every reading kept."""
    code, found, told = run()
    folder = newest(workspace.root / "out")
    assert code == 0
    names = ("HMAC-SHA256", "HMAC-SHA512", "CMAC-AES-128")
    wanted = [(name, size, "ok") for name in names for size in ("1024", "4096")]
    assert [(r["ALG"], r["BYTES"], r["OUTCOME"]) for r in found] == wanted
    assert {"summary.parquet", "measurements.parquet", "run.json", "journal.jsonl"} <= {p.name for p in folder.iterdir()}
    readings = pq.read_table(folder / "measurements.parquet").to_pylist()
    assert sum(not r["tainted"] for r in readings) == 6 * 2 * 4  # cases, meters, iterations; a disturbed round adds its own
    assert all(r["value"] > 0 and r["unit"] == "ns" and r["pace_ns"] > 0 for r in readings)
    assert "6 cases: 6 ok" in told.out


def test_keys_of_the_run_are_gone_when_it_is_over(run, workspace) -> None:
    """The key store lives as long as the run."""
    run()
    assert not (newest(workspace.root / "out") / "keys").exists()


@pytest.mark.parametrize(
    ("operator", "outcome", "reason"),
    [
        ("toy.die", "failed", "the worker process was killed by SIGSEGV"),
        ("toy.sleep", "timeout", "no result within 1 s"),
        ("toy.missing_attr", "failed", "AttributeError"),
    ],
)
def test_a_case_that_dies_costs_itself_only(operator: str, outcome: str, reason: str, workspace, cli) -> None:
    """A crash, a hang and an exception each end in their own outcome and reason; other specs' rows are unharmed."""
    workspace.operators(
        f"""
        from anka_flow import Mac, operator

        @operator
        def act(alg: Mac, data: bytes) -> bytes:
            if alg.algorithm.name == "HMAC-SHA512":
                if "{operator}" == "toy.die":
                    import ctypes
                    ctypes.string_at(0)
                if "{operator}" == "toy.sleep":
                    import time
                    time.sleep(60)
                return data.no_such_thing
            return data
        """,
        "act",
    )
    text = SPEC.replace("toy.digest, with: {data: $payload}", "act.act, with: {alg: $alg, data: $payload}")
    text = text.replace("data: $hash}", "data: $hash, length: 1024}").replace("[1 KiB, 4 KiB]", "[1 KiB]")
    text = text.replace("rounds: 2", "rounds: 2, timeout: 1 s")
    told = cli("run", workspace.spec(text), "--out", workspace.root / "out")
    found = {r["ALG"]: r for r in rows(workspace.root / "out")}
    assert told.code == 1
    assert found["HMAC-SHA512"]["OUTCOME"] == outcome
    assert reason in found["HMAC-SHA512"]["REASON"]
    assert {found[n]["OUTCOME"] for n in ("HMAC-SHA256", "CMAC-AES-128")} == {"ok"}


@pytest.fixture
def marked(workspace, cli):
    """Run the toy spec with a least time; return its rows, its folder, and (process, algorithm) of every visit in order.

    The ``dies``-th visit of one process to HMAC-SHA512 fails.
    """

    def call(dies: int, *words: str):
        log = workspace.root / "visits"
        workspace.operators(
            f"""
            import os
            from collections import Counter
            from anka_flow import Mac, operator
            seen = Counter()

            @operator
            def mark(alg: Mac) -> int:
                name = alg.algorithm.name
                seen[name] += 1
                with open({str(log)!r}, "a") as file:
                    print(os.getpid(), name, file=file)
                if name == "HMAC-SHA512" and seen[name] == {dies}:
                    raise RuntimeError("no more")
                return 1
            """,
            "visit",
        )
        text = SPEC.replace("rounds: 2", "rounds: 2, min_time: 40 ms").replace("[1 KiB, 4 KiB]", "[1 KiB]")
        text = text.replace("pipeline:\n", "pipeline:\n  - {id: rounds, use: visit.mark, with: {alg: $alg}}\n")
        text = text.replace("{data: $payload}", "{data: $payload, rounds: $rounds}")
        cli("run", workspace.spec(text), "--out", workspace.root / "out", *words)
        visits = [line.split() for line in log.read_text().splitlines()]
        return rows(workspace.root / "out"), newest(workspace.root / "out"), visits

    return call


def test_cheap_cases_are_read_in_visits_far_apart(marked) -> None:
    """A round visits a cheap case eight times, all the others in between, and notes it once, with the time asked for."""
    found, folder, visits = marked(dies=0)
    assert [row["OUTCOME"] for row in found] == ["ok"] * 3
    names = {"HMAC-SHA256", "HMAC-SHA512", "CMAC-AES-128"}
    for process in list(dict.fromkeys(process for process, _ in visits))[-2:]:
        order = [name for other, name in visits if other == process]
        assert [set(order[at : at + 3]) for at in range(0, 24, 3)] == [names] * 8
    events = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    timed = [event for event in events if event.get("pass") == "timing"]
    assert len(timed) >= 6  # more if a round was disturbed and repeated
    for event in timed:
        assert event["laps"] == 8
        assert sum(event["steps"]["HASH"]["readings"]["wall"]) >= 20_000_000


def test_visits_find_their_buffers_at_changing_places(workspace, cli) -> None:
    """A megabyte made in the loop lies elsewhere from visit to visit, in a process that would give all the same place."""
    log = workspace.root / "places"
    workspace.operators(
        f"""
        import ctypes, os
        from anka_flow import operator

        @operator
        def note(data: bytes) -> bytes:
            buffer = bytearray(1 << 20)
            with open({str(log)!r}, "a") as file:
                print(os.getpid(), ctypes.addressof(ctypes.c_char.from_buffer(buffer)), file=file)
            return data
        """,
        "place",
    )
    text = SPEC.replace("rounds: 2", "rounds: 2, min_time: 40 ms").replace("[1 KiB, 4 KiB]", "[1 KiB]")
    text = text.replace("pipeline:\n", "pipeline:\n  - {id: noted, use: place.note, with: {data: $payload}}\n")
    assert cli("run", workspace.spec(text), "--out", workspace.root / "out").code == 0
    places: dict[str, set[str]] = {}
    for line in log.read_text().splitlines():
        process, place = line.split()
        places.setdefault(process, set()).add(place)
    assert max(map(len, places.values())) >= 6


def test_what_fails_in_a_later_visit_is_visited_no_more(marked) -> None:
    """The case is failed, with the reason; the others go on."""
    found, _, visits = marked(dies=4)
    assert {row["ALG"]: row["OUTCOME"] for row in found} == {
        "HMAC-SHA256": "ok", "HMAC-SHA512": "failed", "CMAC-AES-128": "ok"
    }  # fmt: skip
    assert "no more" in next(row["REASON"] for row in found if row["ALG"] == "HMAC-SHA512")
    assert sum(name == "HMAC-SHA512" for _, name in visits) == 1 + 4  # proving, then a round's first four


def test_a_case_that_fails_in_two_lanes_is_noted_once(marked) -> None:
    """Two lanes on visits to one case: the failure of the first stands, whatever the second brings."""
    found, folder, _ = marked(4, "-k", "HMAC-SHA512", "--set", "run.lanes=2")
    assert [row["OUTCOME"] for row in found] == ["failed"]
    events = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    assert [event["outcome"] for event in events if event.get("pass") == "timing"] == ["failed"]


def test_one_wrong_result_in_a_thousand_fails_the_row(workspace, cli) -> None:
    """Every iteration is checked; the count of wrong ones is the reason."""
    workspace.operators(
        """
        import time
        from anka_flow import operator
        calls = 0

        @operator
        def lie(data: bytes) -> bytes:
            global calls
            calls += 1
            time.sleep(0.0002)  # long enough to need no inner loop
            return b"" if calls == 700 else bytes(32)
        """,
        "liar",
    )
    text = SPEC.replace("toy.digest", "liar.lie").replace("iterations: 4, rounds: 2", "iterations: 1000, rounds: 1")
    text = text.replace(AXES, "{kind: mac, name: HMAC-SHA256}").replace("[1 KiB, 4 KiB]", "[1 KiB]")
    text = text.replace("{id: hash,", "{id: hash, each: true,")
    told = cli("run", workspace.spec(text), "--out", workspace.root / "out")
    (row,) = rows(workspace.root / "out")
    assert told.code == 1
    assert row["REASON"].startswith("check: verify_failures = 1 of 1000")


def test_an_algorithm_that_nobody_offers_is_unsupported(workspace, cli) -> None:
    """The reason says so; the exit code is that of a run with nothing to run, and 1 under --strict."""
    (workspace.root / "specs" / "more.yaml").write_text("algorithms: [{name: MAC-0, kind: mac, kty: oct}]\n", encoding="utf-8")
    text = "catalogs: [more.yaml]" + SPEC.replace(AXES, "{kind: mac, name: MAC-0}")
    told = cli("run", workspace.spec(text), "--out", workspace.root / "out")
    assert told.code == 3
    assert {(r["OUTCOME"], r["REASON"]) for r in rows(workspace.root / "out")} == {("unsupported", "no provider offers MAC-0")}
    assert cli("run", workspace.root / "specs" / "toy.yaml", "--strict", "--out", workspace.root / "out").code == 1


def test_a_rule_may_fail_or_skip_cases_with_its_reason(run) -> None:
    """A limit in a spec gives rows, not gaps."""
    rule = "rules: [{name: limit, keep: payload_bytes < 2000, why: too large here, otherwise: fail}]\n"
    code, found, _ = run(SPEC + rule)
    assert code == 1
    assert {r["REASON"] for r in found if r["BYTES"] == "4096"} == {"rule limit: too large here"}
    assert sum(r["OUTCOME"] == "ok" for r in found) == 3


def test_k_selects_by_id_and_by_expression(workspace, cli) -> None:
    """A part of an id or an expression over axes; none that matches is exit code 3."""
    spec = workspace.spec()
    assert "4 cases" in cli("plan", spec, "-k", "hmac").out
    assert "1 cases" in cli("plan", spec, "-k", "alg.family == 'CMAC' and payload_bytes > 1024").out
    assert cli("plan", spec, "-k", "nothing-like-it").code == 3
    assert cli("plan", spec, "-k", "alg.family ==").code == 2


@pytest.mark.parametrize("reader", ["pandas", "polars", "duckdb"])
@pytest.mark.parametrize("fails", [False, True])
def test_files_open_with_their_types_in_data_tools(reader: str, fails: bool, run, workspace) -> None:
    """CSV and Parquet open in pandas, polars and DuckDB, also when every row failed."""
    run(SPEC.replace("data: $hash}", f"data: $hash, length: {31 if fails else 32}}}"))
    folder = newest(workspace.root / "out")
    (path,) = folder.glob("*.csv")
    summary, table = _open(reader, folder / "summary.parquet", path)
    assert {n: summary[n] for n in ("payload_bytes", "median", "case")} == {
        "payload_bytes": "int", "median": "float", "case": "text"
    }  # fmt: skip
    assert (table["BYTES"], table["ALG"]) == ("int", "text")
    assert table["HASH_MS"] == "float" or fails


def _open(reader: str, parquet: Path, path: Path) -> tuple[dict[str, str], dict[str, str]]:
    if reader == "pandas":
        import pandas as pd

        kinds = [{n: str(t) for n, t in f.dtypes.items()} for f in (pd.read_parquet(parquet), pd.read_csv(path))]
    elif reader == "polars":
        import polars as pl

        kinds = [{n: str(t) for n, t in f.schema.items()} for f in (pl.read_parquet(parquet), pl.read_csv(path))]
    else:
        import duckdb

        found = [duckdb.sql(f"describe select * from '{p}'").fetchall() for p in (parquet, path)]
        kinds = [{row[0]: row[1] for row in f} for f in found]
    words = {"int": ("int64", "Int64", "BIGINT"), "float": ("float64", "Float64", "DOUBLE")}
    first, second = ({n: next((w for w, k in words.items() if t in k), "text") for n, t in f.items()} for f in kinds)
    return first, second


def start(workspace: Workspace, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "anka_flow", "run", *words, "--out", str(workspace.root / "out")]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def test_a_killed_run_resumes_with_every_case_once(workspace, cli) -> None:
    """After kill -9 at random moments, again and again, the same ids are there, none twice, none missing."""
    spec = workspace.spec(SPEC.replace("[1 KiB, 4 KiB]", "[1, 2, 3, 4, 5, 6, 7, 8]").replace("4 KiB", "1 KiB"))
    process = start(workspace, str(spec))
    chance = random.Random(7)
    for _ in range(4):
        for _ in range(600):  # a slow machine starts late
            if list((workspace.root / "out").glob("*/*/journal.jsonl")):
                break
            time.sleep(0.1)
        time.sleep(chance.uniform(0.1, 0.9))
        process.send_signal(signal.SIGKILL)
        process.wait()
        folder = newest(workspace.root / "out")
        process = start(workspace, "--resume", str(folder))
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert cli("run", "--resume", folder).code == 0
    found = rows(workspace.root / "out")
    names = ("HMAC-SHA256", "HMAC-SHA512", "CMAC-AES-128")
    assert [(r["ALG"], r["BYTES"]) for r in found] == [(n, str(b)) for n in names for b in range(1, 9)]
    readings = pq.read_table(folder / "measurements.parquet").to_pylist()
    keys = [(r["case"], r["meter"], r["round"], r["iteration"]) for r in readings if not r["tainted"]]
    assert len(keys) == len(set(keys)) == 24 * 2 * 4


def test_a_finished_run_resumes_to_the_same_rows(run, workspace, cli) -> None:
    """Resuming what is complete measures nothing again."""
    _, before, _ = run()
    folder = newest(workspace.root / "out")
    size = (folder / "journal.jsonl").stat().st_size
    assert cli("run", "--resume", folder).code == 0
    assert rows(workspace.root / "out") == before
    assert (folder / "journal.jsonl").stat().st_size == size


def test_a_changed_spec_is_not_resumed(run, workspace, cli) -> None:
    """The journal of another plan is refused, and nothing is lost."""
    run()
    workspace.spec(SPEC.replace("1 KiB", "2 KiB"))
    told = cli("run", "--resume", newest(workspace.root / "out"))
    assert (told.code, "cannot be resumed" in told.err) == (3, True)


def test_ctrl_c_leaves_a_run_that_resumes(workspace, cli) -> None:
    """SIGINT ends with exit code 130; the rest of the run follows with --resume."""
    spec = workspace.spec(SPEC.replace("toy.digest, with: {data: $payload}", "toy.sleep, with: {data: $payload, seconds: 0.1}"))
    spec.write_text(spec.read_text(encoding="utf-8").replace("data: $hash}", "data: $payload, length: 1024}"), encoding="utf-8")
    process = start(workspace, str(spec), "--set", "payloads=[1 KiB]")
    while not list((workspace.root / "out").glob("*/*/journal.jsonl")):
        time.sleep(0.05)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    folder = newest(workspace.root / "out")
    assert cli("run", "--resume", folder).code == 0
    assert len(rows(workspace.root / "out")) == 3


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc/self/mountinfo").exists(), reason="root writes everywhere")
def test_an_output_folder_that_cannot_be_made_is_said_before_the_run(workspace, cli) -> None:
    """A file in the way, or a read-only place, ends with exit code 3 and says what to do."""
    (workspace.root / "out").write_text("in the way", encoding="utf-8")
    told = cli("run", workspace.spec(), "--out", workspace.root / "out")
    assert (told.code, "--out" in told.err) == (3, True)


def test_run_json_says_what_ran(run, workspace) -> None:
    """Spec as resolved, versions, seed, plan hash, clocks and outcomes are on record."""
    run()
    record = json.loads((newest(workspace.root / "out") / "run.json").read_text(encoding="utf-8"))
    assert record["spec"]["name"] == "toy"
    assert record["versions"]["openssl"].startswith("cryptography")
    assert set(record["clocks"]) == {"wall", "cpu"}
    assert record["seed"] == 0xC0FFEEBABEFACE


def test_a_library_that_vanishes_between_plan_and_run_costs_its_rows_only(workspace, cli, monkeypatch) -> None:
    """The rows of the vanished library end with the reason; those of other libraries are measured."""
    text = SPEC.replace(AXES, "{kind: mac, name: [HMAC-SHA256, KMAC128]}") + "prefer: [openssl, pycryptodome]\n"
    spec = workspace.spec(text)
    assert "4 to run" in cli("plan", spec).out
    shadow = workspace.root / "shadow" / "Crypto"
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").write_text("raise ImportError('the library is gone')\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(shadow.parent))  # the workers see it, this process has loaded the real one
    told = cli("run", spec, "--out", workspace.root / "out")
    found = rows(workspace.root / "out")
    assert told.code in (0, 1)
    assert {r["OUTCOME"] for r in found if r["ALG"] == "HMAC-SHA256"} == {"ok"}
    assert all(r["OUTCOME"] != "ok" and "the library is gone" in r["REASON"] for r in found if r["ALG"] == "KMAC128")
