"""The system's own OpenSSL by its C interface: ARIA, which the OpenSSL inside the package cryptography does not give out.

Nothing is installed for it: a Linux that has OpenSSL 3 has it. The library is the one that Python's ``ssl`` uses.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, Opener, Primitive, Sealer
from anka_flow.provider import Provider, SecretKeys
from anka_flow.providers.octets import address, fresh, function

_P, _INT = ctypes.c_void_p, ctypes.c_int
_SET_NONCE_BYTES, _GET_TAG, _SET_TAG = 0x9, 0x10, 0x11  # EVP_CTRL_AEAD_*
_DECRYPT, _ENCRYPT, _UNCHANGED = 0, 1, -1
_MOST_BYTES = (1 << 31) - 1  # lengths are of C's int
_DOES_NOT_OPEN = "the ciphertext does not open"
_MECHANISMS = {f"aead:ARIA-{bits}-{mode}": f"ARIA-{bits}-{mode}" for bits in (128, 192, 256) for mode in ("GCM", "CCM")}


class LibCrypto(Provider):
    """See the module."""

    name = "libcrypto"
    obtain = "install OpenSSL 3 (libcrypto.so.3) by the system's own means"
    mechanisms = _MECHANISMS

    def unavailable(self) -> str | None:
        try:
            _load()
        except Unsupported as error:
            return str(error)
        return None

    def version(self) -> str:
        text: bytes = function(_load(), "OpenSSL_version", _INT, result=ctypes.c_char_p)(0)
        return f"libcrypto of the system ({text.decode()})"

    def options(self) -> Mapping[str, str]:
        return {"path": str(_path())}

    def implement(self, algorithm: Algorithm) -> Primitive:
        mechanism = self.mechanism(algorithm)
        if mechanism is None:
            raise Unsupported(f"libcrypto is not asked for {algorithm.name}")
        return _Aead(algorithm, mechanism, _load())


def _path() -> str | None:
    # Elsewhere the name finds a stub that ends the process (macOS) or a library of another name.
    return ctypes.util.find_library("crypto") if sys.platform == "linux" else None


@cache
def _load() -> ctypes.CDLL:
    """Return the library. Raises ``Unsupported`` if there is none, or one before 3.0."""
    path = _path()
    if path is None:
        raise Unsupported("there is no libcrypto.so of the system here")
    try:
        native = ctypes.CDLL(path)
        native["EVP_CIPHER_fetch"]
    except (OSError, AttributeError):
        raise Unsupported(f"{path} is not OpenSSL 3") from None
    return native


class _Context:
    """A keyed cipher of one direction. ``count`` takes the octets that a call wrote; ``at`` is its address."""

    __slots__ = ("at", "count", "pointer", "release")

    def __init__(self, pointer: int, release: Any) -> None:
        self.pointer, self.release, self.count = pointer, release, ctypes.c_int()
        self.at = ctypes.byref(self.count)

    def __del__(self) -> None:
        self.release(self.pointer)


class _Key:
    """A key and the contexts that hold its schedule, by direction; a context serves one message at a time."""

    __slots__ = ("idle", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.idle: tuple[list[_Context], list[_Context]] = ([], [])

    def __repr__(self) -> str:
        return "_Key(...)"


class _Aead(SecretKeys):
    """GCM (SP 800-38D) or CCM (SP 800-38C) of RFC 6209. GCM streams; CCM wants a message's length first."""

    def __init__(self, algorithm: Algorithm, mechanism: str, native: ctypes.CDLL) -> None:
        self.algorithm = algorithm
        sizes = algorithm.sizes
        self.key_bytes, self.nonce_bytes, self.tag_bytes = sizes["key"], sizes["nonce"], sizes["tag"]
        self.streams = mechanism.endswith("-GCM")
        fetch = function(native, "EVP_CIPHER_fetch", _P, ctypes.c_char_p, ctypes.c_char_p, result=_P)
        self._cipher = fetch(None, mechanism.encode(), None)  # kept as long as the process
        if not self._cipher:
            raise Unsupported(f"this libcrypto has no {mechanism}")
        self._new = function(native, "EVP_CIPHER_CTX_new", result=_P)
        self._free = function(native, "EVP_CIPHER_CTX_free", _P, result=None)
        self._control = function(native, "EVP_CIPHER_CTX_ctrl", _P, _INT, _INT, _P)
        self._start = function(native, "EVP_CipherInit_ex", _P, _P, _P, _P, _P, _INT)
        self.update = function(native, "EVP_CipherUpdate", _P, _P, _P, _P, _INT)
        self._final = function(native, "EVP_CipherFinal_ex", _P, _P, _P)

    def handle(self, raw: bytes) -> _Key:
        return _Key(raw)

    def _keyed(self, key: _Key, direction: int) -> _Context:
        context = _Context(self._new(), self._free)
        pointer = context.pointer
        steps = [
            self._start(pointer, self._cipher, None, None, None, direction),
            self._control(pointer, _SET_NONCE_BYTES, self.nonce_bytes, None),
            1 if self.streams else self._control(pointer, _SET_TAG, self.tag_bytes, None),
            self._start(pointer, None, None, key.raw, None, _UNCHANGED),
        ]
        if min(steps) <= 0:
            raise Refused(f"not a key of {self.algorithm.name}")
        return context

    def begin(self, key: _Key, direction: int, nonce: Buffer, aad: Buffer, length: int | None, tag: Buffer = b"") -> _Context:
        """Return a context that is ready for a message's first octet. CCM is told ``length``, and when it opens the ``tag``."""
        if len(nonce) != self.nonce_bytes:
            raise Refused("the nonce has a wrong length")
        if length and length > _MOST_BYTES:
            raise Unsupported(f"libcrypto takes at most {_MOST_BYTES:,} octets at once")
        try:
            context = key.idle[direction].pop()
        except IndexError:
            context = self._keyed(key, direction)
        pointer = context.pointer
        good = self._start(pointer, None, None, None, address(nonce), _UNCHANGED) > 0
        if tag:
            good &= self._control(pointer, _SET_TAG, len(tag), address(tag)) > 0
        if not self.streams:
            good &= self.update(pointer, None, context.at, None, length) > 0
        if len(aad):
            good &= self.update(pointer, None, context.at, address(aad), len(aad)) > 0
        if not good:
            raise Refused("nonce or data of a wrong length")
        return context

    def seal(self, key: _Key, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        size = len(data)
        context = self.begin(key, _ENCRYPT, nonce, aad, size)
        out = fresh(size + self.tag_bytes)
        place = _place(out)
        good = self.update(context.pointer, place, context.at, address(data) or b"", size) > 0
        good &= self._final(context.pointer, place + size, context.at) > 0
        good &= self._control(context.pointer, _GET_TAG, self.tag_bytes, place + size) > 0
        if not good:
            raise Refused("sealing failed")
        key.idle[_ENCRYPT].append(context)
        return out

    def open(self, key: _Key, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        view = memoryview(data)
        size = len(view) - self.tag_bytes
        if size < 0:
            raise Refused(_DOES_NOT_OPEN)
        context = self.begin(key, _DECRYPT, nonce, aad, size, bytes(view[size:]))
        plain = fresh(max(size, 2))
        good = self.update(context.pointer, plain, context.at, address(view[:size]) or b"", size) > 0
        if self.streams:  # CCM has verified by now
            good &= self._final(context.pointer, _place(plain) + size, context.at) > 0
        if not good:
            raise Refused(_DOES_NOT_OPEN)
        key.idle[_DECRYPT].append(context)
        return plain if size > 1 else plain[:size]

    def sealer(self, key: _Key, nonce: Buffer, aad: Buffer) -> Sealer:
        return _Sealer(self, key, self._streaming(key, _ENCRYPT, nonce, aad))

    def opener(self, key: _Key, nonce: Buffer, aad: Buffer) -> Opener:
        return _Opener(self, key, self._streaming(key, _DECRYPT, nonce, aad))

    def _streaming(self, key: _Key, direction: int, nonce: Buffer, aad: Buffer) -> _Context:
        if not self.streams:
            raise Unsupported(f"libcrypto takes a message of {self.algorithm.name} whole only")
        return self.begin(key, direction, nonce, aad, None)

    def finish(self, context: _Context, tag: bytes | None) -> bytes:
        """End a stream: return its tag, or verify the one that is given. Raises ``Refused``."""
        made = fresh(self.tag_bytes)
        if tag is not None and (len(tag) != self.tag_bytes or self._control(context.pointer, _SET_TAG, len(tag), tag) <= 0):
            raise Refused(_DOES_NOT_OPEN)
        if self._final(context.pointer, made, context.at) <= 0:
            raise Refused(_DOES_NOT_OPEN)
        if tag is None and self._control(context.pointer, _GET_TAG, len(made), made) <= 0:
            raise Refused("sealing failed")
        return made


_place = ctypes.pythonapi["PyBytes_AsString"]  # the address of fresh octets
_place.argtypes, _place.restype = (ctypes.py_object,), _P


class _Stream:
    """A GCM message in pieces; octets come out as they go in."""

    __slots__ = ("aead", "context", "key")

    def __init__(self, aead: _Aead, key: _Key, context: _Context) -> None:
        self.aead, self.key, self.context = aead, key, context

    def update_into(self, data: Buffer, out: memoryview | bytearray) -> int:
        size = len(data)
        if size > len(out):
            raise Refused("the output has too little room")
        if size and self.aead.update(self.context.pointer, address(out), self.context.at, address(data), size) <= 0:
            raise Refused("the message was refused")
        return size


class _Sealer(_Stream):
    """See ``primitives.Sealer``."""

    def finish(self) -> bytes:
        tag = self.aead.finish(self.context, None)
        self.key.idle[_ENCRYPT].append(self.context)
        return tag


class _Opener(_Stream):
    """See ``primitives.Opener``."""

    def finish(self, tag: Buffer) -> None:
        self.aead.finish(self.context, bytes(tag))
        self.key.idle[_DECRYPT].append(self.context)


PROVIDER = LibCrypto()
