"""The environment: what is told, what makes two machines one, what disturbs, and that nothing is changed."""

from __future__ import annotations

import copy
import itertools
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from anka_flow import environment
from anka_flow.environment import Finding, _Counters, taint_probe


@pytest.fixture(scope="module")
def here() -> dict[str, Any]:
    return environment.collect()


def test_it_is_plain_data(here: dict[str, Any]) -> None:
    """The record survives JSON unchanged, as run.json needs."""
    assert json.loads(json.dumps(here)) == here


def test_it_tells_what_the_system_tells(here: dict[str, Any]) -> None:
    """Cores, kernel and Python agree with what the standard library says."""
    assert here["cpu"]["cores_logical"] == os.cpu_count()
    assert here["os"]["kernel"] == platform.release()
    assert here["python"]["version"] == platform.python_version()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_linux_details_are_there(here: dict[str, Any]) -> None:
    """On Linux model, flags, affinity, memory, load and steal are told."""
    assert here["cpu"]["model"]
    assert len(here["cpu"]["flags"]) > 5
    assert here["affinity"] == sorted(os.sched_getaffinity(0))
    assert here["memory_bytes"] > 1 << 26
    assert len(here["load"]) == 3
    assert 0 <= here["steal_share"] <= 1


def test_clocks_are_measured(here: dict[str, Any]) -> None:
    """Each clock has a step and a cost that are positive and below a tenth of a second."""
    for name in ("perf_counter_ns", "thread_time_ns"):
        assert 0 < here["clocks"][name]["step_ns"] < 1e8
        assert 0 < here["clocks"][name]["cost_ns"] < 1e8


def test_a_coarse_clock_shows_its_step() -> None:
    """A clock that moves in ticks is told as that, whatever resolution it claims."""
    reads = itertools.count()
    tick = 64_000
    assert environment.measure_step(lambda: next(reads) * 1000 // tick * tick)["step_ns"] == tick


def test_files_that_are_missing_are_nulls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On a system without /proc and /sys the record has nulls, and nothing raises."""
    monkeypatch.setattr(environment, "_text", lambda _: None)
    monkeypatch.setattr(environment, "_number", lambda _: None)
    found = environment.collect(tmp_path)
    assert found["cpu"]["flags"] is None
    assert found["steal_share"] is None
    assert found["cgroup"] == {"cpu_quota": None, "memory_bytes": None}
    assert environment.doctor(found) is not None


def test_the_workspace_state_is_told(tmp_path: Path) -> None:
    """Commit and change of the workspace's repository are told; outside of one there is nothing to tell."""
    assert environment.collect(tmp_path)["git"] is None
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    (tmp_path / "a").write_text("1")
    for command in (["init", "-q"], ["add", "a"], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *command], check=True)
    clean = environment.collect(tmp_path)["git"]
    assert clean["changed"] is False
    assert len(clean["commit"]) == 40
    (tmp_path / "a").write_text("2")
    assert environment.collect(tmp_path)["git"] == clean | {"changed": True}


