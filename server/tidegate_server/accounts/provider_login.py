"""Login at an identity provider: send the browser there, and receive it with a token."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from anyio import to_thread

from tidegate_server.accounts.tokens import open_session
from tidegate_server.control.call import Answer, Call
from tidegate_server.http.authorise import SECOND
from tidegate_server.login.profile import LoginRefusedError
from tidegate_server.login.signing_in import Moment, sign_in
from tidegate_server.login.started import LoginCookie, Started, arrived, ended, own_path
from tidegate_server.operators.providers import LOCAL
from tidegate_server.wire import operators as wire_operators

if TYPE_CHECKING:
    from tidegate_server.login.logins import LiveProvider
    from tidegate_server.stores.objects.operators import Operator

ARRIVAL = "/login/callback"
"""The page that receives the token."""


def list_providers(call: Call) -> Answer:
    """List the login methods, our own last."""
    logins = call.app.logins
    named = [(each.name, each.display_name) for each in logins.providers]
    if logins.local:
        named.append((LOCAL, "Email and password"))
    return Answer(
        body=[
            wire_operators.IdentityProvider(
                name=name, display_name=display_name, login_url=f"/auth/{name}/login"
            )
            for name, display_name in named
        ]
    )


async def begin(call: Call) -> Answer:
    """Send the browser to the provider."""
    query: wire_operators.LoginStart = call.query
    live = call.app.logins.find(call.names["provider"])
    base_url = call.app.base_url()
    started = Started.new(live.provider.name, own_path(query.next), call.now // SECOND)
    try:
        location = await live.begin(started, _redirect_uri(base_url, live))
    except LoginRefusedError as error:
        return _refused(call, live, error)
    cookie = LoginCookie(call.app.keys.pepper).set(started, base_url)
    return Answer(location=location, headers={"set-cookie": cookie})


async def finish(call: Call) -> Answer:
    """Send the browser to the page that receives the token, or shows why the login failed."""
    live = call.app.logins.find(call.names["provider"])
    base_url = call.app.base_url()
    try:
        started, operator = await _operator(call, live, base_url)
    except LoginRefusedError as error:
        return _refused(call, live, error)
    begin = partial(open_session, call, operator, live.provider.name)
    given = await to_thread.run_sync(begin, limiter=call.app.public_threads)
    word, cookie = arrived(base_url)
    members = {"access_token": given.access_token, "expires_in": given.expires_in, "word": word}
    if started.next:
        members["next"] = started.next
    call.app.access.logged_in(live.provider.name, operator.operator_id, call.request_id)
    return Answer(location=f"{ARRIVAL}#{urlencode(members)}", headers={"set-cookie": cookie})


async def _operator(call: Call, live: LiveProvider, base_url: str) -> tuple[Started, Operator]:
    """Return the operator who logged in.

    Raises:
        LoginRefusedError: the login failed.
    """
    response: wire_operators.LoginResponse = call.query
    now = call.now // SECOND
    cookie = call.headers.get("cookie")
    started = LoginCookie(call.app.keys.pepper).open(cookie, response.state or "", base_url, now)
    if started.provider != live.provider.name:
        raise LoginRefusedError("the login was begun at another provider")
    if response.error is not None:
        is_cancelled = response.error == "access_denied"
        raise LoginRefusedError("the provider refused", "cancelled" if is_cancelled else "refused")
    if response.code is None:
        raise LoginRefusedError("the provider sent no code")
    parameters = {"code": response.code}
    if response.iss is not None:
        parameters["iss"] = response.iss
    profile = await live.finish(started, parameters, _redirect_uri(base_url, live), now)
    work = partial(
        sign_in,
        provider=live.provider,
        started=started,
        profile=profile,
        anyone=call.app.logins.anyone,
        moment=Moment(call.now, call.request_id),
    )
    write = partial(call.write, work)
    return started, await to_thread.run_sync(write, limiter=call.app.public_threads)


def _redirect_uri(base_url: str, live: LiveProvider) -> str:
    return f"{base_url}/auth/{live.provider.name}/callback"


def _refused(call: Call, live: LiveProvider, error: LoginRefusedError) -> Answer:
    """Redirect to the page that reports the failure; only the log has the reason."""
    call.app.access.login_refused(live.provider.name, str(error), call.request_id)
    location = f"{ARRIVAL}#{urlencode({'error': error.fault})}"
    return Answer(location=location, headers={"set-cookie": ended(call.app.base_url())})
