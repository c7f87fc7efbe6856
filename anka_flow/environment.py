"""The machine as it is: what it has, what its clocks can tell, what disturbs it. Reads only; changes nothing.

What Linux tells elsewhere than other systems is None there. Builds of crypto libraries are the providers' to tell.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

_CPU = Path("/sys/devices/system/cpu")
_CGROUP = Path("/sys/fs/cgroup")
_DMI = Path("/sys/class/dmi/id")
_CLOCKS: Mapping[str, Callable[[], int]] = {"perf_counter_ns": time.perf_counter_ns, "thread_time_ns": time.thread_time_ns}
_STEAL_SHARE = 0.01
_MOST_CORES = 4
_PREEMPTIONS_PER_S = 150  # the kernel's own threads cost a few; a neighbour on the same core costs hundreds


def collect(workspace: Path | None = None) -> dict[str, Any]:
    """Return the environment as JSON data, in well under 150 ms; ``git`` is the state of ``workspace`` (default: here)."""
    return {
        "cpu": _cpu(),
        "affinity": _affinity(),
        "memory_bytes": _memory_bytes(),
        "load": _load(),
        "steal_share": _steal_share(),
        "cgroup": {"cpu_quota": _cpu_quota(), "memory_bytes": _cgroup_memory()},
        "hypervisor": _hypervisor(),
        "container": _container(),
        "os": {"system": platform.system(), "kernel": platform.release(), "distribution": _distribution()},
        "python": {
            "version": platform.python_version(),
            "implementation": platform.python_implementation(),
            "compiler": platform.python_compiler(),
            "gil": bool(getattr(sys, "_is_gil_enabled", lambda: True)()),
        },
        "clocks": {name: measure_step(clock) for name, clock in _CLOCKS.items()} | {"source": _clock_source()},
        "git": _git(workspace or Path.cwd()),
    }


def fingerprint(env: Mapping[str, Any]) -> str:
    """Return a digest of what must not change within one run: the machine, the kernel and the Python."""
    import hashlib
    import json

    return hashlib.sha256(json.dumps([_machine(env), _build(env)], sort_keys=True).encode()).hexdigest()[:16]


def machine_differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Return what tells two environments' machines apart, as ``name: this and that``; nothing for one machine."""
    return _differences(_machine(a), _machine(b))


