"""``tidegate operator``: operators in the database of this machine."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.operators.test_second_factor import code_at
from tests.server.serving import serving

from tidegate.cli.main import tidegate
from tidegate_server.operators.second_factor import PERIOD_SECONDS

EMAIL = "someone@example.test"
PASSWORD = "a long enough password"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data"


def run(directory: Path, *arguments: str, stdin: str = "", code: int = 0) -> Result:
    result = CliRunner().invoke(
        tidegate, ["operator", *arguments, "--store-directory", str(directory)], input=stdin
    )
    assert result.exit_code == code, result.output
    return result


def create(directory: Path, *arguments: str) -> Any:
    made = run(
        directory, "create", EMAIL, "--password-stdin", "--json", *arguments, stdin=PASSWORD + "\n"
    )
    return json.loads(made.stdout)


def test_the_first_operator_makes_database_and_keys(directory: Path) -> None:
    """A machine without any data is ready after the first command."""
    made = create(directory, "--name", "Someone")
    assert made["email"] == EMAIL
    assert made["has_password"]
    assert (directory / "tidegate.db").exists()
    assert (directory / "keys").stat().st_mode & 0o777 == 0o700
    listed = json.loads(run(directory, "list", "--json").stdout)
    assert listed == [made]


def test_an_address_belongs_to_one_operator(directory: Path) -> None:
    """An e-mail address belongs to one operator, however its letters are written."""
    create(directory)
    result = run(directory, "create", EMAIL.upper(), "--no-password", code=1)
    assert "someone@example.test" not in result.stdout


def test_a_token_and_a_password_are_accepted(tmp_path: Path) -> None:
    """A server on the same database accepts the token and password that the commands made."""
    with serving(tmp_path) as served:
        create(tmp_path)
        token = run(tmp_path, "token", EMAIL).stdout.strip()
        headers = {"authorization": f"Bearer {token}"}
        assert served.http.get("/api/v1/me", headers=headers).json()["email"] == EMAIL
        login = {"email": EMAIL, "password": PASSWORD}
        assert served.http.post("/api/v1/auth/local/token", json=login).status_code == 200

        run(tmp_path, "disable", EMAIL)
        assert served.http.get("/api/v1/me", headers=headers).status_code == 401
        assert served.http.post("/api/v1/auth/local/token", json=login).status_code == 401
        assert "disabled" in run(tmp_path, "list").stdout
        run(tmp_path, "token", EMAIL, code=1)


def test_an_operator_who_lost_the_app_logs_in_again(tmp_path: Path) -> None:
    """The command removes the second factor, and says so where there isn't one."""
    with serving(tmp_path) as served:
        create(tmp_path)
        token = json.loads(run(tmp_path, "token", EMAIL, "--json").stdout)["access_token"]
        http = served.http
        owner = {"authorization": f"Bearer {token}"}
        (session,) = http.get("/api/v1/auth/sessions", headers=owner).json()
        assert (session["provider"], session["is_current"]) == ("command-line", True)
        path = "/api/v1/auth/second-factor"
        begun = http.post(path, json={"password": PASSWORD}, headers=owner).json()["secret"]
        code = code_at(base64.b32decode(begun), int(time.time()) // PERIOD_SECONDS)
        assert http.put(path, json={"code": code}, headers=owner).status_code == 200
        login = {"email": EMAIL, "password": PASSWORD}
        assert http.post("/api/v1/auth/local/token", json=login).status_code == 401
        run(tmp_path, "remove-second-factor", EMAIL)
        assert http.post("/api/v1/auth/local/token", json=login).status_code == 200
        refused = run(tmp_path, "remove-second-factor", EMAIL, code=1)
        assert "has no second factor" in refused.output


def test_a_new_password_ends_tokens(tmp_path: Path) -> None:
    """A new password ends the tokens made before it."""
    with serving(tmp_path) as served:
        create(tmp_path)
        headers = {"authorization": f"Bearer {run(tmp_path, 'token', EMAIL).stdout.strip()}"}
        new = "another long password"
        run(tmp_path, "password", EMAIL, "--password-stdin", stdin=new)
        assert served.http.get("/api/v1/me", headers=headers).status_code == 401
        for password, status in ((PASSWORD, 401), (new, 200)):
            login = {"email": EMAIL, "password": password}
            answer = served.http.post("/api/v1/auth/local/token", json=login)
            assert answer.status_code == status
        # Tokens know whole seconds: one made right after a change counts all the same.
        token = run(tmp_path, "token", EMAIL).stdout.strip()
        headers = {"authorization": f"Bearer {token}"}
        assert served.http.get("/api/v1/me", headers=headers).status_code == 200


def test_an_operator_can_be_made_owner_of_a_tenant(tmp_path: Path) -> None:
    """The command makes an operator an Owner by slug or id, also when all Owners are gone."""
    with serving(tmp_path) as served:
        _, tenant_id = served.owner()
        create(tmp_path, "--owner-of", tenant_id)
        headers = {"authorization": f"Bearer {run(tmp_path, 'token', EMAIL).stdout.strip()}"}
        mine = served.http.get("/api/v1/me", headers=headers).json()["memberships"]
        assert [(each["tenant_id"], each["role"]) for each in mine] == [(tenant_id, "Owner")]
    run(tmp_path, "create", "b@example.test", "--no-password", "--owner-of", "no-such", code=1)
    assert len(json.loads(run(tmp_path, "list", "--json").stdout)) == 2


@pytest.mark.parametrize("email", ["", "nobody", "a@b@c", " a@b", "a@b\x07"])
def test_what_is_no_address_is_refused(directory: Path, email: str) -> None:
    """A text that is not an e-mail address is a wrong call, and no operator is made."""
    run(directory, "create", email, "--no-password", code=2)
    assert not directory.exists()


def test_a_short_password_is_refused(directory: Path) -> None:
    """A short password is refused, and no operator is made."""
    run(directory, "create", EMAIL, "--password-stdin", stdin="short\n", code=1)
    assert not directory.exists()
