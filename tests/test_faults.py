"""The fault kit: every operator that lies, dies or hangs ends in its own outcome and reason; known costs are measured right."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow.parquet as pq
import pytest

HEAD = """
name: kit
payloads: [1 KiB]
axes: {{alg: {{kind: {kind}, name: [{name}]}}}}
{shared}prove: {prove}
meters: {meters}
run: {{warmup: {warmup}, iterations: {iterations}, rounds: {rounds}, timeout: {timeout}}}
pipeline:
"""
SIGN = """
  - {id: liar, use: faults.another, with: {algorithm: $alg}}
  - {id: key, use: jws.generate, with: {algorithm: $liar}}
  - {id: token, use: jws.sign, with: {key: $key, payload: $payload}, measure: SIGN}
"""
HQC = """
  - {id: liar, use: faults.mislabelled, with: {algorithm: $alg}}
  - {id: key, use: jwe.generate, with: {algorithm: $liar, content: $content}}
  - {id: token, use: jwe.encrypt, with: {key: $key, payload: $payload, content: $content}, measure: ENC}
"""
CORRUPT = """
  - {id: bad, use: faults.corrupt, with: {data: $payload}, measure: X}
  - {use: check.equal, with: {left: $bad, right: $payload}}
"""
RARE = """
  - {id: bad, use: faults.rarely_wrong, with: {data: $payload, variant: $variant, every: 1000}}
  - {id: work, use: faults.busy, with: {data: $payload, ns: 100000}, measure: X}
  - {use: check.equal, with: {left: $bad, right: $payload}}
"""


def alone(operator: str, inputs: str = "") -> str:
    """Return a pipeline of one measured fault."""
    return f"  - {{id: x, use: faults.{operator}{inputs and ', with: {' + inputs + '}'}, measure: X}}\n"


MAC = ("mac", "HMAC-SHA256")
LIES = {
    "another algorithm": ("signature", "Ed25519", SIGN, "failed", "identity: "),
    "HQC-128 as HQC-192": ("kem", "HQC-192", HQC, "failed", "identity: "),
    "one bit": (*MAC, CORRUPT, "failed", "check: "),
    "one wrong in a thousand": (*MAC, RARE, "failed", "check: verify_failures = 1 of 1000"),
    "crash": (*MAC, alone("crash", "data: $payload"), "failed", "SIGSEGV"),
    "vanish": (*MAC, alone("vanish"), "failed", "exited with status 7"),
    "hang": (*MAC, alone("hang"), "timeout", "no result within 3 s"),
    "error": (*MAC, alone("raise_error"), "failed", "Error: "),
    "leak": (*MAC, alone("leak", "data: $payload, mib: 1"), "ok", ""),
    "sleep": (*MAC, alone("sleep", "data: $payload"), "ok", ""),
}


@pytest.fixture
def measure(workspace, cli):
    """Run one pipeline over one algorithm; return the CSV row, the summary and the run's folder."""

    def call(kind: str, name: str, pipeline: str, **over: object):
        content = "shared: {content: {kind: aead, name: AES-256-GCM}}\n" if kind == "kem" else ""
        values = {
            "meters": "[wall, cpu]",
            "warmup": 1,
            "iterations": 4,
            "rounds": 2,
            "prove": "null",
            "timeout": "3 s" if pipeline.count("hang") else "60 s",
            **over,
        }
        spec = workspace.spec(HEAD.format(kind=kind, name=name, shared=content, **values) + pipeline)
        told = cli("run", spec, "--out", workspace.root / "out")
        folder = max(p for p in (workspace.root / "out").glob("*/*") if p.is_dir())
        (path,) = folder.glob("*.csv")
        with path.open(newline="", encoding="utf-8") as file:
            (row,) = csv.DictReader(file)
        summary = {(r["step"], r["meter"]): r for r in pq.read_table(folder / "summary.parquet").to_pylist()}
        assert "Traceback" not in told.err
        return row, summary, folder

    return call


@pytest.mark.parametrize("fault", LIES)
def test_every_lie_ends_in_its_own_outcome(fault: str, measure) -> None:
    """Wrong algorithm, wrong result, crash, silent end and hang are told apart, each with its reason."""
    kind, name, pipeline, outcome, reason = LIES[fault]
    rare = {"iterations": 1000, "rounds": 1, "warmup": 0} if fault == "one wrong in a thousand" else {}
    row, _, _ = measure(kind, name, pipeline, **rare)
    assert (row["OUTCOME"], reason in row["REASON"]) == (outcome, True), row


