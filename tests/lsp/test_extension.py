"""The extension for VS Code in ``editors/vscode``, as far as it can be held to the server."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs

from tidegate.lsp.server import CHOOSE_EVENT, Settings

FOLDER = Path(__file__).resolve().parents[2] / "editors/vscode"
PACKAGE: dict[str, Any] = json.loads((FOLDER / "package.json").read_text())


def test_it_has_the_version_of_the_library() -> None:
    """A release of the library is a release of the extension."""
    assert PACKAGE["version"] == version("tidegate")


def test_it_has_the_settings_of_the_server() -> None:
    """Each setting that the server takes can be set, with the same default."""
    shown = PACKAGE["contributes"]["configuration"]["properties"]
    given = {name.removeprefix("tidegate."): each["default"] for name, each in shown.items()}
    assert given == {"command": ["tidegate", "lsp"], **attrs.asdict(Settings())}


def test_it_calls_the_command_of_the_server() -> None:
    """The command that chooses an event is the one that the server has."""
    assert f'"{CHOOSE_EVENT}"' in (FOLDER / "src/extension.ts").read_text()
