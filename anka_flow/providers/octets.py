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


def address(data: Buffer) -> Any:
    """Return what a ``c_void_p`` parameter takes for the octets of ``data``: bytes as they are, else their address."""
    if type(data) is bytes:
        return data
    view = _View()
    _get(data, ctypes.byref(view), _SIMPLE)
    place = view.buf
    _release(ctypes.byref(view))
    return place


# New octets for a C function to fill before anybody else sees them; of at least 2, since CPython shares shorter ones.
# The zeroing is cheaper than a call that avoids it, and free for large ones, which come from fresh pages.
fresh = bytes


def function(library: ctypes.CDLL, name: str, *arguments: Any, result: Any = ctypes.c_int) -> _Call:
    """Return a C function with its prototype, its own object: other users of the library keep theirs."""
    found = library[name]
    found.argtypes, found.restype = arguments, result
    return found
