"""A release: workflow files, the links of the metadata, and the version of a tag."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from tools import metadata

ROOT = Path(__file__).parents[1]
WORKFLOWS = [
    *sorted((ROOT / ".github" / "workflows").glob("*.yml")),
    ROOT / "deploy" / "ci" / "github.yml",
    ROOT / "action.yml",
]
REPOSITORY = "https://example.org/ours/tidegate"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
LINK = re.compile(r"\]\(([^)]+)\)")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the files that a release writes."""
    (tmp_path / "server").mkdir()
    for name in ("README.md", "pyproject.toml", "Cargo.toml", "server/README.md",
                 "server/pyproject.toml"):  # fmt: skip
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_workflows_have_no_known_weakness(process: None) -> None:
    """Actions are pinned by hash, jobs have few rights, and no text from outside is a command."""
    program = Path(sys.executable).with_name("zizmor")
    command = [str(program), "--offline", "--no-progress", "--quiet", *map(str, WORKFLOWS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_release_has_wheels_for_every_platform() -> None:
    """Linux with both C libraries, macOS and Windows, and everything that is built is published."""
    jobs = yaml.safe_load(WORKFLOWS[0].read_text())["jobs"]
    built = jobs["library"]["strategy"]["matrix"]["include"]
    assert {each["name"] for each in built} == {
        "manylinux-x86_64",
        "manylinux-aarch64",
        "musllinux-x86_64",
        "musllinux-aarch64",
        "macos-x86_64",
        "macos-aarch64",
        "windows-x86_64",
    }
    assert set(jobs["publish"]["needs"]) == jobs.keys() - {"publish"}


def test_published_pages_have_absolute_links(checkout: Path) -> None:
    """Each link leads to a file at the tag, and each address names the repository."""
    metadata.write(checkout, REPOSITORY, f"v{VERSION}")
    for folder in metadata.FOLDERS:
        links = LINK.findall((checkout / folder / "README.md").read_text())
        ours = [each for each in links if each.startswith(REPOSITORY)]
        assert len(ours) >= 3
        assert all(each.startswith(("https://", "#")) for each in links)
        for each in ours:
            kind, tag, place = each.removeprefix(f"{REPOSITORY}/").partition("#")[0].split("/", 2)
            assert (kind in ("blob", "raw"), tag) == (True, f"v{VERSION}")
            assert (ROOT / place).exists(), each
        project = (checkout / folder / "pyproject.toml").read_text()
        urls = tomllib.loads(project)["project"]["urls"].values()
        assert all(each.startswith(REPOSITORY) for each in urls)


def test_a_picture_leads_to_the_file_itself() -> None:
    """An image is the raw file; a link around one keeps both."""
    text = metadata.absolute("[![a](docs/a.png)](README.md#b) [c](#d)", ".", REPOSITORY, "main")
    assert text == (
        f"[![a]({REPOSITORY}/raw/main/docs/a.png)]({REPOSITORY}/blob/main/README.md#b) [c](#d)"
    )


def test_a_tag_of_another_version_builds_nothing(checkout: Path) -> None:
    """A release of the wrong commit stops, and changes no file."""
    before = (checkout / "README.md").read_text()
    with pytest.raises(SystemExit, match="isn't that of version"):
        metadata.write(checkout, REPOSITORY, "v99.0.0")
    assert (checkout / "README.md").read_text() == before
