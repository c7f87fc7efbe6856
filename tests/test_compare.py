"""Comparisons of runs and published tables: matching, verdicts, gates and formats."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anka_flow import environment
from anka_flow.errors import SpecError, Unfit
from anka_flow.judge import reference
from anka_flow.judge.compare import Comparison, Row, compare, parse_gate
from anka_flow.judge.pacing import at_pace
from anka_flow.judge.reference import load_reference, names
from anka_flow.judge.rendering import render
from anka_flow.stats import summarise

ALGORITHMS = [f"A{number}" for number in range(20)]
Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a writer of finished runs: wall and cpu of step OP with 0.4 % noise, peak memory of 2 MiB."""

    def run(
        name: str,
        seed: int,
        *,
        factors: Mapping[str, float] = {},
        everything: float = 1.0,
        algorithms: Sequence[str] = ALGORITHMS,
        rounds: int = 5,
        provider: str = "openssl",
        failed: Sequence[str] = (),
        peaks: Mapping[str, int] = {},
        tainted: bool = False,
        env: Mapping[str, Any] | None = None,
        versions: Mapping[str, str] | None = None,
        axis: str = "alg",
        step: str = "OP",
        clock: float = 0.0,
        told: bool = True,
    ) -> str:
        rng = np.random.default_rng(seed)
        readings: list[dict[str, Any]] = []
        summary: list[dict[str, Any]] = []
        for number, algorithm in enumerate(algorithms, 1):
            case = {"case": f"{algorithm}/1KiB", axis: algorithm, "provider": provider, "payload_bytes": 1024}
            if algorithm in failed:
                summary.append(case | {"outcome": "failed", "reason": "check: wrong", "flags": [], "step": None, "meter": None})
                continue
            for meter in ("wall", "cpu", "memory"):
                unit = "bytes" if meter == "memory" else "ns"
                kept: list[list[float]] = []
                for round_ in range(1, rounds + 1) if unit == "ns" else [0]:
                    factor = number * 1e5 * everything * factors.get(algorithm, 1.0) * np.exp(rng.normal(0, 0.004))
                    size = float(peaks.get(algorithm, 2 << 20))
                    kept.append([size] if unit == "bytes" else [factor * np.exp(rng.normal(0, 0.004)) for _ in range(2)])
                    states = np.exp(rng.uniform(-clock, clock, len(kept[-1])))
                    rows = [(value * state, False, state) for value, state in zip(kept[-1], states, strict=True)]
                    rows += [(value * 9, True, 1.0) for value in kept[-1]] if tainted and unit == "ns" else []
                    readings += [
                        case
                        | {"step": step, "meter": meter, "round": round_, "value": value, "tainted": bad}
                        | ({"pace_ns": round(11000 * state)} if told and unit == "ns" else {})
                        for value, bad, state in rows
                    ]
                figures = {"step": step, "meter": meter, "unit": unit, **summarise(kept).row()}
                summary.append(case | {"outcome": "ok", "reason": "", "flags": []} | figures)
        folder = tmp_path / name
        folder.mkdir()
        record = {"schema": 1, "spec": {"axes": {axis: {"kind": "mac"}}}}
        record |= {"environment": dict(env or HERE), "versions": dict(versions or {"openssl": "3.5"})}
        (folder / "run.json").write_text(json.dumps(record))
        pq.write_table(pa.Table.from_pylist(readings), folder / "measurements.parquet")
        columns = {name for row in summary for name in row}
        pq.write_table(pa.Table.from_pylist([{c: row.get(c) for c in columns} for row in summary]), folder / "summary.parquet")
        return str(folder)

    return run


HERE = environment.collect()


def rows(found: Comparison, meter: str = "wall") -> dict[str, Row]:
    return {row.case.split("/")[0]: row for row in found.rows if row.meter == meter}


# -- verdicts ---------------------------------------------------------------------------------------------------------------


def test_two_runs_of_one_thing_are_the_same(write: Write) -> None:
    """Of 60 rows none is called different, and most are shown to be the same."""
    found = compare(write("a", 1), write("b", 2))
    assert found.counts()["same"] >= 55
    assert not {"slower", "faster", "larger", "smaller"} & found.counts().keys()


def test_a_slowed_algorithm_is_caught_alone(write: Write) -> None:
    """+5 % on two of twenty algorithms: their rows are slower, with an interval that holds 1.05; no other is."""
    found = compare(write("a", 1), write("b", 2, factors={"A3": 1.05, "A7": 1.05}))
    assert [name for name, row in rows(found).items() if row.verdict == "slower"] == ["A3", "A7"]
    row = rows(found)["A3"]
    assert row.low is not None
    assert row.high is not None
    assert row.low < 1.05 < row.high


