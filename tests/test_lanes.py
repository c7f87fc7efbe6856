"""Workers side by side visit every case once, make no key twice, and die alone."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from anka_flow.environment import cores
from anka_flow.runner import Queue
from anka_flow.session import Options, plan_spec

from .conftest import SPEC

TWO = ("--set", "run.lanes=2", "--set", "run.rounds=1", "--set", "run.warmup=0")
WITNESS = """
    import os, signal, time
    from pathlib import Path
    from anka_flow import operator

    @operator
    def digest(data: bytes, where: str) -> bytes:
        time.sleep(0.03)
        with Path(where).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {time.monotonic_ns()}\\n")
        if len(data) == 3 and Path(where).name == "deadly":
            os.kill(os.getpid(), signal.SIGSEGV)
        return bytes(32)
"""


def spec_of(workspace, name: str) -> tuple[Path, Path]:
    """Return a spec of 24 cases whose operation leaves a line in a file, and that file."""
    workspace.operators(WITNESS, "witness")
    trace = workspace.root / name
    text = SPEC.replace("toy.digest, with: {data: $payload}", f"witness.digest, with: {{data: $payload, where: '{trace}'}}")
    assert "witness" in text
    return workspace.spec(text.replace("[1 KiB, 4 KiB]", "[1, 2, 3, 4, 5, 6, 7, 8]").replace("4 KiB", "1 KiB")), trace


def read(out: Path) -> tuple[list[dict[str, str]], list[dict[str, object]]]:
    """Return the newest run's CSV rows and its journal."""
    folder = max(out.glob("*/*"))
    (path,) = folder.glob("benchmark_*.csv")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return rows, [json.loads(line) for line in (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()]


def test_two_lanes_visit_every_case_once_and_the_rows_say_so(workspace, cli) -> None:
    """Each case has one visit a pass; two processes time; the flag warns whoever reads the row."""
    spec, trace = spec_of(workspace, "trace")
    assert cli("run", spec, "--out", workspace.root / "out", "--set", "meters=[wall, cpu]", *TWO).code == 0
    rows, events = read(workspace.root / "out")
    visits = [(e["pass"], e["round"], e["case"]) for e in events if e.get("round", -1) >= 0 and "case" in e]
    assert len(visits) == len(set(visits)) == 2 * 24
    assert all("timed 2 at a time" in row["FLAGS"] for row in rows)
    assert len({line.split()[0] for line in trace.read_text(encoding="utf-8").splitlines()}) >= 3  # 1 or 2 prove, 2 time


def test_a_worker_that_dies_in_a_lane_costs_its_case_only(workspace, cli) -> None:
    """The other lane goes on, and a fresh worker takes the place."""
    spec, _ = spec_of(workspace, "deadly")
    assert (
        cli(
            "run",
            spec,
            "--out",
            workspace.root / "out",
            "--set",
            "meters=[wall]",
            *TWO,
            "--set",
            "columns={ALG: alg, BYTES: payload_bytes}",
        ).code
        == 1
    )
    rows, _ = read(workspace.root / "out")
    assert len(rows) == 24
    assert {row["BYTES"] for row in rows if row["OUTCOME"] == "failed"} == {"3"}
    assert all("SIGSEGV" in row["REASON"] for row in rows if row["OUTCOME"] == "failed")


def test_runs_of_different_lanes_are_not_compared_unless_told(workspace, cli) -> None:
    """A figure that was read beside other work is not the same thing."""
    out = workspace.root / "out"
    for name, words in (("one", ()), ("two", TWO)):
        assert cli("run", workspace.spec(SPEC), "--out", out / name, "--set", "run.rounds=2", *words[:2]).code == 0
    a, b = (max((out / name).glob("*/*")) for name in ("one", "two"))
    told = cli("compare", a, b)
    assert (told.code, "run.lanes 1 and 2" in told.err) == (3, True)
    assert cli("compare", a, b, "--force").code == 0


@pytest.mark.parametrize("apart", [False, True])
def test_keys_that_are_made_are_made_in_one_lane(apart: bool, workspace) -> None:
    """Where keys are made, an algorithm's cases stay in one lane; stateful keys stay so in every pass. No case is lost."""
    text = SPEC.replace(
        "{kind: mac, name: [HMAC-SHA256, HMAC-SHA512, CMAC-AES-128]}", "{kind: signature, family: [EdDSA, XMSS, LMS]}"
    )
    plan = plan_spec(workspace.spec(text), Options(operators=(str(workspace.root / "operators"),)))
    queue, picked = Queue(plan.cases, apart=apart), {0: [], 1: []}
    while any(found := {lane: queue.pick(lane) for lane in picked}.values()):
        for lane, case in zip(picked, found, strict=True):
            picked[lane] += [case] if case else []
    assert sorted(case.id for cases in picked.values() for case in cases) == sorted(case.id for case in plan.cases)
    both = {case.axes["alg"].name for case in picked[0]} & {case.axes["alg"].name for case in picked[1]}
    assert both == ({"Ed25519", "Ed448"} if apart else set())


@pytest.mark.parametrize(
    ("physical", "affinity", "quota", "expected"),
    [(2, [0, 1], None, 2), (64, None, None, 4), (8, [3], None, 1), (4, None, 0.5, 1), (None, [0, 1, 2], None, 3)],
)
def test_cores_that_may_be_used(physical, affinity, quota, expected: int) -> None:
    """Threads of one core, a mask and a container's quota all bound it."""
    cpu = {"cores_physical": physical, "cores_logical": 128}
    assert cores({"cpu": cpu, "affinity": affinity, "cgroup": {"cpu_quota": quota}}) == expected
