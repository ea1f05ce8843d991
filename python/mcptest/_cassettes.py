"""Recorded traces next to their test, and the lock that lets one process record them."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from mcptest.errors import InputError, RecordError


class Cassettes:
    """The recorded runs of one test: ``cassettes/FILE/TEST/N.json`` in the folder of the test."""

    def __init__(self, test_file: Path, test: str) -> None:
        """Name the folder of a test."""
        self.test = test
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", test)
        if plain != test:
            plain += "-" + hashlib.sha256(test.encode()).hexdigest()[:8]
        self._base = test_file.parent
        self.folder = self._base / "cassettes" / test_file.stem / plain

    def shown(self, run: int | None) -> str:
        """Return the path of a run, or of all runs, for people."""
        path = self.folder if run is None else self._path(run)
        return path.relative_to(self._base).as_posix()

    def _path(self, run: int) -> Path:
        return self.folder / f"{run}.json"

    def read(self, runs: int) -> list[str]:
        """Return the recorded runs, all of them."""
        traces = []
        for run in range(1, runs + 1):
            path = self._path(run)
            try:
                traces.append(path.read_text(encoding="utf-8"))
            except FileNotFoundError:
                raise InputError(
                    f"run {run} of {self.test} is not recorded: {self.shown(run)} does not exist\n"
                    "hint: record it with `pytest --mcptest-record`"
                ) from None
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"{path}: cannot be read: {error}") from error
        if self._path(runs + 1).exists():
            raise InputError(
                f"{self.test} has more recorded runs than its marker says ({runs})\n"
                "hint: record it again with `pytest --mcptest-record`, so that no run is left out by choice"
            )
        return traces

    def write(self, traces: list[dict[str, Any]]) -> None:
        """Write the runs of a test, and remove older ones."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for run, trace in enumerate(traces, 1):
                named = {**trace, "group": self.test, "id": f"{self.test}, run {run}" if len(traces) > 1 else self.test}
                text = json.dumps(named, indent=1, sort_keys=True, ensure_ascii=False)
                fresh = self.folder / f".{run}.json.new"
                fresh.write_text(text + "\n", encoding="utf-8")
                fresh.replace(self._path(run))
            for old in self.folder.glob("*.json"):
                if old.stem.isdigit() and int(old.stem) > len(traces):
                    old.unlink()
        except OSError as error:
            raise RecordError(f"cannot write the recording of {self.test}: {error}") from error


class RecordingLock:
    """Held while a test is recorded. Other processes of the same run of pytest wait, and then use the recording."""

    def __init__(self, cassettes: Cassettes, session: str) -> None:
        """Name the lock of a test."""
        self._path = _lock_path(cassettes)
        self._session = session
        self._file: IO[str] | None = None
        self.is_done = False

    def __enter__(self) -> RecordingLock:
        """Wait for the lock."""
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        self._file = open(self._path, "a+", encoding="utf-8")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self.is_done = _state(self._path, self._session) is not None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Let the next one in."""
        if self._file is not None:
            self._file.close()

    def done(self, failure: str) -> None:
        """Tell the others how the recording went; an empty text means well."""
        self._path.write_text(json.dumps([self._session, failure]), encoding="utf-8")

    @staticmethod
    def failure(cassettes: Cassettes, session: str) -> str | None:
        """Return why this run of pytest could not record a test."""
        return _state(_lock_path(cassettes), session)


def _lock_path(cassettes: Cassettes) -> Path:
    name = hashlib.sha256(os.fsencode(cassettes.folder.resolve())).hexdigest()[:32]
    return Path(tempfile.gettempdir()) / f"mcptest-{os.getuid()}" / f"{name}.lock"


def _state(path: Path, session: str) -> str | None:
    """Return what this run of pytest left there; None if nothing."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found[1] if isinstance(found, list) and len(found) == 2 and found[0] == session else None