def build_differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Return what software differs between two environments."""
    return _differences(_build(a), _build(b))


def cores(env: Mapping[str, Any]) -> int:
    """Return on how many cores this process may run work side by side; four at most, since each costs a start and memory."""
    present = env["cpu"]["cores_physical"] or env["cpu"]["cores_logical"] or 1
    allowed = len(env["affinity"] or range(present))
    return max(1, int(min(present, allowed, env["cgroup"]["cpu_quota"] or present, _MOST_CORES)))


def _differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    found = []
    for name in a:
        if a[name] == b[name] or None in (a[name], b[name]):
            continue
        if isinstance(a[name], list):
            only = sorted(set(a[name]) ^ set(b[name]))
            found.append(f"{name}: {', '.join(map(str, only))} on one side only")
        else:
            found.append(f"{name}: {a[name]} and {b[name]}")
    return found


def _machine(env: Mapping[str, Any]) -> dict[str, Any]:
    """What makes a machine: no host name and no address, which containers draw anew at every start."""
    cpu, memory = env.get("cpu") or {}, env.get("memory_bytes")
    affinity, quota = env.get("affinity"), (env.get("cgroup") or {}).get("cpu_quota")
    return {
        "processor": cpu.get("model"),
        "architecture": cpu.get("architecture"),
        "processor flags": cpu.get("flags"),
        "cores": cpu.get("cores_logical"),
        "usable cores": None if affinity is None else len(affinity),
        "cores allowed by the cgroup": quota,
        "memory in GiB": None if memory is None else round(memory / 2**30),
        "hypervisor": env.get("hypervisor"),
    }


def _build(env: Mapping[str, Any]) -> dict[str, Any]:
    python, system = env.get("python") or {}, env.get("os") or {}
    return {
        "system": system.get("system"),
        "kernel": system.get("kernel"),
        "Python": python.get("version"),
        "Python implementation": python.get("implementation"),
        "Python compiler": python.get("compiler"),
    }


# -- reading the machine ----------------------------------------------------------------------------------------------------


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text and text.lstrip("-").isdigit() else None


def _cpu() -> dict[str, Any]:
    info = _text(Path("/proc/cpuinfo")) or ""
    fields = dict(re.findall(r"^([^\t:]+?)\s*: ?(.*)$", info.split("\n\n")[0], re.MULTILINE))
    flags = fields.get("flags") or fields.get("Features")
    cores = set(re.findall(r"^physical id\s*: (\d+)$(?:.|\n)*?^core id\s*: (\d+)$", info, re.MULTILINE))
    smt = _number(_CPU / "smt/active")
    return {
        "model": fields.get("model name") or platform.processor() or None,
        "architecture": platform.machine(),
        "flags": sorted(flags.split()) if flags else None,
        "microcode": fields.get("microcode"),
        "cores_logical": os.cpu_count(),
        "cores_physical": len(cores) or None,
        "smt": None if smt is None else bool(smt),
        "governor": _text(_CPU / "cpu0/cpufreq/scaling_governor"),
        "boost": _boost(),
        "max_khz": _number(_CPU / "cpu0/cpufreq/cpuinfo_max_freq"),
    }


def _boost() -> bool | None:
    boost, no_turbo = _number(_CPU / "cpufreq/boost"), _number(_CPU / "intel_pstate/no_turbo")
    if boost is not None:
        return bool(boost)
    return None if no_turbo is None else not no_turbo


def _affinity() -> list[int] | None:
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _load() -> list[float] | None:
    return [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None


def _ticks() -> tuple[int, int] | None:
    """Return stolen and all ticks of all cores since boot (proc_stat(5): the eighth field is steal)."""
    line = (_text(Path("/proc/stat")) or "").split("\n")[0].split()
    if len(line) < 9 or line[0] != "cpu":
        return None
    fields = [int(each) for each in line[1:9]]
    return fields[7], sum(fields)


def _steal_share() -> float | None:
    ticks = _ticks()
    return round(ticks[0] / ticks[1], 5) if ticks and ticks[1] else None


def _cgroups() -> Iterator[Path]:
    """Yield this process's cgroup folder (v2) and those around it: any of them may hold a limit."""
    match = re.search(r"^0::/(.*)$", _text(Path("/proc/self/cgroup")) or "", re.MULTILINE)
    folder = _CGROUP / match[1] if match else _CGROUP
    yield from (each for each in (folder, *folder.parents) if each.is_relative_to(_CGROUP))


def _cpu_quota() -> float | None:
    """Return how many cores' worth of time the cgroup allows, None where it sets no limit."""
    limits = [(_text(folder / "cpu.max") or "max").split() for folder in _cgroups()]
    quotas = [int(each[0]) / int(each[1]) for each in limits if each[0] != "max"]
    quota, period = _number(_CGROUP / "cpu/cpu.cfs_quota_us"), _number(_CGROUP / "cpu/cpu.cfs_period_us")
    if quota and period and quota > 0:  # cgroup v1
        quotas.append(quota / period)
    return min(quotas, default=None)


def _cgroup_memory() -> int | None:
    limits = [_number(folder / "memory.max") for folder in _cgroups()]
    return min((limit for limit in limits if limit is not None), default=None)


def _throttled() -> int | None:
    """Return how often the cgroup or the heat has held the processor back, since boot."""
    stats = [_text(folder / "cpu.stat") or "" for folder in (*_cgroups(), _CGROUP / "cpu")]
    counts = [int(match[1]) for text in stats if (match := re.search(r"^nr_throttled (\d+)$", text, re.MULTILINE))]
    heat = [_number(path) for path in _CPU.glob("cpu[0-9]*/thermal_throttle/core_throttle_count")]
    counts += [each for each in heat if each is not None]
    return sum(counts) if counts else None


