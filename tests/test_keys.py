"""Keys, their limits, the store, and what guards it at rest."""

from __future__ import annotations

import multiprocessing
import os
import stat
import time
from pathlib import Path

import pytest

from anka_flow import Key, Refused, primitive
from anka_flow.jose.protector import PassphraseProtector
from anka_flow.keys import MAX_AGE_S, MAX_USES, KeySpent, KeyStore, PassThrough

HMAC = primitive("mac", "HMAC-SHA256")


def new_key(**limits: float) -> Key:
    return Key(HMAC, HMAC.generate(), **limits)  # type: ignore[arg-type]  # limits by name


def protector(passphrase: str = "correct horse") -> PassphraseProtector:
    return PassphraseProtector(passphrase, primitive("wrap", "AES-256-KW"), log2_n=4)


def test_a_key_allows_as_many_uses_as_its_limit_and_no_more() -> None:
    """The use after the last allowed one raises, and names the key and the way out."""
    key = new_key(limit=3)
    for _ in range(3):
        key.spend()
    with pytest.raises(KeySpent, match=rf"^key {key.kid} has reached its limit of 3 uses; make a new key$"):
        key.spend()


def test_a_key_has_the_limits_of_the_suites_unless_told_otherwise() -> None:
    """100,000 uses and 365 days."""
    key = new_key()
    assert (key.limit, MAX_USES) == (100_000, 100_000)
    assert MAX_AGE_S == 365 * 24 * 3600
    assert key.expires_s == pytest.approx(time.time() + MAX_AGE_S, abs=60)


def test_an_expired_key_is_refused() -> None:
    """A key past its expiry raises at its next use."""
    key = new_key(expires_s=time.time() - 1)
    with pytest.raises(KeySpent, match="has expired; make a new key"):
        key.spend()


def test_a_stored_key_keeps_its_limits_and_uses() -> None:
    """Dump and load bring back the same key, with what was already used of it."""
    key = new_key(limit=10)
    key.spend()
    again = Key.load(key.dump(), HMAC)
    assert (again.kid, again.limit, again.expires_s, again.uses) == (key.kid, 10, key.expires_s, 1)
    assert HMAC.tag(again.pair.private, b"message") == HMAC.tag(key.pair.private, b"message")


@pytest.mark.parametrize("data", [b"", b"\n", b"{}\n", b"[]\nxx", b'{"kid": "a", "secret": 1}\n' + bytes(32)])
def test_what_is_no_stored_key_is_refused(data: bytes) -> None:
    """Octets that ``dump`` did not make are refused without showing them."""
    with pytest.raises(Refused):
        Key.load(data, HMAC)


def test_the_kid_of_a_secret_key_says_nothing_of_its_octets() -> None:
    """Two keys of the same octets have different names."""
    octets = bytes(32)
    assert Key(HMAC, HMAC.decode_private(octets)).kid != Key(HMAC, HMAC.decode_private(octets)).kid


def test_repr_of_a_key_shows_no_octet_of_it() -> None:
    """Key, key pair and protector print names alone."""
    key = new_key()
    secret = HMAC.encode_private(key.pair)
    assert repr(key) == f"Key(HMAC-SHA256, kid={key.kid})"
    assert repr(key.pair) == "KeyPair(...)"
    assert repr(protector("correct horse")) == "PassphraseProtector(...)"
    assert secret.hex() not in repr(key) + repr(key.pair)


def test_store_keeps_folder_and_files_to_their_owner(tmp_path: Path) -> None:
    """0700 and 0600, whatever the umask."""
    old = os.umask(0)
    try:
        store = KeyStore(tmp_path / "run" / "keys")
        store.put("name", b"secret")
    finally:
        os.umask(old)
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in store.folder.iterdir()] == [0o600]


def test_stores_are_isolated(tmp_path: Path) -> None:
    """What one store holds, another one does not have, and file names tell nothing of the names."""
    first, second = KeyStore(tmp_path / "a"), KeyStore(tmp_path / "b")
    first.put("HMAC-SHA256", b"secret")
    assert second.get("HMAC-SHA256") is None
    assert not any("HMAC" in path.name for path in first.folder.iterdir())


def test_a_second_put_replaces_the_first(tmp_path: Path) -> None:
    """The store gives the last secret of a name, and leaves no other file behind."""
    store = KeyStore(tmp_path / "keys")
    store.put("name", b"one")
    store.put("name", b"two")
    assert store.get("name") == b"two"
    assert len(list(store.folder.iterdir())) == 1


