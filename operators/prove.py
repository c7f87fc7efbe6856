"""What an algorithm must show before it is timed. A spec names this operator in ``prove`` (it is the default)."""

from __future__ import annotations

from anka_flow import Aead, Kem, Key, KeyWrap, Mac, Signer, check_known_answer, operator, prove_identity


@operator
def primitive(subject: Kem | Signer | Mac | Aead | KeyWrap, key: Key | None = None, provider: str = "") -> str:
    """Return the source of the known answer that the provider gave.

    Raises ``IdentityFailed`` on another answer, on sizes that are not the catalog's, or where a wrong key or a flipped bit
    passes. ``key``, if the case has one, spares making another.
    """
    source = check_known_answer(subject, subject.algorithm, provider)
    prove_identity(subject, subject.algorithm, key.pair if key else None)
    return source