def test_the_ratio_is_b_over_a(write: Write) -> None:
    """Above 1, B is slower; turned round, it is faster by the same."""
    a, b = write("a", 1), write("b", 2, factors={"A3": 1.2})
    there, back = rows(compare(a, b))["A3"], rows(compare(b, a))["A3"]
    assert there.ratio == pytest.approx(1.2, abs=0.02)
    assert back.ratio == pytest.approx(1 / (there.ratio or 0), rel=1e-9)
    assert (there.verdict, back.verdict) == ("slower", "faster")


def test_the_common_shift_is_told_apart(write: Write) -> None:
    """A clock slower by 10 % is one finding per meter; ``absolute`` turns it into every row's."""
    a, b = write("a", 1), write("b", 2, everything=1.1)
    found = compare(a, b)
    assert found.shifts["wall"].ratio == pytest.approx(1.1, abs=0.01)
    assert "slower" not in found.counts()
    absolute = compare(a, b, absolute=True)
    assert {row.verdict for row in rows(absolute).values()} == {"slower"}


def test_a_restless_clock_hides_nothing_where_the_pace_beside_each_reading_is_known(write: Write) -> None:
    """Readings spread by 24 % with the clock: +5 % on a row is found by the pace beside them, and by nothing else."""
    told = [write(name, seed, clock=0.12, factors=factors) for name, seed, factors in (("a", 1, {}), ("b", 2, {"A7": 1.05}))]
    found = rows(compare(*told))
    assert found["A7"].verdict == "slower"
    assert found["A7"].ratio == pytest.approx(1.05, abs=0.01)
    assert {row.verdict for name, row in found.items() if name != "A7"} == {"same"}
    blind = [
        write(name, seed, clock=0.12, told=False, factors=factors)
        for name, seed, factors in (("c", 1, {}), ("d", 2, {"A7": 1.05}))
    ]
    assert {row.verdict for row in rows(compare(*blind)).values()} == {"unclear"}


def test_what_does_not_follow_the_clock_is_left_alone() -> None:
    """The slope is the row's own: none for work that the clock does not touch, and a stolen moment does not bend it."""
    rng = np.random.default_rng(3)
    paces = 11000 * np.exp(rng.uniform(-0.06, 0.06, 40))
    steady = 1e8 * np.exp(rng.normal(0, 0.002, 40))
    assert at_pace(steady.tolist(), paces.tolist(), 11000) == pytest.approx(steady, rel=0.01)
    following = steady * paces / 11000
    following[7] *= 3
    adjusted = at_pace(following.tolist(), paces.tolist(), 11000)
    assert np.delete(adjusted, 7) == pytest.approx(np.delete(steady, 7), rel=0.01)
    few = following[:5].tolist()
    assert at_pace(few, paces[:5].tolist(), 11000) == pytest.approx(few)


def test_rows_that_scatter_are_warned_of(write: Write) -> None:
    """Where most rows moved, each by its own amount, a warning names the meter, and --absolute judges without allowance."""
    factors = {name: 1 + 0.02 * (number % 5) for number, name in enumerate(ALGORITHMS)}
    a, b = write("a", 1), write("b", 2, factors=factors)
    assert "further apart than their rounds explain" in compare(a, b).warnings[0]
    absolute = compare(a, b, absolute=True)
    assert absolute.warnings == ()
    assert rows(absolute)["A4"].verdict == "slower"


def test_one_round_is_unclear(write: Write) -> None:
    """Quick runs have ratios, but no verdict and no interval."""
    found = compare(write("a", 1, rounds=1), write("b", 2, rounds=1))
    assert {row.verdict for row in rows(found).values()} == {"unclear"}
    assert all(row.low is None and row.ratio is not None for row in rows(found).values())


def test_disturbed_rounds_count_only_where_nothing_else_is(write: Write) -> None:
    """Readings of tainted rounds, nine times too slow, change no verdict where the repetition is there."""
    found = compare(write("a", 1), write("b", 2, tainted=True))
    assert "slower" not in found.counts()


def test_peaks_are_told_in_the_kernels_grain(write: Write) -> None:
    """100 KiB more on 2 MiB is within what the kernel tells; 1 MiB more is larger, 1 MiB less smaller."""
    mib = 1 << 20
    found = compare(write("a", 1), write("b", 2, peaks={"A0": 2 * mib + 100 * 1024, "A1": 3 * mib, "A2": mib}))
    memory = rows(found, "memory")
    assert [memory[name].verdict for name in ("A0", "A1", "A2", "A3")] == ["same", "larger", "smaller", "same"]
    assert memory["A1"].ratio == 1.5


