"""Every error that a user can meet, and the exit code that each one means.

Messages are lower case, name the place and the way out. Nothing here prints.
"""

from __future__ import annotations


class AnkaError(Exception):
    """Root of all errors that anka-flow raises on purpose."""

    exit_code = 1


class SpecError(AnkaError):
    """The spec, a catalog or an operator file is wrong. The message starts with ``file:line:column:`` where known."""

    exit_code = 2


class Unfit(AnkaError):
    """There is nothing to run, or the environment cannot carry the run."""

    exit_code = 3


class Regression(AnkaError):
    """A comparison found what ``--fail-on`` forbids."""

    exit_code = 4


class Interrupted(AnkaError):
    """The user stopped the run; its journal is kept."""

    exit_code = 130


class CheckFailed(AnkaError):
    """An iteration gave a wrong result: the case fails."""


class IdentityFailed(AnkaError):
    """An artefact shows that another algorithm ran than the one that the case names."""


class Refused(AnkaError):
    """A primitive or a construction refused its input: wrong tag, signature, key, length or encoding.

    One class and one sentence for every cause, so that the error does not tell an attacker which part failed.
    """


class Unsupported(AnkaError):
    """No present provider offers what was asked for. The message names the one that would, and how to get it."""


class Skip(AnkaError):
    """Raised by an operator that cannot serve this case; the row ends as ``skipped`` with this reason."""
