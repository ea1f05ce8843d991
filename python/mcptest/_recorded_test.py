"""What the marker of an agent test says, and the checks that follow from it."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mcptest._cassettes import Cassette
from mcptest._record import Recording
from mcptest._score import Gates, load_gates, options, report
from mcptest.errors import EditedWarning, InputError

if TYPE_CHECKING:
    import pytest

# The checks of one run, and of all runs together, in the order of reports.
_OF_A_RUN = ("expect", "trajectory", "trajectory_axes", "golden_path", "recovery", "narrative")
_OF_ALL_RUNS = ("stability", "reliability")

# As in suites.
_MAX_RUNS = 100_000


@dataclass(frozen=True)
class Check:
    """One item: a check of one run, or of all runs."""

    test: RecordedTest
    id: str
    run: int | None
    gates: dict[str, Any] = field(hash=False)

    @property
    def is_absorbed(self) -> bool:
        """Whether a failure of this run is for `reliability` to judge."""
        return self.run is not None and self.test.at_least is not None

    def judge(self, runs: Sequence[Cassette]) -> str | None:
        """Judge the recorded runs, all of which are passed in. Return the terminal report, or None if they pass."""
        if self.run is not None:
            runs = [runs[self.run - 1]]
        for run in runs:
            if run.is_edited:
                message = f"{run.path}: this recording was edited after it was recorded, and the edit was accepted"
                warnings.warn(message, EditedWarning, stacklevel=2)
        name = runs[0].path if self.run is not None else os.path.dirname(runs[0].path)
        given = options(group_by="test", format="cassette")
        text = report([run.text for run in runs], self.gates, name, given, folder=self.test.folder)
        if text is not None and text.startswith("note: "):
            # Single runs have items of their own.
            text = text.partition("\n\n")[2]
        return text


@dataclass(frozen=True)
class RecordedTest:
    """The arguments of ``@pytest.mark.mcptest``."""

    gates: dict[str, Any] = field(hash=False)
    folder: str | None = None
    runs: int = 1
    at_least: float | None = None
    servers: Mapping[str, str | Sequence[str]] = field(default_factory=dict, hash=False)
    model: Literal["required", "unseen"] = "required"

    @classmethod
    def of(cls, marker: pytest.Mark, test_file: Path) -> RecordedTest:
        """Read a marker. Paths are relative to the file of the test."""
        return cls._of(test_file.parent, *marker.args, **marker.kwargs)

    @classmethod
    def _of(cls, folder: Path, gates: Gates | None = None, **others: Any) -> RecordedTest:
        known = ("runs", "at_least", "servers", "model")
        unknown = [name for name in others if name not in known]
        if unknown:
            raise InputError(f"the marker `mcptest` has no argument {unknown[0]!r}\nhint: it has gates, {', '.join(known)}")
        if gates is None:
            raise InputError("the marker `mcptest` has no gates\nhint: @pytest.mark.mcptest(gates='gates.yml')")
        if isinstance(gates, (str, os.PathLike)):
            gates = folder / gates
        runs, at_least = others.get("runs", 1), others.get("at_least")
        if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
            raise InputError(f"runs is a whole number from 1, not {runs!r}")
        if runs > _MAX_RUNS:
            raise InputError(f"runs is at most {_MAX_RUNS}, not {runs}")
        loaded, source = load_gates(gates, str(folder))
        if at_least is not None:
            if isinstance(at_least, bool) or not isinstance(at_least, (int, float)) or not 0 < at_least < 1:
                raise InputError(f"at_least is a pass rate between 0 and 1, not {at_least!r}")
            loaded["reliability"] = {**(loaded.get("reliability") or {}), "at_least": at_least}
            loaded, _ = load_gates(loaded, source)
        if "stability" in loaded and runs == 1:
            raise InputError("`stability` compares runs, and this test has one\nhint: set runs=2 or more")
        servers, model = others.get("servers") or {}, others.get("model", "required")
        # Checks the arguments, even if nothing is recorded.
        Recording(servers, model)
        return cls(loaded, source, runs, at_least, servers, model)

    def inputs(self, function: Callable[..., object], parameters: Mapping[str, object]) -> dict[str, object]:
        """Return what a recording depends on, except for code that the test calls. Recordings of other inputs are stale."""
        found: dict[str, object] = {"model": self.model, "servers": {name: {} for name in self.servers}}
        code = _code(function)
        if code is not None:
            found["code_sha256"] = _hash(code)
        if parameters:
            found["parameters_sha256"] = _hash(_plain(parameters))
        return found

    def checks(self) -> list[Check]:
        """Return the checks of every run, and those of all runs together."""
        of_all = [gate for gate in _OF_ALL_RUNS if gate in self.gates]
        single = {key: value for key, value in self.gates.items() if key not in _OF_ALL_RUNS}
        if set(single) <= set(_OF_A_RUN):
            parts = {gate: {gate: single[gate]} for gate in _OF_A_RUN if gate in single}
        else:
            # Gates for several tasks are judged together: which of them apply depends on the trace.
            parts = {"gates": single}
        checks = [Check(self, f"run{run}-{name}", run, gates) for run in range(1, self.runs + 1) for name, gates in parts.items()]
        for gate in of_all:
            # A pass rate counts the runs that pass the other gates.
            gates = {gate: self.gates[gate]} if gate == "stability" else {**single, gate: self.gates[gate]}
            checks.append(Check(self, gate, None, gates))
        if not checks:
            raise InputError("these gates judge nothing")
        return checks


def _code(function: Callable[..., object]) -> object:
    """Return the statements of a function, the same for every layout and every version of Python; None without its source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body[0]
    except (OSError, SyntaxError, TypeError):
        return None
    return _shape(tree.body) if isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def _shape(node: object) -> object:
    if isinstance(node, ast.AST):
        # Fields without a value come and go with versions.
        parts = [(name, value) for name, value in ast.iter_fields(node) if value is not None and value != []]
        return [type(node).__name__, *([name, _shape(value)] for name, value in parts if name not in ("kind", "type_comment"))]
    return [_shape(one) for one in node] if isinstance(node, list) else repr(node)


def _plain(value: object) -> object:
    """Return a value as JSON. An object of an unknown type becomes its type: its repr may differ between processes."""
    if isinstance(value, Enum):
        return [type(value).__qualname__, value.name]
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(_hash(_plain(one)) for one in value)
    if hasattr(value, "__qualname__"):
        # A class or a function.
        return str(value.__qualname__)
    name = type(value).__qualname__
    if is_dataclass(value):
        return [name, {one.name: _plain(getattr(value, one.name)) for one in fields(value)}]
    dump = getattr(value, "model_dump", None)
    return [name, _plain(dump())] if callable(dump) else name


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
