"""The JavaScript module by its own tests, and what it is made of."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib

import pytest
from tests.integrations.edges import EXAMPLES, program

from tidegate.edge.block_page import block_page

MODULE = EXAMPLES / "javascript"


def test_its_own_tests_pass(node: None) -> None:
    """Under the test runner of Node."""
    command = [program("node"), "--test"]
    done = subprocess.run(
        command, cwd=MODULE, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert re.search(r"^# pass [1-9]", done.stdout, re.MULTILINE)


def test_it_stands_on_nothing() -> None:
    """No dependency, and its types come with it."""
    package = json.loads((MODULE / "package.json").read_text())
    assert not {"dependencies", "peerDependencies", "devDependencies"} & package.keys()
    for entry in package["exports"].values():
        assert (MODULE / entry["types"]).is_file()
        assert (MODULE / entry["default"]).is_file()
    imported = re.findall(
        r'from "([^"]+)"', "".join(each.read_text() for each in MODULE.glob("*.js"))
    )
    assert set(imported) == {"./tidegate.js", "./block-page.js"}


@pytest.mark.parametrize(
    "accepted", ["", "de-AT,en;q=0.5", "ar", "xx, fr;q=0.2, ja;q=0.9", "pt;q=0"]
)
@pytest.mark.parametrize("reference", ["01a221bf-db96-7092-a08d-1e7c1678d4ff", "<b>", None])
def test_the_page_of_a_block_is_that_of_the_middleware(
    accepted: str, reference: str | None, node: None
) -> None:
    """Headers and content are equal byte for byte."""
    script = (
        f"import {{ blockPage }} from {json.dumps((MODULE / 'block-page.js').as_uri())};"
        f"console.log(JSON.stringify(blockPage({json.dumps(accepted)}, {json.dumps(reference)})))"
    )
    command = [program("node"), "--input-type=module", "-e", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    headers, content = block_page(accepted, reference)
    assert json.loads(done.stdout) == [dict(headers), content.decode()]


def test_the_connector_names_files_that_there_are() -> None:
    """The folder can be deployed as it is."""
    settings = tomllib.loads((MODULE / "worker" / "wrangler.toml").read_text())
    worker = MODULE / "worker" / settings["main"]
    for name in re.findall(r'from "([^"]+)"', worker.read_text()):
        assert (worker.parent / name).is_file()
    named = set(re.findall(r"environment\.(\w+)", worker.read_text()))
    assert named - settings["vars"].keys() == {"TIDEGATE_KEY"}
