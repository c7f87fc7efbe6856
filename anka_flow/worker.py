"""A fresh process that visits cases: proves them, times them or reads their memory, and reports each over a pipe.

It gets its job and then its cases as JSON lines on standard input, and writes one JSON line per event to the descriptor
named on its command line.
It knows no spec file, no sink and no other worker; what it dies of costs one case.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from . import heap
from .discovery import Operators
from .errors import CheckFailed, IdentityFailed, Skip, Unsupported
from .keys import KeyStore
from .loop import Bound, Gauge, Loop
from .pace import Track
from .pipeline import Node, Use, compile_pipeline
from .primitives import Algorithm, Primitive
from .provider import providers

MAX_FAILURES = 3  # wrong results in a row after which a case is given up
STEADY_NS = 1_000_000_000  # what warming up may take where the spec gives no count
STEADY_CALLS = 400
JIT_CALLS = 100  # a just-in-time compiler needs about this many calls to settle


class Worker:
    """The job's operators, meters, primitives and keys, and the cases visited with them."""

    def __init__(self, job: Mapping[str, Any], report: Callable[[dict[str, Any]], None]) -> None:
        self.job, self.report = job, report
        self.operators = Operators([Path(p) for p in job["folders"]])
        self.store = KeyStore(Path(job["keys"]))
        self.gauge = Gauge({name: self.operators.meter(name) for name in job["meters"]})
        self.algorithms = {key: Algorithm(**row) for key, row in job["algorithms"].items()}
        self._pipelines: dict[bool, tuple[Node, ...]] = {}
        self._primitives: dict[tuple[str, str], Primitive] = {}
        self._kept: dict[str, Any] = {}
        self._warm: set[str] = set()
        self._proofs: dict[tuple[str, str], str] = {}

    def visit(self, case: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the pass found of one case; its ``outcome`` says how it went."""
        began = time.perf_counter_ns()
        try:
            found = _PASSES[self.job["pass"]](self, case)
            return {"outcome": "ok", **found, "spent_ns": time.perf_counter_ns() - began}
        except Exception as error:  # noqa: BLE001  # whatever an operator raises costs its case only
            outcome = _OUTCOMES.get(type(error), "failed")
            return {"outcome": outcome, "reason": _reason(error)}

    def stateful(self, case: Mapping[str, Any]) -> bool:
        return any(self.algorithms[key].stateful for key in case["axes"].values())

    def load(self, case: Mapping[str, Any]) -> None:
        """Make what a forked child would make anew: the payload, and libraries that can be forked (a Java machine cannot)."""
        with suppress(Exception):  # the child meets the same error and reports it
            payload = self.nodes(case)[0]
            Bound(payload, self._givens(case), set()).ready({})()
        for name, key in {**case["axes"], **self.job["shared"]}.items():
            provider = case["providers"][name]
            if not providers().get(provider).jit:
                with suppress(Exception):  # the child meets the same error and reports it
                    self.primitive(key, provider)

    def nodes(self, case: Mapping[str, Any]) -> tuple[Node, ...]:
        """Return the compiled pipeline; where an operation's cost is random, every iteration gets a message of its own."""
        distinct = any(self.algorithms[key].random_cost for key in case["axes"].values())
        if distinct not in self._pipelines:
            payload, *steps = [Use(**step) for step in self.job["steps"]]
            if distinct and self.job["varies"]:
                payload = Use(payload.id, payload.use, {**payload.inputs, "variant": "$variant"})
            given = dict.fromkeys(self.job["given"], Any)
            nodes = compile_pipeline([payload, *steps], given, self.operators.get, looping=("variant",))
            self._pipelines[distinct] = nodes
        return self._pipelines[distinct]

    def primitive(self, key: str, provider: str) -> Primitive:
        if (key, provider) not in self._primitives:
            self._primitives[key, provider] = providers().get(provider).implement(self.algorithms[key])
        return self._primitives[key, provider]

    def prepare(self, case: Mapping[str, Any]) -> tuple[dict[str, Any], Loop, list[Node]]:
        """Run a case's set-up. Return its values, its loop, and the nodes that run once."""
        wires = {**case["axes"], **self.job["shared"]}
        values: dict[str, Any] = {n: self.primitive(key, case["providers"][n]) for n, key in wires.items()}
        values |= self._givens(case)
        nodes = self.nodes(case)
        for node in nodes:
            if not node.loop and not node.once:
                values[node.slot] = self._set_up(case, node, values)
        loop = Loop([n for n in nodes if n.loop and not n.once], values)
        return values, loop, [n for n in nodes if n.once]

    @staticmethod
    def _givens(case: Mapping[str, Any]) -> dict[str, Any]:
        return {"payload_bytes": case["payload_bytes"], "seed": case["seed"], "variant": case.get("variant", 0)}

    def _set_up(self, case: Mapping[str, Any], node: Node, values: Mapping[str, Any]) -> Any:
        """Return a set-up node's result; keys come from the run's store once they were made."""
        call = Bound(node, values, set()).ready(values)
        wires = {**case["axes"], **self.job["shared"]}
        if node.restore is None or any(w.slot not in wires for w in node.wires.values()):
            return call()
        used = {name: f"{wires[w.slot]}@{case['providers'][w.slot]}" for name, w in sorted(node.wires.items())}
        name = json.dumps([node.address, node.slot, used, dict(node.constants)], sort_keys=True)
        if name not in self._kept:
            self._kept[name] = self._stored(node, name, call, values, case)
        return self._kept[name]

    def _stored(
        self, node: Node, name: str, call: Callable[[], Any], values: Mapping[str, Any], case: Mapping[str, Any]
    ) -> Any:
        if self.stateful(case):
            return call()  # two holders of a stateful key could use one index: every worker makes its own
        if (data := self.store.get(name)) is None:
            made = call()
            self.store.put(name, made.dump())
            return made
        assert node.restore
        inputs = {n: values[w.slot] for n, w in node.wires.items()}
        return node.restore(data, **inputs, **node.constants)

    # -- passes -----------------------------------------------------------------------------------------------------------

    def prove(self, case: Mapping[str, Any]) -> dict[str, Any]:
        """Known answers and identity of every algorithm, one checked iteration, the ``once`` steps; sizes and times noted."""
        began = time.perf_counter_ns()
        values, loop, once = self.prepare(case)
        proofs = self._prove_primitives(case, values)
        for bound in loop.bound:
            if bound.measure:
                self.gauge.watch(bound.measure)
        set_up = time.perf_counter_ns()
        loop.iterate(self.gauge.take)
        iterated = time.perf_counter_ns()
        for node in once:
            values[node.slot] = Bound(node, values, set()).ready(values)()
        facts = _facts(values)
        _identify([self.algorithms[key] for key in case["axes"].values()], values, facts)
        loops, iteration_ns = self._calibrate(loop, iterated - set_up)
        return {"facts": facts, "proofs": proofs, "loops": loops, "setup_ns": set_up - began, "iteration_ns": iteration_ns}

    def _prove_primitives(self, case: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, str]:
        if not self.job["prove"]:
            return {}
        operator = self.operators.get(self.job["prove"])
        found = {}
        for wire, key in {**case["axes"], **self.job["shared"]}.items():
            name = (key, case["providers"][wire])
            if name not in self._proofs:
                held = [v for v in values.values() if getattr(v, "primitive", None) is values[wire]]
                self._proofs[name] = operator(values[wire], held[0] if held else None, name[1])
            found["@".join(name)] = self._proofs[name]
        return found

    def _calibrate(self, loop: Loop, first_ns: int) -> tuple[dict[str, int], int]:
        """Return how often each measured step repeats within a reading, and what an iteration then takes."""
        if first_ns > _SLOW_NS:
            return {b.measure: 1 for b in loop.bound if b.measure}, first_ns
        began = time.perf_counter_ns()
        for _ in range(_CALIBRATING):
            loop.iterate(self.gauge.take)
        iteration_ns = (time.perf_counter_ns() - began) / _CALIBRATING
        loops = {}
        for bound in loop.bound:
            if bound.measure:
                wall = self.gauge.taken(bound.measure).get("wall") or [0]
                once_ns = max(1.0, min(wall) - self.gauge.empty(1, bound.arity).get("wall", 0.0))
                loops[bound.measure] = self.gauge.loops_for(once_ns)
                iteration_ns += once_ns * (loops[bound.measure] - 1)
        return loops, round(iteration_ns)

    def time(self, case: Mapping[str, Any]) -> dict[str, Any]:
        """Warm up, then read the meters of every measured step, iteration by iteration; later visits warm up by one call."""
        with heap.shifted(f"{case['id']}/{case['seed']}/{case.get('variant', 0)}", case["payload_bytes"]):
            return self._timed(case)

    def _timed(self, case: Mapping[str, Any]) -> dict[str, Any]:
        _, loop, _ = self.prepare(case)
        first = case["id"] not in self._warm
        self._warm.add(case["id"])
        jit = first and any(providers().get(name).jit for name in case["providers"].values())
        self._watch(case, loop)
        warmed = _warm(loop, self.gauge, self.job["warmup"] if first else 1, jit=jit)
        self._watch(case, loop)
        began = time.perf_counter_ns()
        paces, failures = self._read(loop, case)
        reading_ns = time.perf_counter_ns() - began
        steps = {}
        for bound in loop.bound:
            if bound.measure:
                loops = self.gauge.loops[bound.measure]
                empty = self.gauge.empty(loops, bound.arity)
                taken = self.gauge.taken(bound.measure)
                coarse = [n for n, values in taken.items() if values and self.gauge.too_coarse(n, median(values))]
                steps[bound.measure] = {"loops": loops, "empty": empty, "readings": taken, "coarse": coarse,
                                        "paces": paces[bound.measure]}  # fmt: skip
        return {"steps": steps, "warmup_calls": warmed, "reading_ns": reading_ns, **failures}

    def _watch(self, case: Mapping[str, Any], loop: Loop) -> None:
        for bound in loop.bound:
            if bound.measure:
                self.gauge.watch(bound.measure, case["loops"].get(bound.measure, 1))

    def _read(self, loop: Loop, case: Mapping[str, Any]) -> tuple[dict[str, list[int]], dict[str, Any]]:
        """Iterate for the visit's share of the round's count, and until the costliest step's readings add up to its least time.

        A wrong result counts; three in a row end the case. Return the pace beside each reading, and how the reading went.
        """
        laps = case.get("laps", 1)
        least, most = self.job["min_time"] // laps, -(-self.job["iterations"] // laps)
        failures = in_row = done = 0
        reason = ""
        read = {bound.measure: 0 for bound in loop.bound if bound.measure}
        track = Track(self.gauge, read)
        while done < most or max(read.values()) < least:
            track.follow()
            try:
                done += 1
                loop.iterate(self.gauge.take)
                in_row = 0
                for step in read:
                    read[step] += self.gauge.last(step)
            except CheckFailed as error:
                failures, in_row, reason = failures + 1, in_row + 1, str(error)
                if in_row == MAX_FAILURES:
                    break
        track.mark()
        if not failures:
            return track.paces, {"iterations": done}
        return track.paces, {
            "iterations": done, "outcome": "failed", "verify_failures": failures,
            "reason": f"check: verify_failures = {failures} of {done} iterations: {reason}",
        }  # fmt: skip

    def remember(self, case: Mapping[str, Any]) -> dict[str, Any]:
        """Run the loop on little data to warm it, then once under the intrusive meters, in a process of its own.

        Little data loads and sets up whatever first calls do, and leaves no freed memory for the operation to find. Results
        are checked where they are proved and timed: what a process has peaked at does not tell whether they are right.
        """
        for meter in self.gauge.meters:
            if reason := meter.unavailable():
                return {"steps": {}, "unavailable": reason}
        with suppress(Exception):  # what is wrong shows again below
            _, little, _ = self.prepare({**case, "payload_bytes": min(case["payload_bytes"], _LITTLE_BYTES)})
            little.iterate_unchecked(lambda _, call: call())
            del little
        _, loop, _ = self.prepare(case)
        self._watch({"loops": {}}, loop)
        gc.collect()
        loop.iterate_unchecked(self.gauge.take)
        steps = {b.measure: {"loops": 1, "empty": {}, "readings": self.gauge.taken(b.measure)} for b in loop.bound if b.measure}
        return {"steps": steps}


_CALIBRATING = 3
_LITTLE_BYTES = 256 * 1024  # several chunks and segments of whatever works in pieces
_SLOW_NS = 20_000_000  # an iteration this slow needs no inner loop
_OUTCOMES: Mapping[type[Exception], str] = {Skip: "skipped", Unsupported: "unsupported"}
_LABELS: Mapping[type[Exception], str] = {
    Skip: "",
    Unsupported: "",
    IdentityFailed: "identity: ",
    CheckFailed: "check: ",
    MemoryError: "out of memory: ",
}
_PASSES: Mapping[str, Callable[[Worker, Mapping[str, Any]], dict[str, Any]]] = {
    "prove": Worker.prove,
    "timing": Worker.time,
    "memory": Worker.remember,
}


def _warm(loop: Loop, gauge: Gauge, count: int | None, *, jit: bool) -> int:
    """Iterate ``count`` times, or until steady where there is no count or a just-in-time compiler; return the calls made."""
    for _ in range(count or 0):
        _try(loop, gauge)
    if count is not None and not jit:
        return count
    return (count or 0) + _until_steady(lambda: _try(loop, gauge), least=JIT_CALLS if jit else 8)


def _until_steady(run: Callable[[], None], least: int) -> int:
    """Call until the best of the last eighth is no longer better than the best before it by 2 %; capped in time and calls."""
    times: list[int] = []
    began = time.perf_counter_ns()
    while len(times) < STEADY_CALLS and time.perf_counter_ns() - began < STEADY_NS:
        start = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - start)
        recent = max(4, len(times) // 8)
        if len(times) >= max(least, 2 * recent) and min(times[-recent:]) >= 0.98 * min(times[:-recent]):
            break
    return len(times)


def _try(loop: Loop, gauge: Gauge) -> None:
    """One iteration to warm up; a wrong result is left for the counted iterations to find."""
    try:
        loop.iterate_unchecked(gauge.take)
    except CheckFailed:
        return


def _facts(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what results say of themselves (algorithm, sizes, profile), by slot."""
    return {slot: dict(v.facts()) for slot, v in values.items() if callable(getattr(v, "facts", None))}


def _identify(named: Sequence[Algorithm], values: Mapping[str, Any], facts: Mapping[str, Mapping[str, Any]]) -> None:
    """Compare what the artefacts show with what the case's algorithm fixes. Raises ``IdentityFailed``.

    Where a case names several algorithms, its keys' own tells what was composed of them; keys of several kinds tell nothing.
    """
    keys = [v.primitive.algorithm for v in values.values() if hasattr(v, "primitive") and hasattr(v, "pair")]
    algorithm = named[0] if len(named) == 1 else keys[0] if len({key.id for key in keys}) == 1 else None
    if algorithm is None:
        return
    for slot, shown in facts.items():
        for name, octets in algorithm.sizes.items():
            most = name.removesuffix("_max")
            got = shown.get(most)
            if isinstance(got, int) and (got > octets if most != name else got != octets):
                raise IdentityFailed(f"{algorithm.name} has a {most} of {octets} octets, but ${slot} shows {got}")
        said = shown.get("enc" if algorithm.kind == "aead" else "alg")
        if algorithm.jose and said not in (None, algorithm.jose):
            raise IdentityFailed(f"the case names {algorithm.name} ({algorithm.jose}), but ${slot} says {said}")


def _reason(error: Exception) -> str:
    """Return an error in one line, led by what kind it is."""
    label = _LABELS.get(type(error), f"{type(error).__name__}: ")
    return label + (str(error).strip().splitlines() or ["no message"])[0][:300]


def _apart(worker: Worker, case: Mapping[str, Any]) -> None:
    """Visit a case in a forked child, so that no other case's memory shows in its figures."""
    child = os.fork()
    if child == 0:
        try:
            worker.report({"case": case["id"], **worker.visit(case)})
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    if signal := os.waitstatus_to_exitcode(status):
        worker.report({"case": case["id"], "outcome": "failed", "signal": -signal})


def _requests() -> Iterator[dict[str, Any]]:
    """Yield the job and then its cases, as they are asked for; no operator can take them, for standard input is empty."""
    with os.fdopen(os.dup(0), "rb") as stream:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        yield from map(json.loads, stream)


def main(argv: Sequence[str]) -> int:
    """Do the job of standard input's first line for the case on each further line; report to descriptor ``argv[0]``."""
    pipe = os.fdopen(int(argv[0]), "w", encoding="utf-8")

    def report(event: dict[str, Any]) -> None:
        pipe.write(json.dumps(event) + "\n")
        pipe.flush()

    requests = _requests()
    job = next(requests)
    if job["pass"] == "timing":
        heap.settle()
    worker = Worker(job, report)
    gc.collect()
    gc.freeze()
    gc.disable()
    report({"ready": True, "clocks": {n: [c.step, c.cost] for n, c in worker.gauge.clocks.items()}})
    for case in requests:
        if job["pass"] == "memory" and not worker.stateful(case):
            worker.load(case)
            _apart(worker, case)
        else:
            report({"case": case["id"], **worker.visit(case)})
        gc.collect()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