# -- matching ---------------------------------------------------------------------------------------------------------------


def test_rows_of_one_side_only_are_named(write: Write) -> None:
    """Cases that one side lacks, or ended without figures, are listed with the reason."""
    found = compare(write("a", 1), write("b", 2, algorithms=ALGORITHMS[:-1], failed=["A0"]))
    assert any("only in" in text and "A19/1KiB" in text for text in found.missing)
    assert any(text.startswith("A0/1KiB") and "failed: check: wrong" in text for text in found.missing)
    assert len(rows(found)) == 18


def test_another_provider_still_matches_and_is_said(write: Write) -> None:
    """The same cases by another library are held against each other, with both names in the note."""
    found = compare(write("a", 1), write("b", 2, provider="botan", factors={"A3": 2.0}))
    assert rows(found)["A3"].verdict == "slower"
    assert rows(found)["A3"].note == "openssl against botan"
    assert found.warnings == ("matched across providers: openssl and botan",)


def test_nothing_in_common_is_unfit(write: Write) -> None:
    """Runs of different axes have nothing to compare."""
    with pytest.raises(Unfit, match="no row in common"):
        compare(write("a", 1), write("b", 2, axis="mac"))


def test_another_machine_is_refused_unless_told(write: Write) -> None:
    """Another processor is named and refused; with force it is a warning, and time is still not gated."""
    other = HERE | {"cpu": HERE["cpu"] | {"model": "Another CPU"}}
    a, b = write("a", 1), write("b", 2, env=other)
    with pytest.raises(Unfit, match=r"different machines: processor: .* and Another CPU"):
        compare(a, b)
    assert "different machines" in compare(a, b, force=True).warnings[0]
    with pytest.raises(Unfit, match="gated only between runs of one machine"):
        compare(a, b, force=True, fail_on=["wall:+5%"])
    assert compare(a, b, force=True, fail_on=["peak_bytes:+0"]).violations == ()


def test_another_build_is_refused_unless_told(write: Write) -> None:
    """Another version of a library is named and refused; with force it may be compared and gated."""
    a, b = write("a", 1), write("b", 2, versions={"openssl": "4.0"})
    with pytest.raises(Unfit, match=r"different builds: openssl 3\.5 and 4\.0"):
        compare(a, b)
    assert compare(a, b, force=True, fail_on=["wall:+5%"]).violations == ()


@pytest.mark.parametrize("lost", ["run.json", "summary.parquet", "measurements.parquet"])
def test_an_unfinished_run_is_unfit(write: Write, lost: str) -> None:
    """A missing file is named, with the way to finish the run."""
    a, b = write("a", 1), write("b", 2)
    (Path(b) / lost).unlink()
    with pytest.raises(Unfit, match=f"{lost}: is missing.*--resume"):
        compare(a, b)


def test_a_broken_file_is_unfit(write: Write) -> None:
    """A file that is no Parquet is named, without a traceback of another library."""
    a, b = write("a", 1), write("b", 2)
    (Path(b) / "summary.parquet").write_bytes(b"PAR1 nothing of the kind PAR1")
    with pytest.raises(Unfit, match=r"summary\.parquet: cannot be read"):
        compare(a, b)


# -- the gate ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "step", "meter", "limit"),
    [
        ("wall:+5%", "", "wall", 0.05),
        ("RESIGN.cpu:+10%", "RESIGN", "cpu", 0.10),
        ("peak_bytes:+0", "", "memory", 0.0),
        (" wall : 2.5% ", "", "wall", 0.025),
    ],
)
def test_gates_are_read(text: str, step: str, meter: str, limit: float) -> None:
    """A gate is a meter, or a step's meter, and how much it may grow."""
    gate = parse_gate(text)
    assert (gate.step, gate.meter, gate.limit) == (step, meter, pytest.approx(limit))


@pytest.mark.parametrize("text", ["", "wall", "wall:5", "wall:+x%", "wall:-5%", "+5%"])
def test_what_is_no_gate_is_refused(text: str) -> None:
    """Anything else is a spec error that shows how to write it."""
    with pytest.raises(SpecError, match=r"as in wall:\+5%"):
        parse_gate(text)