def test_put_does_not_follow_a_link_that_another_has_laid(tmp_path: Path) -> None:
    """A link in the place of the file that ``put`` makes first is not written through."""
    store, victim = KeyStore(tmp_path / "keys"), tmp_path / "victim"
    victim.write_bytes(b"untouched")
    store.put("name", b"secret")
    (path,) = store.folder.iterdir()
    path.with_suffix(f".{os.getpid()}").symlink_to(victim)
    with pytest.raises(FileExistsError):
        store.put("name", b"again")
    assert victim.read_bytes() == b"untouched"


def test_clear_removes_all(tmp_path: Path) -> None:
    """After ``clear`` neither secrets nor folder are there; a second one does nothing."""
    store = KeyStore(tmp_path / "keys")
    store.put("name", b"secret")
    store.clear()
    store.clear()
    assert not (tmp_path / "keys").exists()


def test_take_gives_a_key_once(tmp_path: Path) -> None:
    """A stateful key is handed out a single time; who comes second is told so, by name alone."""
    store = KeyStore(tmp_path / "keys")
    store.put("XMSS", b"state")
    assert store.take("XMSS") == b"state"
    with pytest.raises(KeySpent, match=r"^stateful key 'XMSS' was handed out before; make a new key$"):
        store.take("XMSS")
    assert list(store.folder.iterdir()) == []


def _race(folder: Path, barrier: object, results: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]  # a multiprocessing barrier
    try:
        results.put(KeyStore(folder).take("LMS"))  # type: ignore[attr-defined]  # a multiprocessing queue
    except KeySpent:
        results.put(None)  # type: ignore[attr-defined]  # as above


def test_take_has_one_winner_among_processes(tmp_path: Path) -> None:
    """Of eight processes that take at once, one gets the key, in each of five races."""
    context = multiprocessing.get_context("fork")
    for race in range(5):
        folder = tmp_path / str(race)
        KeyStore(folder).put("LMS", b"state")
        barrier, results = context.Barrier(8), context.Queue()
        takers = [context.Process(target=_race, args=(folder, barrier, results)) for _ in range(8)]
        for taker in takers:
            taker.start()
        taken = [results.get(timeout=30) for _ in takers]
        for taker in takers:
            taker.join()
        assert sorted(one is not None for one in taken) == [False] * 7 + [True]


def test_pass_through_changes_nothing() -> None:
    """The protector of benchmark runs gives back what it is given."""
    assert PassThrough().reveal(PassThrough().protect(b"secret")) == b"secret"


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 32, 4097])
def test_a_protected_secret_comes_back(length: int) -> None:
    """Any length survives, and what is stored does not hold the secret."""
    secret = os.urandom(length)
    stored = protector().protect(secret)
    assert protector().reveal(stored) == secret
    assert length < 8 or secret not in stored


def test_a_wrong_passphrase_is_refused() -> None:
    """The error says neither what was stored nor what was tried."""
    with pytest.raises(Refused, match=r"^stored key does not open with this passphrase$"):
        protector("wrong").reveal(protector().protect(b"secret"))


def test_every_changed_octet_is_refused() -> None:
    """Parameters, salt and wrapped octets: no bit of them can be changed, none can be lost."""
    stored = protector().protect(b"secret")
    damaged = [stored[:at] + bytes((stored[at] ^ 1,)) + stored[at + 1 :] for at in range(len(stored))]
    for octets in (*damaged, stored[:-8], stored + bytes(8), stored[:10], b""):
        with pytest.raises(Refused, match=r"^stored key does not open with this passphrase$"):
            protector().reveal(octets)


@pytest.mark.parametrize(
    "parameters", [(40, 8, 1), (255, 255, 255), (20, 16, 1), (4, 255, 16), (0, 8, 1), (4, 0, 1), (4, 8, 0)]
)
def test_stored_parameters_cannot_ask_for_much(parameters: tuple[int, int, int]) -> None:
    """Stored cost parameters beyond 128 MiB, and those that are none, are refused before scrypt runs."""
    stored = protector().protect(b"secret")
    with pytest.raises(Refused):
        protector().reveal(stored[:5] + bytes(parameters) + stored[8:])


def test_a_store_behind_a_passphrase_holds_no_plain_secret(tmp_path: Path) -> None:
    """The protector is what stands between the store and its files, for ``get`` and for ``take``."""
    store = KeyStore(tmp_path / "keys", protector())
    store.put("name", b"a secret of some length")
    assert all(b"a secret" not in path.read_bytes() for path in store.folder.iterdir())
    with pytest.raises(Refused):
        KeyStore(tmp_path / "keys", protector("wrong")).get("name")
    assert store.get("name") == store.take("name") == b"a secret of some length"


def test_protection_is_salted() -> None:
    """The same secret is stored differently each time."""
    assert protector().protect(b"secret") != protector().protect(b"secret")
