"""``tidegate lsp`` in Neovim, without a screen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.lsp.documents import SHOP

from tidegate.policy.document import read_document

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("editor")
SCRIPT = """
local wanted = vim.env.WANTED
vim.cmd("edit " .. wanted)
local id = vim.lsp.start_client({
  cmd = { vim.env.PYTHON, "-m", "tidegate", "lsp" },
  root_dir = vim.fn.getcwd(),
})
vim.lsp.buf_attach_client(0, id)
assert(vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 end, 50), "no findings")
local found = vim.diagnostic.get(0)[1]
local function ask(method, pattern, shift, more)
  vim.fn.cursor(1, 1)
  vim.fn.search(pattern)
  vim.fn.cursor(vim.fn.line("."), vim.fn.col(".") + shift)
  local params = vim.tbl_extend("force", vim.lsp.util.make_position_params(0, "utf-16"), more or {})
  local answers = vim.lsp.buf_request_sync(0, method, params, 30000)
  return answers[id].result
end
vim.cmd([[%s/request.metod/request.method/]])
local hover = ask("textDocument/hover", "request.method", 10)
local items = ask("textDocument/completion", "request.method", 11).items
local edit = ask("textDocument/rename", "actions: .login", 11, { newName = "sign_in" })
vim.lsp.util.apply_workspace_edit(edit, "utf-16")
vim.cmd("write")
vim.fn.writefile({ vim.fn.json_encode({
  code = found.code, line = found.lnum, column = found.col,
  hover = hover.contents.value, completed = items[1].label,
}) }, vim.env.RESULT)
vim.lsp.stop_client(id)
vim.cmd("qall!")
"""


def test_neovim_shows_findings_hovers_completions_and_renames(tmp_path: Path) -> None:
    """The editor of the distribution shows the finding, and its rename changes every use."""
    document, script, result = (tmp_path / each for each in ("shop.yaml", "run.lua", "result"))
    document.write_text(SHOP.replace("request.method", "request.metod"))
    script.write_text(SCRIPT)
    command = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c", f"luafile {script}"]
    given = {"WANTED": str(document), "PYTHON": sys.executable, "RESULT": str(result)}
    home = {name: str(tmp_path) for name in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
    done = subprocess.run(
        [*command, "-c", "qall!"],
        env=os.environ | given | home,
        capture_output=True,
        timeout=120,
        text=True,
    )
    assert result.exists(), done.stderr
    found: dict[str, Any] = json.loads(result.read_text())
    assert (found["code"], found["line"], found["column"]) == ("unknown-field", 8, 16)
    assert "request.method: string" in found["hover"]
    assert found["completed"] == "request.method"
    made = document.read_text()
    assert "slug: sign_in" in made
    assert "actions.sign_in" in made
    assert "actions: [sign_in]" in made
    read_document(made)
