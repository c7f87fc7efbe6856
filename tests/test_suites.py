"""The bundled suites are the published ones: counts, pairs, columns, names; and each runs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from anka_flow.session import Options, find_spec, plan_spec

from . import vectors

N_ENC = 55
SUITES = {
    "encrypt": (N_ENC * 8, "KTY ALG BYTES ENC_MS DEC_MS CPU_ENC_MS CPU_DEC_MS ENC_MEM_KIB DEC_MEM_KIB"),
    "sign": (312, "KTY ALG BYTES SIGN_MS VER_MS CPU_SIGN_MS CPU_VER_MS SIGN_MEM_KIB VER_MEM_KIB"),
    "reencrypt": (N_ENC * 8, "KTY ALG BYTES REENC_MS CPU_REENC_MS REENC_MEM_KIB"),
    "resign": (312, "KTY ALG BYTES RESIGN_MS CPU_RESIGN_MS RESIGN_MEM_KIB"),
    "composite_encrypt": (160, "CLASSICAL PQC BYTES ENC_MS DEC_MS CPU_ENC_MS CPU_DEC_MS ENC_MEM_KIB DEC_MEM_KIB"),
    "composite_sign": (88, "CLASSICAL PQC BYTES SIGN_MS VER_MS CPU_SIGN_MS CPU_VER_MS SIGN_MEM_KIB VER_MEM_KIB"),
    "composite_reencrypt": (160, "CLASSICAL PQC BYTES REENC_MS CPU_REENC_MS REENC_MEM_KIB"),
    "composite_resign": (88, "CLASSICAL PQC BYTES RESIGN_MS CPU_RESIGN_MS RESIGN_MEM_KIB"),
    "stream_encrypt": (N_ENC * 4, "KTY ALG BYTES ENC_MS DEC_MS CPU_ENC_MS CPU_DEC_MS ENC_MEM_KIB DEC_MEM_KIB"),
    "stream_sign": (195, "KTY ALG BYTES SIGN_MS VER_MS CPU_SIGN_MS CPU_VER_MS SIGN_MEM_KIB VER_MEM_KIB"),
    "stream_reencrypt": (N_ENC * 4, "KTY ALG BYTES REENC_MS CPU_REENC_MS REENC_MEM_KIB"),
    "stream_resign": (195, "KTY ALG BYTES RESIGN_MS CPU_RESIGN_MS RESIGN_MEM_KIB"),
    "composite_stream_encrypt": (80, "CLASSICAL PQC BYTES ENC_MS DEC_MS CPU_ENC_MS CPU_DEC_MS ENC_MEM_KIB DEC_MEM_KIB"),
    "composite_stream_sign": (44, "CLASSICAL PQC BYTES SIGN_MS VER_MS CPU_SIGN_MS CPU_VER_MS SIGN_MEM_KIB VER_MEM_KIB"),
    "composite_stream_reencrypt": (80, "CLASSICAL PQC BYTES REENC_MS CPU_REENC_MS REENC_MEM_KIB"),
    "composite_stream_resign": (44, "CLASSICAL PQC BYTES RESIGN_MS CPU_RESIGN_MS RESIGN_MEM_KIB"),
}


@pytest.mark.parametrize("name", SUITES)
def test_counts_and_columns_are_the_published_ones(name: str) -> None:
    """Every suite plans its published number of rows and names its published columns in their order."""
    cases, columns = SUITES[name]
    plan = plan_spec(find_spec(name), Options())
    assert (len(plan.cases), list(plan.spec.columns)) == (cases, columns.split())


@pytest.mark.parametrize(("suite", "table"), [("composite_encrypt", "pairs_kem"), ("composite_sign", "pairs_sign")])
def test_composite_pairs_are_the_published_ones(suite: str, table: str) -> None:
    """Rules and levels give exactly the pairs of the published pages."""
    path = vectors.folder(".").parent / "reference" / f"{table}.csv"
    if not path.is_file():
        pytest.skip("the published pairs are not beside the vectors")
    with path.open(newline="", encoding="utf-8") as file:
        published = {(row["CLASSICAL"], row["PQC"]) for row in csv.DictReader(file)}
    cases = plan_spec(find_spec(suite), Options()).cases
    assert {(c.axes["classical"].name, c.axes["pqc"].name) for c in cases} == published


def test_payloads_add_up_to_the_published_octets() -> None:
    """The octets of a suite at its settings are those that the pages print, where they print them rightly."""
    octets = {n: sum(c.payload_bytes for c in plan_spec(find_spec(n), Options()).cases) for n in SUITES}
    assert octets["resign"] == 271_964_160
    assert octets["composite_reencrypt"] == 139_468_800
    assert octets["composite_stream_encrypt"] == 3_460_300_800
    assert octets["composite_stream_sign"] == 1_903_165_440


def test_the_rule_that_drops_a_pair_is_named(cli) -> None:
    """A pair that the published rule would admit and the table lacks is kept out by a rule that says so."""
    told = cli("plan", "composite_sign", "--explain", "Ed448+ML-DSA-44")
    assert "rule 'published-pairs'" in told.out
    assert "level-gap" in cli("plan", "composite_encrypt", "--explain", "P-256+ML-KEM-1024").out
    assert "is in, at 1 KiB" in cli("plan", "composite_encrypt", "--explain", "P-256+ML-KEM-768").out


def test_levels_may_be_a_specs_own(cli) -> None:
    """The pages' other levels give the same pairs."""
    levels = "levels={P-256: 2, P-521: 4, X25519: 2}"
    assert "160 cases" in cli("plan", "composite_encrypt", "--set", levels).out


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_runs(name: str, cli, tmp_path: Path) -> None:
    """One small case of every suite runs to its row; the CSV bears the published name."""
    path = find_spec(name)
    chosen = "X25519+ML-KEM-768" if "encrypt" in name else "Ed25519+ML-DSA-65"
    if "composite" not in name:
        chosen = "X25519/" if "encrypt" in name else "Ed25519/"
    words = ["--quick", "--iterations", "1", "--warmup", "0", "--set", "payloads=[70 KiB]", "-k", chosen]
    told = cli("run", path, *words, "--out", tmp_path)
    assert told.code == 0, told.err
    (table,) = tmp_path.glob("*/*/benchmark_*.csv")
    slug = {"composite_stream_encrypt": "composite_stream_enc", "composite_stream_sign": "composite_stream_sig"}
    assert table.name.startswith(f"benchmark_{slug.get(name, name)}_20")
    with table.open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["OUTCOME"] == "ok"
    timed = [column for column in row if column.endswith("_MS") and not column.startswith("CPU")]
    assert all(float(row[column]) > 0 for column in timed)
