"""Expressions of rules and ``-k``, on the safe evaluator simpleeval. Nothing else evaluates text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"abs": abs, "min": min, "max": max, "len": len}


class Expression:
    """A boolean expression over names and their fields. Raises ``ValueError`` on what does not parse or evaluate."""

    def __init__(self, text: str) -> None:
        from simpleeval import EvalWithCompoundTypes

        self.text = text
        self._engine = EvalWithCompoundTypes(functions=dict(_FUNCTIONS))
        try:
            self._tree = self._engine.parse(text)
        except Exception as error:  # noqa: BLE001  # whatever the parser says of the text is the user's message
            raise ValueError(f"bad expression '{text}': {getattr(error, 'msg', error)}") from None

    def __call__(self, names: Mapping[str, Any]) -> bool:
        self._engine.names = names
        try:
            return bool(self._engine.eval(self.text, previously_parsed=self._tree))
        except Exception as error:  # noqa: BLE001  # whatever evaluation says of the text is the user's message
            raise ValueError(f"bad expression '{self.text}': {error} (known here: {', '.join(sorted(names))})") from None