def _hypervisor() -> str | None:
    info = _text(Path("/proc/cpuinfo")) or ""
    if re.search(r"^flags\s*:.*\bhypervisor\b", info, re.MULTILINE) is None:
        return None
    named = [_text(path) for path in (Path("/sys/hypervisor/type"), _DMI / "sys_vendor", _DMI / "product_name")]
    return " ".join(filter(None, named)) or "unnamed"


def _container() -> str | None:
    if Path("/.dockerenv").exists():
        return "docker"
    if Path("/run/.containerenv").exists():
        return "podman"
    match = re.search(r"docker|kubepods|lxc|containerd", _text(Path("/proc/self/cgroup")) or "")
    return match[0] if match else _text(Path("/run/systemd/container"))


def _distribution() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _clock_source() -> str | None:
    return _text(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource"))


def measure_step(clock: Callable[[], int], samples: int = 100) -> dict[str, float]:
    """Return a clock's smallest step as observed (median of nonzero differences) and what a call costs, in nanoseconds."""
    steps: list[int] = []
    deadline = time.perf_counter_ns() + 20_000_000  # a tick of 15.6 ms must not hold up the start
    while len(steps) < samples and (not steps or time.perf_counter_ns() < deadline):
        before = clock()
        while (after := clock()) == before:
            pass
        steps.append(after - before)
    began = time.perf_counter_ns()
    for _ in range(samples):
        clock()
    return {"step_ns": float(median(steps)), "cost_ns": (time.perf_counter_ns() - began) / samples}


def _git(workspace: Path) -> dict[str, Any] | None:
    """Return commit and whether tracked files were changed, None outside of a repository; none of its hooks runs."""
    import subprocess

    command = ["git", "-c", "core.fsmonitor=false", "-C", str(workspace)]
    try:
        commit = subprocess.run([*command, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=2, check=True)
        changes = subprocess.run([*command, "diff-index", "--quiet", "HEAD", "--"], capture_output=True, timeout=2, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit.stdout.strip(), "changed": changes.returncode != 0}


# -- disturbance during a round ---------------------------------------------------------------------------------------------


class TaintProbe:
    """Tells whether the machine was calm between ``start`` and ``stop``.

    It counts stolen time, throttling, suspension, and how often worker processes that ended in between were put off their
    core by others: migrations come of that, and a child's own count of them is gone with it. Nothing runs in between.
    """

    def start(self) -> None:
        self._before = self._read()

    def stop(self) -> list[str]:
        """Return what disturbed, in words; nothing if all was calm."""
        before, after = self._before, self._read()
        reasons = []
        if before.ticks and after.ticks:
            stolen, all_ticks = after.ticks[0] - before.ticks[0], after.ticks[1] - before.ticks[1]
            if stolen > 1 and stolen > _STEAL_SHARE * all_ticks:
                reasons.append(f"steal: the hypervisor gave {100 * stolen / all_ticks:.1f} % of the time to others")
        if before.throttled is not None and after.throttled is not None and after.throttled > before.throttled:
            reasons.append(f"throttling: the processor was held back {after.throttled - before.throttled} times")
        rate = (after.preempted - before.preempted) / max(after.cpu_s - before.cpu_s, 0.5)
        if rate > _PREEMPTIONS_PER_S:
            reasons.append(f"preemption: others took the core {rate:.0f} times a second")
        if after.asleep_s - before.asleep_s > 0.1:
            reasons.append("suspension: the machine slept")
        return reasons

    @staticmethod
    def _read() -> _Counters:
        try:
            import resource
        except ImportError:  # not a POSIX system
            return _Counters(_ticks(), _throttled(), 0, 0.0, 0.0)
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        boot = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic() if hasattr(time, "CLOCK_BOOTTIME") else 0.0
        return _Counters(_ticks(), _throttled(), children.ru_nivcsw, children.ru_utime + children.ru_stime, boot)


class _Counters(NamedTuple):
    ticks: tuple[int, int] | None
    throttled: int | None
    preempted: int
    cpu_s: float
    asleep_s: float


def taint_probe() -> TaintProbe:
    """Return a probe of the machine's calm."""
    return TaintProbe()


# -- doctor -----------------------------------------------------------------------------------------------------------------


class Finding(NamedTuple):
    """``severity`` is ``unfit`` (numbers would be wrong), ``warning`` (they would be noisy) or ``note``."""

    severity: str
    finding: str
    mend: str


def doctor(env: Mapping[str, Any] | None = None) -> list[Finding]:
    """Return what disturbs measuring here and what to mend, the gravest first. Changes nothing."""
    env = collect() if env is None else env
    order = ("unfit", "warning", "note")
    return sorted((*_of_processor(env), *_of_neighbours(env), *_of_readings(env)), key=lambda each: order.index(each.severity))


def _of_processor(env: Mapping[str, Any]) -> Iterator[Finding]:
    cpu = env["cpu"]
    if cpu["governor"] not in (None, "performance"):
        yield Finding("warning", f"the frequency governor is {cpu['governor']}", "cpupower frequency-set -g performance")
    if cpu["boost"]:
        yield Finding(
            "note", "boost is on: the clock follows heat and neighbours", "switch it off in cpufreq/boost or the BIOS"
        )
    if cpu["smt"]:
        yield Finding("note", "SMT is on: a sibling thread shares the core", "echo off > /sys/devices/system/cpu/smt/control")
    if (os.cpu_count() or 1) < 2 or len(env["affinity"] or [0, 1]) < 2:
        yield Finding("warning", "there is one usable core: everything else runs on it too", "give the process a second core")


def _of_neighbours(env: Mapping[str, Any]) -> Iterator[Finding]:
    cores, load, quota = os.cpu_count() or 1, env["load"], env["cgroup"]["cpu_quota"]
    if load and load[0] > cores / 2:
        yield Finding("warning", f"the load is {load[0]} on {cores} cores", "end what else runs, and wait a minute")
    if env["steal_share"] and env["steal_share"] > _STEAL_SHARE:
        yield Finding(
            "warning", f"{env['steal_share']:.1%} of the time since boot was stolen", "use a machine with cores of its own"
        )
    if quota is not None:
        yield Finding(
            "warning", f"the cgroup allows {quota:g} cores and throttles beyond", "lift the limit (docker: no --cpus)"
        )
    if env["hypervisor"]:
        yield Finding("note", f"this is a virtual machine ({env['hypervisor']})", "compare only runs of this machine")
    if env["container"]:
        yield Finding("note", f"this is a container ({env['container']})", "compare only runs in the same image")


def _of_readings(env: Mapping[str, Any]) -> Iterator[Finding]:
    import sysconfig

    for name in _CLOCKS:
        step = env["clocks"][name]["step_ns"]
        if step > 10_000:
            yield Finding(
                "warning", f"{name} steps by {step / 1e6:g} ms", "short operations get many inner loops, or no figure"
            )
    if env["clocks"]["source"] not in (None, "tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"):
        yield Finding("warning", f"the clock source is {env['clocks']['source']}: slow to read", "boot with clocksource=tsc")
    if not os.access("/proc/self/clear_refs", os.W_OK):
        yield Finding("note", "the kernel offers no /proc/self/clear_refs", "memory figures stay empty here; Linux has it")
    if sysconfig.get_config_var("Py_DEBUG"):
        yield Finding("unfit", "this Python is a debug build", "use a release build")
    if sys.gettrace() is not None or sys.getprofile() is not None:
        yield Finding("unfit", "a debugger, profiler or coverage tool watches every call", "run without it")
