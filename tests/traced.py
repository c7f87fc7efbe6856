"""How much memory a call allocates, whatever threads this process has."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any


def peak_bytes(call: Callable[[], object]) -> int:
    """Return the most octets that ``call`` held at one time; what it raises fails the test.

    It runs in a fork: before Python 3.12.9, ``tracemalloc.stop`` crashes a process in which another thread allocates
    (gh-128679), and a Java machine that an earlier test started has one, which collects garbage for Python.
    """
    context = get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=_trace, args=(call, sending))
    child.start()
    child.join()
    assert child.exitcode == 0, "the call did not return; its traceback is above"
    return int(receiving.recv())


def _trace(call: Callable[[], object], sending: Any) -> None:
    tracemalloc.start()
    call()
    sending.send(tracemalloc.get_traced_memory()[1])
