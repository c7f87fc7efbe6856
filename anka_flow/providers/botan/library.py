"""Botan's C interface (``botan/ffi.h``) by ctypes: prototypes, error codes, owned pointers. It knows no algorithm."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from anka_flow.errors import Refused, Unsupported
from anka_flow.providers.octets import function
from anka_flow.providers.place import provider_folder, shared_object

_TYPES = {"p": ctypes.c_void_p, "s": ctypes.c_size_t, "u": ctypes.c_uint32, "c": ctypes.c_char_p}
# One letter per parameter: pointer, size, uint32, C string.
_PROTOTYPES = {
    "rng_init": "pc",
    "cipher_init": "pcu",
    "cipher_set_key": "pps",
    "cipher_set_associated_data": "pps",
    "cipher_start": "pps",
    "cipher_update": "pupsppsp",
    "cipher_reset": "p",
    "cipher_get_update_granularity": "pp",
    "mac_init": "pcu",
    "mac_set_key": "pps",
    "mac_set_nonce": "pps",
    "mac_update": "pps",
    "mac_final": "pp",
    "mp_init": "p",
    "mp_from_bin": "pps",
    "mp_num_bits": "pp",
    "privkey_create": "pccp",
    "privkey_load": "ppps" + "c",
    "privkey_export_pubkey": "pp",
    "privkey_view_der": "ppp",
    "privkey_view_raw": "ppp",
    "privkey_algo_name": "ppp",
    "privkey_remaining_operations": "pp",
    "pubkey_load": "pps",
    "pubkey_view_der": "ppp",
    "pubkey_view_raw": "ppp",
    "pubkey_view_ec_public_point": "ppp",
    "pubkey_algo_name": "ppp",
    "pubkey_check_key": "ppu",
    "pubkey_rsa_get_n": "pp",
    "pubkey_load_ecdh_sec1": "ppsc",
    "pubkey_load_ecdsa_sec1": "ppsc",
    "pubkey_load_sm2_sec1": "ppsc",
    "privkey_load_ecdh": "ppc",
    "privkey_load_ecdsa": "ppc",
    "pubkey_load_x25519": "pp",
    "pubkey_load_x448": "pp",
    "pubkey_load_ed25519": "pp",
    "pubkey_load_ed448": "pp",
    "privkey_load_x25519": "pp",
    "privkey_load_x448": "pp",
    "privkey_load_ed25519": "pp",
    "privkey_load_ed448": "pp",
    "pubkey_load_ml_kem": "ppsc",
    "pubkey_load_ml_dsa": "ppsc",
    "pubkey_load_slh_dsa": "ppsc",
    "pubkey_load_frodokem": "ppsc",
    "pubkey_load_classic_mceliece": "ppsc",
    "privkey_load_ml_kem": "ppsc",
    "privkey_load_ml_dsa": "ppsc",
    "privkey_load_slh_dsa": "ppsc",
    "privkey_load_frodokem": "ppsc",
    "privkey_load_classic_mceliece": "ppsc",
    "pk_op_encrypt_create": "ppcu",
    "pk_op_encrypt": "pppp" + "ps",
    "pk_op_decrypt_create": "ppcu",
    "pk_op_decrypt": "ppp" + "ps",
    "pk_op_sign_create": "ppcu",
    "pk_op_sign_update": "pps",
    "pk_op_sign_finish": "pppp",
    "pk_op_sign_output_length": "pp",
    "pk_op_verify_create": "ppcu",
    "pk_op_verify_update": "pps",
    "pk_op_verify_finish": "pps",
    "pk_op_key_agreement_create": "ppcu",
    "pk_op_key_agreement_export_public": "ppp",
    "pk_op_key_agreement": "pppps" + "ps",
    "pk_op_kem_encrypt_create": "ppc",
    "pk_op_kem_encrypt_create_shared_key": "pppss" + "pppp",
    "pk_op_kem_decrypt_create": "ppc",
    "pk_op_kem_decrypt_shared_key": "ppsps" + "spp",
}
BAD_MAC = -2
_VIEW = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Owned:
    """A pointer to an object of the library, destroyed with this handle."""

    __slots__ = ("destroy", "pointer")

    def __init__(self, pointer: int, destroy: Callable[[int], int]) -> None:
        self.pointer, self.destroy = pointer, destroy

    def __del__(self) -> None:
        self.destroy(self.pointer)


class Operation(Owned):
    """An operation or cipher, with room for the two lengths that its calls write. It serves one call at a time."""

    __slots__ = ("at", "first", "second")

    def __init__(self, pointer: int, destroy: Callable[[int], int]) -> None:
        super().__init__(pointer, destroy)
        self.first, self.second = ctypes.c_size_t(), ctypes.c_size_t()
        self.at = ctypes.byref(self.first), ctypes.byref(self.second)


T = TypeVar("T", bound=Owned)


class Library:
    """The loaded library; its functions are attributes, named without ``botan_``."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.native = ctypes.CDLL(path)
        if function(self.native, "botan_ffi_supports_api", ctypes.c_uint32)(20250829):
            raise Unsupported("this Botan is older than 3.10")
        self.rng = self.make("rng_init", "rng_destroy", b"system")

    def __getattr__(self, name: str) -> Any:
        letters = _PROTOTYPES.get(name)
        types = [_TYPES[letter] for letter in letters] if letters else [ctypes.c_void_p]
        found = function(self.native, f"botan_{name}", *types)
        setattr(self, name, found)
        return found

    def make(self, maker: str, destroyer: str, *arguments: Any) -> Owned:
        """Return the object that ``maker`` writes to its first parameter. Raises ``Refused`` if it makes none."""
        return self._make(Owned, maker, destroyer, *arguments)

    def begin(self, kind: str, maker: str, *arguments: Any) -> Operation:
        """Return a new operation or cipher: ``botan_<kind>_<maker>`` makes it. Raises ``Refused`` if it makes none."""
        return self._make(Operation, f"{kind}_{maker}", f"{kind}_destroy", *arguments)

    def _make(self, shape: type[T], maker: str, destroyer: str, *arguments: Any) -> T:
        place = ctypes.c_void_p()
        code = getattr(self, maker)(ctypes.byref(place), *arguments)
        if code or not place.value:
            raise Refused(f"Botan refused its input ({maker}: {code})")
        return shape(place.value, getattr(self, destroyer))

    def view(self, viewer: str, handle: Owned) -> bytes:
        """Return the octets that a ``*_view_*`` function shows of an object."""
        seen: list[bytes] = []

        def show(_context: int, data: int, length: int) -> int:
            seen.append(ctypes.string_at(data, length))
            return 0

        callback = _VIEW(show)
        self.check(getattr(self, viewer)(handle.pointer, None, callback))
        return seen[0]

    def name(self, namer: str, handle: Owned) -> str:
        """Return a short text of an object, such as a key's algorithm."""
        buffer, length = ctypes.create_string_buffer(128), ctypes.c_size_t(128)
        self.check(getattr(self, namer)(handle.pointer, buffer, ctypes.byref(length)))
        return buffer.value.decode()

    def size(self, asker: str, handle: Owned) -> int:
        """Return a number that a function writes to its second parameter."""
        number = ctypes.c_uint64()
        self.check(getattr(self, asker)(handle.pointer, ctypes.byref(number)))
        return number.value

    def check(self, code: int) -> None:
        """Raises ``Refused`` unless the library was content."""
        if code:
            raise Refused(f"Botan refused its input ({code})")

    def integer(self, data: bytes) -> Owned:
        """Return a big integer from its big-endian octets."""
        number = self.make("mp_init", "mp_destroy")
        self.check(self.mp_from_bin(number.pointer, data, len(data)))
        return number


def find() -> Path | None:
    """Return the library of the data folder (or of ``ANKA_FLOW_BOTAN``), or None. A library of the system is not taken:
    distributions leave out what the catalog names."""
    if named := os.environ.get("ANKA_FLOW_BOTAN"):
        return Path(named) if Path(named).is_file() else None
    return shared_object(provider_folder("botan"), "botan-3")


@lru_cache(maxsize=1)
def load() -> Library:
    """Return the library. Raises ``Unsupported`` if it is missing or does not load."""
    path = find()
    if path is None:
        raise Unsupported("the library Botan 3 is missing")
    try:
        return Library(str(path))
    except (OSError, AttributeError) as error:
        raise Unsupported(f"Botan does not load: {error}") from None
