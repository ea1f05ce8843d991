"""Judging traces: ``score`` and ``check``."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from mcptest._engine import ENGINE, encode
from mcptest.errors import CheckFailed, GatesWarning, InputError, McptestError

Trace: TypeAlias = Any
"""An envelope, a list of messages, or another record that ``mcptest score`` reads: as objects, or as JSON text."""

Gates: TypeAlias = "Mapping[str, Any] | str | os.PathLike[str]"
"""Gates as a dictionary, or the path of a gates file."""

Verdict: TypeAlias = Literal["pass", "fail", "unassessable", "inconclusive", "error", "absorbed"]

# Records per request: few at first, then as many as fit in about _BYTES. A request over _LIMIT is split.
_FIRST, _MOST, _BYTES, _LIMIT = 64, 2048, 256 << 10, 64 << 20

# How the line of a group begins.
_GROUP = b'{"group"'

# The exit code of a score in which a check failed.
_FAILED = 1


@dataclass(slots=True)
class Failure:
    """Why a trace or a group did not pass."""

    gate: str
    target: str
    reason: str


@dataclass(slots=True)
class Result:
    """What was found about one trace."""

    index: int
    id: str | None
    group: str | None
    verdict: Verdict | None
    metrics: dict[str, dict[str, Any]]
    failures: list[Failure]

    @property
    def passed(self) -> bool:
        """Whether all checks of this trace passed."""
        return self.verdict == "pass"


@dataclass(slots=True)
class GroupResult:
    """What was found about all runs of one group."""

    group: str
    runs: int
    verdict: Verdict | None
    metrics: dict[str, dict[str, Any]]
    failures: list[Failure]
    notes: list[str]

    @property
    def passed(self) -> bool:
        """Whether all checks of this group passed."""
        return self.verdict == "pass"


class Scores:
    """The results of a score. Results are read when they are asked for."""

    def __init__(self, lines: list[bytes], exit_code: int, messages: str) -> None:
        """Keep the lines of a score."""
        self.lines = lines
        """What ``mcptest score`` prints: a line of JSON per trace, then one per group."""
        self.exit_code = exit_code
        """The exit code of ``mcptest score``: 0 unless a check failed (1) or a record could not be read (2)."""
        self.messages = messages
        """What ``mcptest score`` prints for people: the summary, and which records could not be read."""

    @property
    def passed(self) -> bool:
        """Whether everything could be read and nothing failed."""
        return self.exit_code == 0

    @cached_property
    def traces(self) -> list[Result]:
        """The result of every trace, in the order of the input."""
        return [_result(line) for line in _parsed(line for line in self.lines if not line.startswith(_GROUP))]

    @cached_property
    def groups(self) -> list[GroupResult]:
        """The result of every group of runs."""
        return [_group(line) for line in _parsed(line for line in self.lines if line.startswith(_GROUP))]

    def __repr__(self) -> str:
        """Show the summary."""
        return f"<Scores: {self.messages.strip()}>"


def _parsed(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """Read all lines at once, which is faster than one by one."""
    found: list[dict[str, Any]] = json.loads(b"[%b]" % b",".join(lines))
    return found


def _failures(line: dict[str, Any]) -> list[Failure]:
    return [Failure(failure["gate"], failure["target"], failure["reason"]) for failure in line["failures"]]


def _result(line: dict[str, Any]) -> Result:
    return Result(line["index"], line.get("id"), line.get("group"), line["verdict"], line["metrics"], _failures(line))


def _group(line: dict[str, Any]) -> GroupResult:
    return GroupResult(line["group"], line["runs"], line["verdict"], line["metrics"], _failures(line), line.get("notes", []))


def score(
    traces: Iterable[Trace],
    gates: Gates | None = None,
    *,
    group_by: str | None = None,
    outcome: str | None = None,
    outcome_pass: object = None,
    format: str | None = None,  # noqa: A002
    server_prefix: Sequence[str] = (),
    jobs: int | None = None,
) -> Scores:
    """Judge traces by gates, or measure them without.

    The options are those of ``mcptest score``: ``group_by`` and ``outcome`` are paths in a record, ``outcome_pass`` is the
    value at ``outcome`` of a run that passed, ``format`` is what ``--from`` takes. A trace that cannot be read has the verdict
    ``error``. ``traces`` may be a generator of any length.
    """
    given = options(group_by, outcome, outcome_pass, format, server_prefix, jobs)
    lines: list[bytes] = []
    with Session(gates, given) as session:
        for part in session.add_all(traces):
            lines += part
        rest, end = session.finish()
    return Scores(lines + rest, end["code"], end["messages"])


def check(trace: Trace, gates: Gates, *, name: str = "trace") -> None:
    """Raise :class:`CheckFailed` unless a trace passes all gates. ``name`` is what the report calls the trace."""
    # pytest shows the line that called this function.
    __tracebackhide__ = True
    text = report([trace], gates, name)
    if text is not None:
        raise CheckFailed(text)


def report(
    traces: Iterable[Trace], gates: Gates, name: str, given: Sequence[str] = (), *, folder: str | None = None
) -> str | None:
    """Judge traces and return what the terminal would show, or None if they pass."""
    with Session(gates, given, folder=folder, name=name, report=True) as session:
        for _ in session.add_all(traces):
            pass
        _, end = session.finish()
    if end["code"] == 0:
        return None
    text: str = end["report"]
    if end["code"] != _FAILED:
        raise InputError(end["messages"].strip())
    return text.rstrip()


def options(
    group_by: str | None = None,
    outcome: str | None = None,
    outcome_pass: object = None,
    format: str | None = None,  # noqa: A002
    server_prefix: Sequence[str] = (),
    jobs: int | None = None,
) -> list[str]:
    """Return the options of ``mcptest score`` as they are typed."""
    out = []
    if group_by is not None:
        out.append(f"--group-by={group_by}")
    if outcome is not None:
        out.append(f"--outcome={outcome}")
    if outcome_pass is not None:
        out.append(f"--outcome-pass={encode(outcome_pass, 'outcome_pass')}")
    if format is not None:
        out.append(f"--from={format}")
    if isinstance(server_prefix, str):
        raise InputError("server_prefix is a list of texts, not a text")
    out += [f"--server-prefix={prefix}" for prefix in server_prefix]
    if jobs is not None:
        out.append(f"--jobs={jobs}")
    return out


class Session:
    """A score in progress."""

    def __init__(
        self,
        gates: Gates | None,
        given: Sequence[str],
        *,
        folder: str | None = None,
        name: str | None = None,
        report: bool = False,
    ) -> None:
        """Start a score. ``folder`` is the one that gates in a dictionary come from."""
        params: dict[str, object] = {"options": list(given), "name": name, "report": report}
        if gates is not None:
            params["gates"] = _gates_param(gates, folder)
        self._program = ENGINE.program()
        started = self._program.call("score.start", params)
        warn(started["messages"])
        self._session: int = started["session"]
        self._is_open = True
        self._count = 0
        self._sent = 1

    def __enter__(self) -> Session:
        """Use it in a block that ends it."""
        return self

    def __exit__(self, *_: object) -> None:
        """End a score whose traces did not all come."""
        if self._is_open:
            with contextlib.suppress(McptestError):
                self.finish()

    def add_all(self, traces: Iterable[Trace]) -> Iterator[list[bytes]]:
        """Send any number of records, and return the lines that are finished meanwhile."""
        if isinstance(traces, (Mapping, str, bytes)):
            raise InputError("expected a list of traces, not one trace\nhint: put it into a list, or use mcptest.check")
        rest, count = iter(traces), _FIRST
        while batch := list(itertools.islice(rest, count)):
            yield self.add(batch)
            count = min(_MOST, 1 + len(batch) * _BYTES // self._sent)

    def add(self, records: Sequence[Trace]) -> list[bytes]:
        """Send records, and return the lines that are finished."""
        # Bytes that are not UTF-8 become text that is not JSON.
        texts = [record.decode(errors="surrogateescape") if isinstance(record, bytes) else record for record in records]
        try:
            params = encode({"session": self._session, "records": texts}, "these traces")
        except InputError:
            for at, record in enumerate(texts):
                encode(record, f"trace {self._count + at}")
            raise
        if len(params) > _LIMIT and len(records) > 1:
            middle = len(records) // 2
            return self.add(records[:middle]) + self.add(records[middle:])
        lines, _ = self._program.lines("score.add", params)
        self._count, self._sent = self._count + len(records), len(params)
        return lines

    def finish(self) -> tuple[list[bytes], dict[str, Any]]:
        """Wait for the rest of the lines, and how it ended."""
        self._is_open = False
        return self._program.lines("score.finish", encode({"session": self._session}, "this request"))


def _gates_param(gates: Gates, folder: str | None) -> dict[str, object]:
    """Return gates as a request has them."""
    if isinstance(gates, Mapping):
        encode(gates, "the gates")
        return {"text": json.dumps(gates, indent=2, ensure_ascii=False), "folder": folder or os.getcwd()}
    if not isinstance(gates, (str, os.PathLike)):
        raise InputError(f"gates are a dictionary or the path of a file, not {type(gates).__name__}")
    return {"path": os.path.abspath(gates)}


def load_gates(gates: Gates, folder: str | None = None) -> tuple[dict[str, Any], str]:
    """Check gates and return them as a dictionary, with the folder that they come from."""
    param = _gates_param(gates, folder)
    loaded = ENGINE.call("gates", param)
    warn(loaded["messages"])
    return dict(loaded["gates"]), str(param.get("folder") or os.path.dirname(str(param["path"])))


def warn(messages: str) -> None:
    """Pass on what the program says about gates."""
    if messages.strip():
        warnings.warn(messages.strip(), GatesWarning, stacklevel=4)
