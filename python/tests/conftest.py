"""What the tests share: a scripted model, an MCP server, and folders with tests of their own."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from support.model import Model

from mcptest._engine import binary

pytest_plugins = ["pytester"]

TOOLS = Path(__file__).parent / "support" / "tools.yml"


@pytest.fixture
def notes():
    """The command of the server."""
    return [binary(), "mock", "--tools-from", str(TOOLS)]


@pytest.fixture
def model(monkeypatch):
    """A model that the environment leads to."""
    with Model() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-1234567890abcdef")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-1234567890abcdef")
        yield server
