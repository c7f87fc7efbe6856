"""Key encapsulation alone: a secret under a public key, and back."""

from __future__ import annotations

from dataclasses import dataclass

from anka_flow import CheckFailed, Kem, Key, Refused, operator


@dataclass(frozen=True, slots=True, repr=False)
class Encapsulation:
    """A ciphertext and the secret it carries."""

    ciphertext: bytes
    secret: bytes

    def facts(self) -> dict[str, int]:
        """Return the octets of both."""
        return {"ciphertext": len(self.ciphertext), "secret": len(self.secret)}


def _restore(data: bytes, algorithm: Kem) -> Key:
    return Key.load(data, algorithm)


@operator(restore=_restore)
def generate(algorithm: Kem) -> Key:
    """Return a new key pair."""
    return Key(algorithm, algorithm.generate())


@operator
def encapsulate(key: Key) -> Encapsulation:
    """Return a fresh secret and its ciphertext."""
    key.spend()
    return Encapsulation(*key.primitive.encapsulate(key.pair.public))


@operator
def decapsulate(key: Key, encapsulation: Encapsulation) -> bytes:
    """Return the secret that the ciphertext carries."""
    key.spend()
    secret: bytes = key.primitive.decapsulate(key.pair.private, encapsulation.ciphertext)
    return secret


@operator
def check_refusals(key: Key, other: Key, encapsulation: Encapsulation) -> None:
    """Another key, and a changed ciphertext, give another secret or none."""
    last = encapsulation.ciphertext[-1] ^ 1
    changed = Encapsulation(encapsulation.ciphertext[:-1] + bytes((last,)), encapsulation.secret)
    for what, holder, damaged in (("another key", other, encapsulation), ("a flipped bit", key, changed)):
        try:
            secret = decapsulate(holder, damaged)
        except Refused:
            continue
        if secret == encapsulation.secret:
            raise CheckFailed(f"{what} gave the same secret")
