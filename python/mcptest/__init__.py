"""Test AI agents that use tools: judge recorded runs without a model.

``score`` judges traces, ``check`` raises unless one trace passes, and ``record`` records the agent code in a block. The pytest
plugin has a marker and a fixture of the same name. See ``docs/python.md`` in the repository.
"""

from mcptest._engine import __version__
from mcptest._record import Recording, record
from mcptest._score import Failure, Gates, GroupResult, Result, Scores, Trace, Verdict, check, score
from mcptest.errors import CheckFailed, EditedWarning, EngineError, GatesWarning, InputError, McptestError, RecordError

__all__ = [
    "CheckFailed",
    "EditedWarning",
    "EngineError",
    "Failure",
    "Gates",
    "GatesWarning",
    "GroupResult",
    "InputError",
    "McptestError",
    "RecordError",
    "Recording",
    "Result",
    "Scores",
    "Trace",
    "Verdict",
    "__version__",
    "check",
    "record",
    "score",
]