AMONG = """
from anka_flow import operator
from anka_flow.discovery import Operators, bundled

KIT = Operators([bundled("operators")])

@operator
def second(data: bytes, fault: str) -> bytes:
    if len(data) != 2:
        return data
    inputs = {"vanish": (), "hang": (), "raise_error": ()}.get(fault, (data,))
    return KIT.get(f"faults.{fault}")(*inputs)
"""


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("fault", ["corrupt", "crash", "vanish", "hang", "raise_error", "leak", "sleep"])
def test_the_rest_of_the_run_is_unharmed(fault: str, lanes: int, workspace, cli) -> None:
    """One case of seven is at fault: the others end ok, with all their readings, and with their own time and memory."""
    workspace.operators(AMONG, "among")
    head = HEAD.format(kind="mac", name="HMAC-SHA256", shared="", prove="null", meters="[wall, cpu, memory]", warmup=0,
                       iterations=4, rounds=2, timeout="2 s")  # fmt: skip
    text = f"""
  - {{id: x, use: among.second, with: {{data: $payload, fault: {fault}}}, measure: X}}
  - {{use: check.equal, with: {{left: $x, right: $payload}}}}
"""
    spec = workspace.spec(
        head.replace("[1 KiB]", "[1, 2, 3, 4, 5, 6, 7]").replace("rounds:", f"lanes: {lanes}, rounds:") + text
    )
    cli("run", spec, "--out", workspace.root / "out")
    folder = max(p for p in (workspace.root / "out").glob("*/*") if p.is_dir())
    rows = pq.read_table(folder / "summary.parquet").to_pylist()
    others = [row for row in rows if row["payload_bytes"] != 2]
    assert {row["outcome"] for row in others} == {"ok"}
    assert {row["payload_bytes"] for row in others} == {1, 3, 4, 5, 6, 7}
    readings = pq.read_table(folder / "measurements.parquet").to_pylist()
    for size in (1, 3, 4, 5, 6, 7):
        mine = [r for r in readings if r["payload_bytes"] == size and not r["tainted"]]
        assert sum(r["meter"] == "wall" for r in mine) == 4
        assert all(r["reading"] < 500_000 for r in mine if r["meter"] == "memory")


@pytest.mark.parametrize(("ns", "within"), [(5_000, 0.03), (200_000, 0.01), (20_000_000, 0.01), (5_000_000_000, 0.01)])
def test_a_known_cost_is_measured(ns: int, within: float, measure) -> None:
    """The least reading of a busy wait is its duration; what the machine adds only ever lengthens it."""
    step = f"  - {{id: x, use: faults.busy, with: {{data: $payload, ns: {ns}}}, measure: X}}\n"
    budget = {"iterations": 20} if ns < 10**9 else {"iterations": 1, "warmup": 0, "rounds": 1}
    _, summary, _ = measure("mac", "HMAC-SHA256", step, **budget)
    assert summary["X", "wall"]["min"] == pytest.approx(ns, rel=within)


def test_an_operation_that_does_nothing_is_below_resolution(measure) -> None:
    """No figure at all, and the flag that says why: never 0, never negative."""
    row, summary, folder = measure("mac", "HMAC-SHA256", "  - {id: x, use: faults.empty, with: {data: $payload}, measure: X}\n",
                                   iterations=20)  # fmt: skip
    assert "X.wall: below_resolution" in row["FLAGS"]
    assert summary["X", "wall"]["median"] is None
    assert all(r["value"] is None or r["value"] > 0 for r in pq.read_table(folder / "measurements.parquet").to_pylist())


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the kernel has no resettable high-water mark")
@pytest.mark.parametrize(("operator", "mib"), [("allocate", 286), ("allocate_native", 100)])
def test_a_transient_is_the_peak(operator: str, mib: int, measure) -> None:
    """Memory that is gone after the call is reported, Python's and a library's alike, within 5 %."""
    step = f"  - {{id: x, use: faults.{operator}, with: {{data: $payload, mib: {mib}}}, measure: X}}\n"
    held = bytearray(400 << 20)  # what the parent holds must not show
    held[:: 1 << 12] = b"\x01" * len(held[:: 1 << 12])
    _, summary, _ = measure("mac", "HMAC-SHA256", step, meters="[wall, memory]", rounds=1)
    assert summary["X", "memory"]["median"] == pytest.approx(mib << 20, rel=0.05)
    assert len(held) == 400 << 20


def test_a_sleep_costs_no_cpu_time(measure) -> None:
    """Wall and CPU time are two things."""
    _, summary, _ = measure("mac", "HMAC-SHA256", "  - {id: x, use: faults.sleep, with: {data: $payload}, measure: X}\n")
    assert summary["X", "cpu"]["median"] < summary["X", "wall"]["median"] / 4


def test_a_coarse_cpu_clock_gives_no_false_figure(measure, workspace) -> None:
    """Under a tick of 15.625 ms a 5 ms operation has no CPU figure, and the row says why."""
    workspace.operators(
        '''
        """A thread clock that ticks every 15.625 ms."""
        from time import thread_time_ns
        from anka_flow import Meter

        class Coarse(Meter):
            steps = 100

            def start(self) -> int:
                return thread_time_ns() // 15_625_000 * 15_625_000

            def stop(self, started: int) -> int:
                return self.start() - started

        METER = Coarse()
        ''',
        "coarse",
    )
    step = "  - {id: x, use: faults.busy, with: {data: $payload, ns: 5000000}, measure: X}\n"
    row, summary, _ = measure("mac", "HMAC-SHA256", step, meters="[wall, coarse]")
    assert summary["X", "coarse"]["median"] is None
    assert "X.coarse: clock steps too coarse" in row["FLAGS"]
    assert summary["X", "wall"]["median"] >= 5_000_000
