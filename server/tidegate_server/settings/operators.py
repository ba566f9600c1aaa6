"""How operators log in, and for how long."""

from __future__ import annotations

from typing import Literal, TypeAlias

import typed_settings as ts

from tidegate_server.settings.bounds import Between, JsonObject

NewOperators: TypeAlias = Literal["invited", "anyone"]


@ts.settings
class TokenSettings:
    """Operators' tokens."""

    lifetime_seconds: int = ts.option(
        default=8 * 3600,
        validator=Between(60, 30 * 24 * 3600),
        help="How long a token counts.",
    )


@ts.settings
class LoginSettings:
    """How operators log in."""

    local: bool = ts.option(default=True, help="Log in with email and password.")
    providers: str = ts.secret(
        default="",
        validator=JsonObject(),
        help="Identity providers by name, each an object: client_id, client_secret or "
        "client_secret_file, issuer, display_name, scopes, hosts, email_domains. docs/login.md "
        "has all members. JSON in the environment; in the settings file a group.",
    )
    new_operators: NewOperators = ts.option(
        default="invited",
        help="Who becomes an operator by a first login with an identity provider: invited, whose "
        "address a tenant has given a role; anyone, whom a provider knows.",
    )
