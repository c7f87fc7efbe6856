"""Makes what ``anka_flow/known_answers`` ships, and adds to it what is missing: ``python -m tests.make_known_answers``.

Deterministic algorithms take a standard's own example (the inputs stand here; the output is what all present providers
agree on, and where the standard's value stands here too it must be that). Others are made by one provider and confirmed by
another. Answers that are there already stay as they are.
"""

from __future__ import annotations

import json
import sys
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import anka_flow.known_answers as known_answers
from anka_flow.errors import IdentityFailed, Refused
from anka_flow.primitives import Algorithm
from anka_flow.provider import providers

from .offers import CATALOG, present, primitive
from .standard_examples import AEAD, KEM, MAC, SIGNATURE, WRAP

FOLDER = Path(known_answers.__file__).parent
MESSAGE = known_answers.MESSAGE
LARGE = 100_000  # octets of public key that are not worth storing


def text(data: bytes) -> str:
    return b64encode(data).decode()


def version(name: str) -> str:
    return providers().get(name).version()


def _made_by(names: list[str]) -> str:
    if len(names) == 1:
        return f"made by {version(names[0])}; no second provider was there to confirm"
    return f"made by {version(names[0])}, confirmed by {', '.join(version(name) for name in names[1:])}"


def _agreed(names: list[str], value: Any, expected: bytes | None) -> bytes:
    results = {value(name) for name in names}
    assert len(results) == 1, f"providers disagree: {names}"
    result: bytes = results.pop()
    assert expected is None or result.startswith(expected) or result.endswith(expected), "not what the standard says"
    return result


def mac(algorithm: Algorithm, names: list[str]) -> dict[str, str]:
    source, key, message, expected = MAC.get(algorithm.name, ("", bytes(range(algorithm.sizes["key"])), MESSAGE, None))
    tag = _agreed(names, lambda n: _mac(n, algorithm, key, message), expected)
    return {"source": source or _made_by(names), "key": text(key), "message": text(message), "tag": text(tag)}


def _mac(name: str, algorithm: Algorithm, key: bytes, message: bytes) -> bytes:
    made = primitive(name, algorithm.id)
    return bytes(made.tag(made.decode_private(key).private, message))


def aead(algorithm: Algorithm, names: list[str]) -> dict[str, str]:
    sizes = algorithm.sizes
    default = ("", bytes(range(sizes["key"])), bytes(range(sizes["nonce"])), b"additional data", MESSAGE, None)
    source, key, nonce, aad, data, expected = AEAD.get(algorithm.name, default)
    sealed = _agreed(names, lambda n: _seal(n, algorithm, key, nonce, data, aad), expected)
    named = {"key": key, "nonce": nonce, "aad": aad, "data": data, "sealed": sealed}
    return {"source": source or _made_by(names)} | {name: text(value) for name, value in named.items()}


def _seal(name: str, algorithm: Algorithm, key: bytes, nonce: bytes, data: bytes, aad: bytes) -> bytes:
    made = primitive(name, algorithm.id)
    return bytes(made.seal(made.decode_private(key).private, nonce, data, aad))


def wrap(algorithm: Algorithm, names: list[str]) -> dict[str, str]:
    made = primitive(names[0], algorithm.id)
    if algorithm.name in WRAP:
        source, private, content_key, wrapped = WRAP[algorithm.name]
    else:
        pair = made.generate()
        source, private, content_key = _made_by(names), made.encode_private(pair), bytes(range(32))
        wrapped = made.wrap(pair.public, content_key)
    for name in names:
        other = primitive(name, algorithm.id)
        assert other.unwrap(other.decode_private(private).private, wrapped) == content_key
    return {"source": source, "private": text(private), "content_key": text(content_key), "wrapped": text(wrapped)}


def signature(algorithm: Algorithm, names: list[str]) -> dict[str, str]:
    made = primitive(names[0], algorithm.id)
    if algorithm.name in SIGNATURE:
        source, public, message, signed = SIGNATURE[algorithm.name]
    else:
        pair = made.generate()
        source, public, message = _made_by(names), made.encode_public(pair.public), MESSAGE
        signed = made.sign(pair.private, message)
    for name in names:
        other = primitive(name, algorithm.id)
        assert other.verify(other.decode_public(public), message, signed) is True, f"{name} does not verify {algorithm.name}"
    return {"source": source, "public": text(public), "message": text(message), "signature": text(signed)}


def kem(algorithm: Algorithm, names: list[str]) -> dict[str, Any]:
    if algorithm.name in KEM:
        source, private, ciphertext, expected = KEM[algorithm.name]
        secret = _agreed(names, lambda n: _decapsulate(n, algorithm, private, ciphertext), expected)
        return {"source": source, "private": text(private), "ciphertext": text(ciphertext), "secret": text(secret)}
    first = next((n for n in names if n in ("openssl", "pqcrypto", "liboqs")), names[0])
    return _fresh(algorithm, [first, *(name for name in names if name != first)])


def _decapsulate(name: str, algorithm: Algorithm, private: bytes, ciphertext: bytes) -> bytes:
    made = primitive(name, algorithm.id)
    return bytes(made.decapsulate(made.decode_private(private).private, ciphertext))


