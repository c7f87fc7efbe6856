"""Handing octets to C without a copy: addresses of buffers, and bytes that a C function fills.

Nothing here knows a crypto library. An address is valid as long as the caller holds the buffer that it was asked for.
"""

from __future__ import annotations

import ctypes
from typing import Any, Protocol

from anka_flow.primitives import Buffer

_SIMPLE = 0  # PyBUF_SIMPLE: a plain run of octets, read-only will do


class _View(ctypes.Structure):
    """``Py_buffer`` as the stable ABI of CPython 3.11 fixes it."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


class _Call(Protocol):
    def __call__(self, *arguments: Any) -> Any: ...


_get = ctypes.pythonapi["PyObject_GetBuffer"]
_get.argtypes = (ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
_release = ctypes.pythonapi["PyBuffer_Release"]
_release.argtypes = (ctypes.c_void_p,)
_release.restype = None
_fresh = ctypes.pythonapi["PyBytes_FromStringAndSize"]
_fresh.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t)
_fresh.restype = ctypes.py_object


def address(data: Buffer) -> Any:
    """Return what a ``c_void_p`` parameter takes for the octets of ``data``: bytes as they are, else their address."""
    if type(data) is bytes:
        return data
    view = _View()
    _get(data, ctypes.byref(view), _SIMPLE)
    place = view.buf
    _release(ctypes.byref(view))
    return place


def fresh(length: int) -> bytes:
    """Return new bytes of that length for a C function to fill before anybody else sees them: no zeroing and no copy.

    At least 2 octets, since CPython shares the bytes objects of length 0 and 1.
    """
    assert length > 1
    made: bytes = _fresh(None, length)
    return made


def function(library: ctypes.CDLL, name: str, *arguments: Any, result: Any = ctypes.c_int) -> _Call:
    """Return a C function with its prototype, its own object: other users of the library keep theirs."""
    found = library[name]
    found.argtypes, found.restype = arguments, result
    return found
