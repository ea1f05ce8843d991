"""Suites as pytest items: a file ``NAME.mcptest.yml`` next to tests is run by ``mcptest run``, one item per test."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from mcptest._cassettes import FileLock
from mcptest._engine import binary
from mcptest.errors import EngineError, McptestError

# Signs with a meaning in a pattern.
_META = re.compile(r"([\\.+*?()|\[\]{}^$/])")

_FAILED = 1


class SuiteFailed(Exception):
    """A test of a suite that did not pass. The message is the report."""


def _mcptest(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [binary(), *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False
        )
    except OSError as error:
        raise EngineError(f"cannot start mcptest: {error.strerror}") from error


class SuiteFile(pytest.File):
    """A suite."""

    def collect(self) -> Iterable[pytest.Item]:
        """List the tests of the suite."""
        listed = _mcptest("run", self.path.name, "--list=json", folder=self.path.parent)
        if listed.returncode != 0:
            raise self.CollectError((listed.stdout + listed.stderr).strip())
        # A test is listed once per model.
        lines = {test["name"]: test["line"] for test in json.loads(listed.stdout)["tests"]}
        for name, line in lines.items():
            yield SuiteItem.from_parent(self, name=name, line=line)


class SuiteItem(pytest.Item):
    """A test of a suite, with all its runs and models."""

    def __init__(self, *, line: int, **others: Any) -> None:
        """Remember where the test is."""
        super().__init__(**others)
        self._line = line

    def runtest(self) -> None:
        """Replay the test, or record it."""
        exactly = _META.sub(r"\\\1", self.name)
        arguments = ["run", self.path.name, "--filter", f"/^{exactly}$/"]
        if self.config.getoption("--mcptest-record"):
            # The tests of a suite are recorded one after the other, also by several workers.
            with FileLock(str(self.path)):
                done = _mcptest(*arguments, "--record", folder=self.path.parent)
        else:
            done = _mcptest(*arguments, folder=self.path.parent)
        if done.returncode != 0:
            text = done.stdout if done.returncode == _FAILED else done.stdout + done.stderr
            raise SuiteFailed(text.strip() or f"mcptest ended with exit code {done.returncode}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the report of the program as it is."""
        if isinstance(excinfo.value, (SuiteFailed, McptestError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Say where the test is."""
        return self.path, self._line - 1, self.name
