"""Pages of commands, settings and codes, from the source."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click

from tidegate.cli.commands import GROUPS
from tidegate.cli.findings.codes import added, codes
from tidegate.cli.main import tidegate

WIDTH = 96


def commands() -> str:
    """Every command with its help, as a terminal shows it."""
    parts = ["# Commands", "", "Exit codes: 0 for success, 1 for findings, 2 for a wrong call."]
    context = click.Context(tidegate, info_name="tidegate")
    for title, group in GROUPS.items():
        parts += ["", f"## {title}"]
        for name in group:
            command = tidegate.get_command(context, name)
            assert command is not None
            parts += _help(command, name, context)
    return "\n".join(parts) + "\n"


def _help(command: click.Command, name: str, parent: click.Context) -> list[str]:
    context = click.Context(
        command, info_name=name, parent=parent, max_content_width=WIDTH, terminal_width=WIDTH
    )
    parts = ["", f"### {context.command_path}", "", "```text", command.get_help(context), "```"]
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            parts += _help(found, inner, context)
    return parts


def settings() -> str:
    """Every setting with its environment variable, flag and default."""
    command = [sys.executable, "-m", "tidegate", "config", "schema", "--json"]
    made = subprocess.run(command, capture_output=True, check=True)
    parts = [
        "# Settings",
        "",
        "A setting comes from a flag, else from the environment, else from the settings file.",
    ]
    section = ""
    for each in json.loads(made.stdout):
        name = each["name"]
        if name.partition(".")[0] != section:
            section = name.partition(".")[0]
            parts += ["", f"## {section}", "", "| setting | default | meaning |", "|---|---|---|"]
        default = json.dumps(each["default"])
        where = f"`{name}`<br>`{each['environment']}`<br>`{each['flag']}`"
        parts.append(f"| {where} | `{default}` | {_cell(each['help'])} |")
    return "\n".join(parts) + "\n"


def meanings() -> str:
    """Every code of a finding, a refusal or a reason, as ``tidegate explain-code`` has it."""
    parts = ["# Codes", "", "`tidegate explain-code CODE` shows these."]
    for code, found in sorted((added() | codes()).items()):
        parts += ["", f"## {code}", "", found.meaning]
        for title, example in (("Wrong", found.wrong), ("Right", found.right)):
            if example is not None:
                parts += ["", f"{title}:", "", "```text", example, "```"]
    return "\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def write(directory: Path) -> None:
    """Write the pages.

    Args:
        directory: their folder; it is created.
    """
    directory.mkdir(parents=True)
    for name, page in (("commands", commands), ("settings", settings), ("codes", meanings)):
        (directory / f"{name}.md").write_text(page())