def test_quota_is_the_tightest_of_the_cgroups_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A limit of half a core on an outer cgroup holds for the inner one that sets none."""
    inner = tmp_path / "outer/inner"
    inner.mkdir(parents=True)
    (tmp_path / "outer/cpu.max").write_text("50000 100000")
    (inner / "cpu.max").write_text("max 100000")
    monkeypatch.setattr(environment, "_CGROUP", tmp_path)
    real = environment._text
    monkeypatch.setattr(environment, "_text", lambda p: "0::/outer/inner" if p == Path("/proc/self/cgroup") else real(p))
    assert environment._cpu_quota() == 0.5


def test_one_machine_has_one_fingerprint(here: dict[str, Any]) -> None:
    """Load, clocks and git state may change within a run; the fingerprint stays."""
    again = environment.collect()
    again["load"], again["git"], again["steal_share"] = [9.0, 9.0, 9.0], None, 0.5
    assert environment.fingerprint(again) == environment.fingerprint(here)
    assert environment.machine_differences(here, again) == environment.build_differences(here, again) == []


@pytest.mark.parametrize(
    ("path", "value", "kind", "text"),
    [
        (("cpu", "model"), "another", "machine", "processor: "),
        (("cpu", "flags"), ["avx9"], "machine", "avx9"),
        (("hypervisor",), "another", "machine", "hypervisor: "),
        (("os", "kernel"), "9.9", "build", "and 9.9"),
        (("python", "version"), "3.99", "build", "and 3.99"),
    ],
)
def test_another_machine_or_build_is_named(
    here: dict[str, Any], path: tuple[str, ...], value: object, kind: str, text: str
) -> None:
    """What differs changes the fingerprint and is named, as machine or as build."""
    here = copy.deepcopy(here)
    here["hypervisor"] = here["hypervisor"] or "none"
    here["cpu"]["flags"], here["cpu"]["model"] = here["cpu"]["flags"] or [], here["cpu"]["model"] or "none"
    other = copy.deepcopy(here)
    part: Any = other
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    assert environment.fingerprint(other) != environment.fingerprint(here)
    machine, build = environment.machine_differences(here, other), environment.build_differences(here, other)
    assert text in (machine if kind == "machine" else build)[0]
    assert not (build if kind == "machine" else machine)


CALM = _Counters(ticks=(100, 10_000), throttled=3, preempted=1000, cpu_s=50.0, asleep_s=0.0)


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (CALM._replace(ticks=(102, 11_000), preempted=1100, cpu_s=55.0), None),
        (CALM._replace(ticks=(130, 11_000)), "steal"),
        (CALM._replace(throttled=4), "throttling"),
        (CALM._replace(preempted=3000, cpu_s=55.0), "preemption"),
        (CALM._replace(asleep_s=2.0), "suspension"),
        (_Counters(None, None, 1000, 50.0, 0.0), None),
    ],
)
def test_disturbance_is_told(monkeypatch: pytest.MonkeyPatch, after: _Counters, reason: str | None) -> None:
    """Stolen time, throttling, preemption and sleep taint a round; a calm round and missing counters do not."""
    readings = iter((CALM, after))
    probe = taint_probe()
    monkeypatch.setattr(type(probe), "_read", staticmethod(lambda: next(readings)))
    probe.start()
    assert [each.split(":")[0] for each in probe.stop()] == ([reason] if reason else [])


def test_the_probe_reads_this_machine() -> None:
    """The real counters are read twice, and what is said is a list of sentences."""
    probe = taint_probe()
    probe.start()
    assert all(": " in reason for reason in probe.stop())


def troubled(here: dict[str, Any], **changes: Any) -> list[Finding]:
    env = copy.deepcopy(here) | {"load": [0.0, 0.0, 0.0], "steal_share": 0.0, "hypervisor": None, "container": None}
    env["cpu"] |= {"governor": "performance", "boost": False, "smt": False}
    env["cgroup"] = {"cpu_quota": None, "memory_bytes": None}
    for name, value in changes.items():
        if name in ("governor", "boost", "smt"):
            env["cpu"][name] = value
        elif name == "cpu_quota":
            env["cgroup"][name] = value
        elif name == "step_ns":
            env["clocks"]["thread_time_ns"][name] = value
        else:
            env[name] = value
    return environment.doctor(env)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"governor": "powersave"}, "powersave"),
        ({"boost": True}, "boost"),
        ({"smt": True}, "SMT"),
        ({"load": [99.0, 1.0, 1.0]}, "load is 99.0"),
        ({"steal_share": 0.2}, "20.0%"),
        ({"cpu_quota": 0.5}, "0.5 cores"),
        ({"hypervisor": "x"}, "virtual machine"),
        ({"container": "x"}, "container"),
        ({"affinity": [0]}, "one usable core"),
        ({"step_ns": 15_625_000.0}, "15.625 ms"),
    ],
)
def test_doctor_names_what_disturbs_and_what_to_mend(here: dict[str, Any], change: dict[str, Any], text: str) -> None:
    """Each trouble adds one finding with a remedy, and it is absent without the trouble."""
    calm = {finding.finding for finding in troubled(here)}
    new = [finding for finding in troubled(here, **change) if finding.finding not in calm]
    assert len(new) == 1
    assert text in new[0].finding
    assert new[0].mend


def test_a_watched_interpreter_is_unfit(here: dict[str, Any]) -> None:
    """Under a profiler numbers would be wrong: that finding comes first and is called unfit."""
    previous = sys.getprofile()
    sys.setprofile(lambda *_: None)
    try:
        first = environment.doctor(here)[0]
    finally:
        sys.setprofile(previous)
    assert first.severity == "unfit"
