"""``tidegate lsp`` as a command."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = """
import sys
sys.modules["pygls"] = sys.modules["lsprotocol"] = None
from tidegate.cli.main import main
sys.argv = ["tidegate", "lsp"]
main()
"""


@pytest.mark.usefixtures("process")
def test_without_the_extra_it_says_how_to_install_it() -> None:
    """A library without pygls names the extra, and exits with 2."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "pip install 'tidegate[lsp]'" in done.stderr


@pytest.mark.usefixtures("process")
def test_the_library_imports_no_protocol() -> None:
    """Neither the package nor its commands load pygls."""
    program = "import sys, tidegate, tidegate.cli.main; print('pygls' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False"