def test_growth_above_the_limit_is_a_violation(write: Write) -> None:
    """+8 % breaks a limit of 5 % and keeps one of 12 %; the sentence names gate, case, step and figure."""
    a, b = write("a", 1), write("b", 2, factors={"A3": 1.08})
    found = compare(a, b, fail_on=["wall:+5%"])
    assert [violation.row for violation in found.violations] == [rows(found)["A3"]]
    assert str(found.violations[0]).startswith("wall:+5%: A3/1KiB OP wall +")
    assert compare(a, b, fail_on=["OP.wall:+12%,cpu:+12%"]).violations == ()


def test_a_shift_of_all_rows_breaks_the_gate_once(write: Write) -> None:
    """Everything 10 % slower is one violation, not twenty, and none where rows are judged as they are."""
    a, b = write("a", 1), write("b", 2, everything=1.1)
    shared = compare(a, b, fail_on=["wall:+5%"]).violations
    assert [violation.row for violation in shared] == [None]
    assert len(compare(a, b, fail_on=["wall:+5%"], absolute=True).violations) == len(ALGORITHMS)


def test_peaks_are_gated_exactly(write: Write) -> None:
    """``peak_bytes:+0`` forbids a single page more."""
    found = compare(write("a", 1), write("b", 2, peaks={"A1": (2 << 20) + 4096}), fail_on=["peak_bytes:+0"])
    assert [violation.row.case for violation in found.violations if violation.row] == ["A1/1KiB"]


def test_a_case_that_fails_now_breaks_the_gate(write: Write) -> None:
    """A gate does not pass because the slow case stopped working."""
    found = compare(write("a", 1), write("b", 2, failed=["A5"]), fail_on=["wall:+5%"])
    assert [str(each) for each in found.violations] == ["A5/1KiB: has no figures any more: failed: check: wrong"]


def test_a_gate_on_nothing_is_a_mistake(write: Write) -> None:
    """A meter that no row has is refused with the meters there are: a typing error must not pass for health."""
    a, b = write("a", 1), write("b", 2)
    with pytest.raises(SpecError, match=r"no row has that meter \(there are: OP.cpu, OP.memory, OP.wall\)"):
        compare(a, b, fail_on=["wal:+5%"])


def test_a_blind_gate_says_so(write: Write) -> None:
    """With one round nothing can be gated on time; that is a warning, not silence."""
    found = compare(write("a", 1, rounds=1), write("b", 2, rounds=1, factors={"A1": 3.0}), fail_on=["wall:+5%"])
    assert found.violations == ()
    assert "20 gated rows cannot be judged" in found.warnings[-1]


# -- published tables -------------------------------------------------------------------------------------------------------


def test_the_published_tables_ship() -> None:
    """Four tables with the published number of rows; 25 rows of re-signing were published as failed."""
    assert names() == ["composite_reencrypt", "composite_stream_encrypt", "composite_stream_sign", "resign"]
    counts = {name: len({(key.axes, key.payload_bytes) for key in load_reference(name).entries}) for name in names()}
    assert counts == {"composite_reencrypt": 160, "composite_stream_encrypt": 80, "composite_stream_sign": 44, "resign": 287}
    assert len(load_reference("resign").ended) == 25


def test_published_memory_is_read_in_kib() -> None:
    """The cell shown as 561.194 is 561,194 KiB, 548 MiB."""
    entries = load_reference("composite_stream_encrypt").entries
    axes = (("classical", "P-256"), ("pqc", "HQC-128"))
    found = [
        e.median for k, e in entries.items() if (k.axes, k.payload_bytes, k.step, k.meter) == (axes, 100 << 20, "DEC", "memory")
    ]
    assert found == [561_194 * 1024]


def test_a_run_against_a_published_table_is_orders_of_magnitude(write: Write) -> None:
    """Ratios come without interval and verdict, as powers of ten, and nothing is judged."""
    found = rows(compare(write("a", 1, algorithms=["HMAC-SHA256", "Ed25519"], step="RESIGN"), "reference:resign"))
    published = {
        key.axes[0][1]: entry
        for key, entry in load_reference("resign").entries.items()
        if (key.payload_bytes, key.meter) == (1024, "wall")
    }
    for name, row in found.items():
        assert row.b == published[name].median
        assert row.ratio == row.b / row.a
        assert row.order == round(np.log10(row.ratio))
        assert (row.verdict, row.low, row.p) == ("unclear", None, None)


def test_what_a_published_table_is_worth_is_said() -> None:
    """Host, clock tick, memory measure, HQC and construction are warned of, once a side."""
    text = " ".join(compare("reference:composite_reencrypt", "reference:composite_reencrypt").warnings)
    for warning in ("15.625 ms", "dot as thousands mark", "ran HQC-128", "earlier construction", "unknown host"):
        assert warning in text


