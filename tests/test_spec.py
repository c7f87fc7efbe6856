"""A wrong spec gives one clear message with file, line and column, exit code 2, and no traceback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from anka_flow.document import parse
from anka_flow.errors import SpecError
from anka_flow.spec import Spec, load

from .conftest import SPEC

WRONG = {
    "unknown key": (SPEC + "colour: red\n", "unknown key 'colour'"),
    "unknown key with a near one": (SPEC.replace("payloads:", "payload_sizes: [1]\npayloads:"), "unknown key 'payload_sizes'"),
    "unknown operator": (SPEC.replace("toy.check,", "toy.chek,"), "did you mean 'toy.check'?"),
    "missing input": (SPEC.replace("with: {data: $hash}", "with: {length: 32}"), "needs the input 'data'"),
    "unknown input": (SPEC.replace("{data: $hash}", "{data: $hash, size: 1}"), "has no input 'size'"),
    "dangling wire": (SPEC.replace("$hash}", "$hsh}"), "nothing makes the wire '$hsh'; did you mean 'hash'?"),
    "wrong wire type": (SPEC.replace("data: $payload}", "data: $alg}"), "'data' wants bytes, but $alg is Mac"),
    "wrong constant": (SPEC.replace("{data: $hash}", "{data: $hash, length: long}"), "'length' wants int"),
    "cycle": (SPEC.replace("data: $payload}, measure", "data: $later}, measure").replace(
        "{use: toy.check, with: {data: $hash}}", "{id: later, use: toy.digest, with: {data: $hash}}"), "go in a circle"),
    "bad size": (SPEC.replace("1 KiB", "1 KiBi"), "bad size '1 KiBi'"),
    "negative size": (SPEC.replace("1 KiB", "-1"), "bad size"),
    "bad expression": (SPEC + "rules: [{name: r, keep: 'alg.level >', why: x}]\n", "bad expression"),
    "unknown name in a rule": (SPEC + "rules: [{name: r, keep: 'alq.level > 1', why: x}]\n", "alq"),
    "forbidden expression": (SPEC + "rules: [{name: r, keep: 'alg.__class__', why: x}]\n", "bad expression"),
    "duplicate key": (SPEC + "name: again\n", "duplicate key 'name'"),
    "empty matrix": (SPEC.replace("[1 KiB, 4 KiB]", "[]"), "must not be empty"),
    "nothing selected": (SPEC.replace("{kind: mac,", "{kind: kem,"), "selects no algorithm"),
    "all dropped": (SPEC + "rules: [{name: r, keep: payload_bytes == 1, why: x}]\n", "no case is left"),
    "unknown algorithm": (SPEC.replace("HMAC-SHA256", "HMAC-SHA257"), "did you mean 'HMAC-SHA256'?"),
    "unknown meter": (SPEC.replace("[wall, cpu]", "[wal, cpu]"), "did you mean 'wall'?"),
    "unknown provider": (SPEC + "prefer: [opensll]\n", "did you mean 'openssl'?"),
    "bad column": (SPEC.replace("HASH.wall.median.ms", "HASH.wall.medan.ms"), "did you mean 'median'?"),
    "wrong expectation": (SPEC + "expect: {cases: 7}\n", "expected 7 cases, found 6"),
    "nothing measured": (SPEC.replace(", measure: HASH", ""), "no step is measured"),
    "a list": ("- a\n- b\n", "must be a mapping"),
    "plain text": ("hello", "must be a mapping"),
    "nothing at all": ("", "must be a mapping"),
    "not YAML": ("name: [1, 2\n", "not valid YAML"),
    "a tab": ("name:\n\t- x\n", "not valid YAML"),
    "python object": ("name: !!python/object/apply:os.system [ls]\n", "not valid YAML"),
    "exploding anchors": (
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{c}: &{c} [{', '.join(['*' + p] * 10)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
        "too many or too deep"),
    "a loop of anchors": ("a: &a [*a]\n", "too many or too deep"),
    "ten megabytes": ("name: " + "x" * 10_000_000, "larger than"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_spec_is_refused_with_its_place(case: str, workspace, cli) -> None:
    """Each fault is named with file, line and column, ends with exit code 2, and shows no traceback."""
    text, message = WRONG[case]
    path = workspace.spec(text)
    told = cli("run", path, "--out", workspace.root / "out")
    assert told.code == 2
    assert message in told.err
    assert "Traceback" not in told.err + told.out
    assert len(told.err.strip().splitlines()) == 1
    assert case == "unknown provider" or re.search(rf"{re.escape(str(path))}:\d+:\d+: ", told.err)


def test_the_place_is_the_fault_itself(workspace, cli) -> None:
    """Line and column point at the key that is wrong, not at the top of the file."""
    path = workspace.spec(SPEC.replace("toy.check,", "toy.chek,"))
    assert f"{path}:12:6: " in cli("validate", path).err


def test_a_missing_file_is_named(cli) -> None:
    """A spec that is neither a file nor bundled gives its name and where to look."""
    told = cli("run", "nowhere.yaml")
    assert (told.code, "nowhere.yaml" in told.err) == (2, True)


def test_settings_change_the_spec(workspace) -> None:
    """``--set`` reaches nested keys and list items, and its value is YAML."""
    spec, _ = load(workspace.spec(), ["run.rounds=3", "payloads=[2 KiB]", "pipeline.0.measure=DIGEST"])
    assert (spec.run.rounds, spec.payloads, spec.pipeline[0].measure) == (3, (2048,), "DIGEST")


@pytest.mark.parametrize("setting", ["run.rounds", "pipeline.9.measure=X", "name.deep=1", "run.rounds=["])
def test_a_bad_setting_is_refused(setting: str, workspace) -> None:
    """A setting that leads nowhere is an error, not a silent no-op."""
    with pytest.raises(SpecError):
        load(workspace.spec(), [setting])


def test_hexadecimal_seeds_read_as_numbers() -> None:
    """The published seed is written as in the published pages."""
    assert parse("x", "seed: 0xC0FFEE_BABEFACE").data["seed"] == 0xC0FFEEBABEFACE


def test_the_shipped_schema_is_the_models_own() -> None:
    """Editors complete what the program accepts."""
    import json

    import anka_flow

    shipped = Path(anka_flow.__file__).parent / "schema" / "spec.schema.json"
    assert json.loads(shipped.read_text(encoding="utf-8")) == Spec.model_json_schema(by_alias=True)
