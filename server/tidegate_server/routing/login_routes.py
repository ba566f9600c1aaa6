"""The routes for operators: logins, tokens, and the current caller."""

from __future__ import annotations

from typing import Any

from tidegate_server.accounts import (
    me,
    password_login,
    provider_login,
    second_factor,
    tokens,
)
from tidegate_server.http.cursor import Paging
from tidegate_server.login import pages
from tidegate_server.offload.kinds import Work
from tidegate_server.routing.route import Credential, Route
from tidegate_server.wire import operators as wire_operators

_LOGIN_BYTES = 16 * 1024
"""The size limit for a body that anybody can send: it is read on the loop."""
_SECOND_FACTOR = "/auth/second-factor"
_HTML, _SCRIPT, _STYLE = "text/html", "text/javascript", "text/css"
_MARK = "image/svg+xml"
_NEXT = wire_operators.LoginStart
_BROWSER: dict[str, Any] = {
    "tag": "operators",
    "credential": Credential.NONE,
    "work": Work.LOGIN,
    "status": 303,
    "cookie": "what the browser keeps of the login",
    "rooted": True,
}

LOGIN_ROUTES: tuple[Route, ...] = (
    Route(
        method="POST",
        path="/auth/local/token",
        name="create-token",
        summary="Log in with email and password",
        description=(
            "After ten failures of a name from one address (IPv6: one /64 network), the name has"
            " to wait at that address. If a name fails from many addresses, one attempt per second"
            " is checked. Neither limit applies to a device that the name has logged in from"
            " before."
        ),
        tag="operators",
        credential=Credential.NONE,
        handler=password_login.local_token,
        work=Work.LOGIN,
        max_bytes=_LOGIN_BYTES,
        headers=("cookie", "user-agent"),
        cookie="that the operator has logged in from this device",
        body=wire_operators.Login,
        answer=wire_operators.AccessToken,
        refusals=("unauthenticated", "second-factor-required", "rate-limited", "overloaded"),
    ),
    Route(
        method="DELETE",
        path="/auth/token",
        name="revoke-token",
        summary="Revoke the token of this request, or all tokens of its operator",
        tag="operators",
        handler=tokens.revoke,
        query=wire_operators.Revocation,
        status=204,
        refusals=("overloaded",),
    ),
    Route(
        method="GET",
        path="/auth/sessions",
        name="list-sessions",
        summary="List the sessions of the caller, oldest first",
        tag="operators",
        handler=tokens.list_,
        query=Paging,
        answer=list[wire_operators.Session],
    ),
    Route(
        method="DELETE",
        path="/auth/sessions/{session_id}",
        name="end-session",
        summary="End a session of the caller",
        tag="operators",
        handler=tokens.end,
        status=204,
        refusals=("overloaded",),
    ),
    Route(
        method="GET",
        path=_SECOND_FACTOR,
        name="read-second-factor",
        summary="Read whether logins of the caller need a second factor",
        tag="operators",
        handler=second_factor.read,
        answer=wire_operators.SecondFactor,
    ),
    Route(
        method="POST",
        path=_SECOND_FACTOR,
        name="begin-second-factor",
        summary="Get a secret for an authenticator app",
        description="Logins need no code before a first code of the app is confirmed.",
        tag="operators",
        handler=second_factor.begin,
        work=Work.LOGIN,
        max_bytes=_LOGIN_BYTES,
        body=wire_operators.SecondFactorStart,
        answer=wire_operators.SecondFactorSecret,
        refusals=("conflict", "rate-limited", "overloaded"),
    ),
    Route(
        method="PUT",
        path=_SECOND_FACTOR,
        name="confirm-second-factor",
        summary="Turn the second factor on with a first code",
        description="The answer has recovery codes, each for one login without the app.",
        tag="operators",
        handler=second_factor.confirm,
        max_bytes=_LOGIN_BYTES,
        body=wire_operators.ShownCode,
        answer=wire_operators.RecoveryCodes,
        refusals=("conflict", "overloaded"),
    ),
    Route(
        method="POST",
        path=f"{_SECOND_FACTOR}/removal",
        name="remove-second-factor",
        summary="Turn the second factor off with a code",
        tag="operators",
        handler=second_factor.remove,
        work=Work.LOGIN,
        max_bytes=_LOGIN_BYTES,
        body=wire_operators.ShownCode,
        status=204,
        refusals=("rate-limited", "overloaded"),
    ),
    Route(
        method="GET",
        path="/me",
        name="read-me",
        summary="Read the caller and its memberships",
        tag="operators",
        handler=me.read,
        answer=wire_operators.Me,
    ),
    Route(
        method="GET",
        path="/auth/providers",
        name="list-providers",
        summary="List the ways to log in",
        tag="operators",
        credential=Credential.NONE,
        handler=provider_login.list_providers,
        work=Work.LOOP,
        answer=list[wire_operators.IdentityProvider],
    ),
    Route(
        method="GET",
        path="/auth/local/login",
        name="read-password-form",
        summary="Read the login form for email and password",
        tag="operators",
        credential=Credential.NONE,
        handler=password_login.password_form,
        query=wire_operators.LoginStart,
        answer_type="text/html",
        refusals=("not-found",),
        rooted=True,
    ),
    Route(
        method="GET",
        path="/auth/{provider}/login",
        name="begin-login",
        summary="Send a browser to an identity provider",
        description="If the provider is unavailable, the browser is sent to a page that says so.",
        handler=provider_login.begin,
        query=wire_operators.LoginStart,
        **_BROWSER,
    ),
    Route(
        method="GET",
        path="/auth/{provider}/callback",
        name="finish-login",
        summary="Finish a login at an identity provider",
        description=(
            "Redirects to `/login/callback` with a token in the fragment, or with an `error`:"
            " `refused`, `cancelled`, `expired`, `unavailable` or `not-invited`."
        ),
        handler=provider_login.finish,
        query=wire_operators.LoginResponse,
        open_query=True,
        headers=("cookie", "user-agent"),
        **_BROWSER,
    ),
    *(
        Route(
            method="GET",
            path=path,
            name=name,
            summary=summary,
            tag="operators",
            credential=Credential.NONE,
            handler=pages.asset(file, media_type),
            query=query,
            answer_type=media_type,
            rooted=True,
        )
        for path, name, summary, file, media_type, query in (
            (
                "/login",
                "read-login",
                "The page with all ways to log in",
                "login.html",
                _HTML,
                _NEXT,
            ),
            (
                "/login/callback",
                "read-arrival",
                "The page that takes a token",
                "arrival.html",
                _HTML,
                None,
            ),
            (
                "/login/login.js",
                "read-login-script",
                "The script of these pages",
                "login.js",
                _SCRIPT,
                None,
            ),
            (
                "/login/login.css",
                "read-login-style",
                "The style of these pages",
                "login.css",
                _STYLE,
                None,
            ),
            (
                "/login/mark.svg",
                "read-login-mark",
                "The mark on these pages",
                "mark.svg",
                _MARK,
                None,
            ),
        )
    ),
)