def test_published_figures_below_the_tick_say_nothing() -> None:
    """CPU cells under 15.625 ms have no figure and say why; rows of HQC-192 say what ran."""
    table = load_reference("composite_reencrypt").entries
    small = [entry for key, entry in table.items() if key.meter == "cpu" and entry.median is None]
    assert len(small) == 45
    assert {entry.note for entry in small} == {"below its clock's step"}
    hqc = [entry for key, entry in table.items() if key.meter == "wall" and dict(key.axes)["pqc"] == "HQC-192"]
    assert {entry.note for entry in hqc} == {"ran HQC-128"}


def test_a_copy_of_a_published_table_is_known_by_its_figures(tmp_path: Path) -> None:
    """The table under another name, with the page's own headings, has the same figures and warnings."""
    shipped = Path(reference.__file__).with_name("published") / "composite_reencrypt.csv"
    body = shipped.read_text().split("\n", 1)[1]
    (tmp_path / "x.csv").write_text("CLASSICAL,PQC,BYTES,REENC,CPU-R,MEM-R\n" + body)
    found = compare(str(tmp_path / "x.csv"), "reference:composite_reencrypt")
    assert {row.ratio for row in found.rows if row.ratio is not None} == {1.0}
    assert sum("15.625" in warning for warning in found.warnings) == 2


def test_a_published_table_cannot_be_gated() -> None:
    """Orders of magnitude are no gate."""
    with pytest.raises(Unfit, match="cannot be gated"):
        compare("reference:resign", "reference:resign", fail_on=["wall:+5%"])


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("reference:resing", "did you mean 'resign'"),
        ("nowhere", "neither a run's folder"),
        ("reference:", "there are: composite"),
    ],
)
def test_unknown_sides_are_unfit(name: str, match: str) -> None:
    """A side that is nothing is named, with what there is."""
    with pytest.raises(Unfit, match=match):
        compare(name, "reference:resign")


def test_a_csv_of_something_else_is_unfit(tmp_path: Path) -> None:
    """A CSV without the published columns, or with text where a figure should be, is refused with its place."""
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(Unfit, match="is it a results table"):
        compare(str(tmp_path / "a.csv"), "reference:resign")
    (tmp_path / "b.csv").write_text("ALG,BYTES,RESIGN_MS\nEd25519,1024,1\nEd25519,x,2\n")
    with pytest.raises(Unfit, match=r"b\.csv:3: "):
        compare(str(tmp_path / "b.csv"), "reference:resign")


# -- formats ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def found(write: Write) -> Comparison:
    return compare(write("a", 1), write("b", 2, factors={"A3": 1.2}), fail_on=["wall:+5%"])


def test_json_is_a_list_of_rows(found: Comparison) -> None:
    """Every row has case, step, meter, ratio, low, high and verdict, and the common shift of its meter."""
    data = json.loads(render(found, "json"))
    assert len(data) == 60
    assert {"case", "step", "meter", "ratio", "low", "high", "verdict", "shift"} <= data[0].keys()
    assert [row["case"] for row in data if row["meter"] == "wall" and row["verdict"] == "slower"] == ["A3/1KiB"]


def test_markdown_is_a_table(found: Comparison) -> None:
    """Every row is a line with as many cells as the heading."""
    lines = [line for line in render(found, "md").splitlines() if line.startswith("|")]
    assert len(lines) == 62
    assert {line.count("|") for line in lines} == {10}


def test_junit_fails_what_the_gate_forbids(found: Comparison) -> None:
    """One test case per row; exactly the forbidden one fails, and the counts agree."""
    suite = ET.fromstring(render(found, "junit"))
    failed = [case for case in suite if case.find("failure") is not None]
    assert [(case.get("name"), case.get("classname")) for case in failed] == [("A3/1KiB", "OP.wall")]
    assert (suite.get("tests"), suite.get("failures")) == ("60", "1")


def test_the_table_tells_the_loudest_first(found: Comparison) -> None:
    """The slower row leads; counts, common shift and what is forbidden follow the table."""
    text = render(found, "table")
    first = next(line for line in text.splitlines() if "1KiB" in line)
    assert "A3/1KiB" in first
    assert "slower" in first
    assert "common shift of wall: " in text
    assert "forbidden: wall:+5%: A3/1KiB" in text


def test_an_unknown_format_is_a_mistake(found: Comparison) -> None:
    """The nearest format is offered."""
    with pytest.raises(SpecError, match="did you mean 'json'"):
        render(found, "jsn")