def _fresh(algorithm: Algorithm, names: list[str]) -> dict[str, Any]:
    """Return an answer whose key the first provider made and whose ciphertext the second, where there is one."""
    made, other = primitive(names[0], algorithm.id), primitive(names[min(1, len(names) - 1)], algorithm.id)
    pair = made.generate()
    public = made.encode_public(pair.public)
    ciphertext, secret = other.encapsulate(other.decode_public(public))
    assert made.decapsulate(pair.private, ciphertext) == secret
    source = _made_by(names) if len(names) == 1 else f"key made by {version(names[0])}, ciphertext by {version(names[1])}"
    answer = {"source": source, "ciphertext": text(ciphertext), "secret": text(secret)}
    return answer | _stored(public, made.encode_private(pair))


def _stored(public: bytes, encoded: bytes) -> dict[str, Any]:
    """Return the key apart, so that each provider can put it together in its own form."""
    for head in (len(public).to_bytes(4, "big") + public, public):
        if encoded.startswith(head) and len(encoded) > len(head):
            private = encoded[len(head) :]
            return {"public": len(public) if len(public) > LARGE else text(public), "private": text(private)}
    return {"private": text(encoded)}


def _ml_kem(algorithm: Algorithm) -> dict[str, Any]:
    """Return an answer that holds the seed and the expanded key: libraries load one or the other."""
    from Crypto.PublicKey import MLKEM

    seed = bytes(range(64))
    key = MLKEM.construct(param_set=MLKEM.ParamSet(algorithm.name), seed=seed)
    maker = next(name for name in present(algorithm.id) if name in ("openssl", "liboqs", "pqcrypto"))
    made = primitive(maker, algorithm.id)
    ciphertext, secret = made.encapsulate(made.decode_public(key.ek))
    source = f"key of the seed 00..3f expanded by {version('pycryptodome')}, ciphertext by {version(maker)}"
    octets = {"seed": seed, "public": key.ek, "private": key.expanded_dk, "ciphertext": ciphertext, "secret": secret}
    return {"source": source} | {name: text(data) for name, data in octets.items()}


MAKERS = {"mac": mac, "aead": aead, "wrap": wrap, "signature": signature, "kem": kem}


def _add_own(algorithm: Algorithm, answer: dict[str, Any], names: list[str]) -> None:
    """Add an answer of its own for each provider that loads no form of the key."""
    for name in names:
        made = primitive(name, algorithm.id)
        if not known_answers.check_known_answer(made, algorithm, name).startswith("none"):
            continue
        if _add_head(algorithm, answer, name):
            continue
        others = [n for n in names if n != name]
        answer.setdefault("own", {})[name] = _fresh(algorithm, [name, *others])


def _add_head(algorithm: Algorithm, answer: dict[str, Any], name: str) -> bool:
    """Add what a provider puts before the private key that others have bare, if that makes it load this answer."""
    if "public" not in answer:
        return False
    made = primitive(name, algorithm.id)
    pair = made.generate()
    private = b64decode(_stored(made.encode_public(pair.public), made.encode_private(pair))["private"])
    extra = len(private) - len(b64decode(answer["private"]))
    if not 0 < extra < 64:
        return False
    tried = answer | {"heads": answer.get("heads", {}) | {name: text(private[:extra])}}
    good = any(
        made.decapsulate(pair.private, b64decode(answer["ciphertext"])) == b64decode(answer["secret"])
        for pair in known_answers._loaded(made, tried, name)
    )
    if good:
        answer["heads"] = tried["heads"]
    return good


def main() -> int:
    """Add the missing answers; return the number of algorithms that are left without one."""
    left = []
    for kind, make in MAKERS.items():
        path = FOLDER / f"{kind}.json"
        answers = json.loads(path.read_text("ascii")) if path.is_file() else {}
        for algorithm in (a for a in CATALOG.algorithms.values() if a.kind == kind):
            names = present(algorithm.id)
            if not names:
                left += [] if algorithm.name in answers else [algorithm.id]
                continue
            if algorithm.name not in answers or (len(names) > 1 and "no second" in answers[algorithm.name]["source"]):
                answers[algorithm.name] = _ml_kem(algorithm) if algorithm.family == "ML-KEM" else make(algorithm, names)
            _write(path, answers)
            if kind == "kem":
                _add_own(algorithm, answers[algorithm.name], names)
                _write(path, answers)
            _confirm(algorithm, names)
    print("without an answer:", ", ".join(left) or "none")
    return len(left)


def _write(path: Path, answers: dict[str, Any]) -> None:
    lines = [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in sorted(answers.items())]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "ascii")
    known_answers._answers.cache_clear()


def _confirm(algorithm: Algorithm, names: list[str]) -> None:
    for name in names:
        try:
            source = known_answers.check_known_answer(primitive(name, algorithm.id), algorithm, name)
        except (IdentityFailed, Refused) as error:
            source = f"WRONG: {error}"
        print(f"{algorithm.id} {name}: {source}")


if __name__ == "__main__":
    sys.exit(main())
