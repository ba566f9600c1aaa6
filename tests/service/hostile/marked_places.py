"""Places of an event that can hold a secret, each with a marker in it.

A place makes of a marker the parts of an event: what stands in ``request``, in ``fields`` and
next to them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias
from urllib.parse import quote

import secret_places

Place: TypeAlias = Callable[[str], Mapping[str, Any]]


def _request(**members: Any) -> dict[str, Any]:
    return {"request": members}


def _header(name: str, value: str = "{}") -> Place:
    return lambda marker: _request(headers={name: value.replace("{}", marker)})


def _path(text: str) -> Place:
    return lambda marker: _request(path=text.replace("{}", marker))


def _body(text: str) -> Place:
    return lambda marker: {"fields": {"body": text.replace("{}", marker)}}


def _map(section: str, name: str, value: str = "{}") -> Place:
    return lambda marker: _request(**{section: {name: value.replace("{}", marker)}})


def _field(name: str, value: Any = "{}") -> Place:
    def made(marker: str) -> dict[str, Any]:
        text = json.dumps(value).replace("{}", marker)
        return {"fields": {name: json.loads(text)}}

    return made


def _return(text: str) -> Place:
    return lambda marker: {"return_url": text.replace("{}", marker)}


def _json_body(value: Any) -> Place:
    return lambda marker: {"fields": {"body": json.loads(json.dumps(value).replace("{}", marker))}}


_PART = '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n{}\r\n--b--\r\n'
_NESTED = quote("https://h/?password={}", safe="{}")

SECRET: Mapping[str, Place] = {
    "authorization": _header("Authorization", "Bearer {}"),
    "proxy-authorization": _header("proxy-authorization", "Basic {}"),
    "cookie header": _header("Cookie", "theme={}; a=b"),
    "set-cookie header": _header("Set-Cookie", "sid={}; Path=/"),
    "x-service-api-key": _header("x-service-api-key"),
    "x-api-key": _header("X-API-Key"),
    "x_api_key": _header("x_api_key"),
    "apikey": _header("ApiKey"),
    "x-auth-token": _header("X-Auth-Token"),
    "x-csrf-token": _header("X-CSRF-Token"),
    "x-amz-security-token": _header("X-Amz-Security-Token"),
    "header of several values": lambda marker: _request(headers={"x-api-key": ["a", marker]}),
    "digest in another header": _header("x-auth-info", 'Digest user="a", password="{}"'),
    "referer header": _header("Referer", "https://h/?access_token={}"),
    "location header": _header("Location", "https://h/?access_token={}"),
    "origin header": _header("Origin", "https://ann:{}@h"),
    "link header": _header("Link", "<https://h/?api_key={}>; rel=next"),
    "userinfo in a header": _header("x-forwarded-uri", "https://ann:{}@h/a"),
    "cookie of any name": _map("cookies", "theme"),
    "session cookie": _map("cookies", "session_id"),
    "query password": _map("query_params", "password"),
    "query, camel case": _map("query_params", "accessToken"),
    "query, other case": _map("query_params", "API_KEY"),
    "query name encoded": _map("query_params", "pass%77ord"),
    "query name encoded twice": _map("query_params", "pass%2577ord"),
    "query name with brackets": _map("query_params", "user[pwd]"),
    "query name with a plus": _map("query_params", "api+key"),
    "query value a URL": _map("query_params", "next", "/a?password={}"),
    "query value an encoded URL": _map("query_params", "next", _NESTED),
    "query value JSON": _map("query_params", "filter", '{"password":"{}"}'),
    "route parameter": _map("route_params", "session_id"),
    "path query": _path("/a?x=1&password={}"),
    "path query encoded": _path("/a?pass%77ord={}"),
    "path query encoded twice": _path("/a?pass%2577ord={}"),
    "path matrix": _path("/a;password={}/b"),
    "path fragment": _path("/a#access_token={}"),
    "path with an encoded query": _path("/a%3Fpassword%3D{}"),
    "path with userinfo": _path("http://ann:{}@h/a"),
    "referer": lambda marker: _request(referer=f"https://h/a?session_id={marker}"),
    "referer userinfo": lambda marker: _request(referer=f"https://ann:{marker}@h/"),
    "return URL": _return("https://h/?access_token={}"),
    "return URL encoded": _return("https://h/?acc%65ss_token={}"),
    "return URL userinfo": _return("https://ann:{}@h/"),
    "return URL nested": _return("https://h/?next=" + _NESTED),
    "return URL matrix": _return("https://h/a;jsessionid={}"),
    "form body": _body("user=ann&password={}"),
    "form body encoded": _body("user=ann&pass%77ord={}"),
    "form body semicolons": _body("user=ann;password={}"),
    "JSON body": _body('{"user":{"password":"{}"}}'),
    "JSON body of members": _json_body({"user": [{"client_secret": "{}"}]}),
    "JSON in JSON": _json_body({"inner": '{"password":"{}"}'}),
    "body with a byte order mark": _body('\ufeff{"password":"{}"}'),
    "body with a member twice": _body('{"a":1,"a":2,"password":"{}"}'),
    "body of lines": _body('{"a":1}\n{"password":"{}"}'),
    "body cut short": _body('{"password":"{}"'),
    "body of parts": _body(_PART),
    "XML body": _body("<a><password>{}</password></a>"),
    "text body": _body("user: ann\npassword: {}\n"),
    "GraphQL body": _body('mutation { login(password: "{}") { id } }'),
    "field": _field("client_secret"),
    "field of several values": _field("password", ["{}", "b"]),
    "field with a URL": _field("callback", "https://h/?password={}"),
    "field with JSON": _field("payload", '{"token":"{}"}'),
    "member of no meaning": lambda marker: {"session": {"id": marker}},
    "member of a request of no meaning": lambda marker: _request(token=marker),
}
"""The places by their names in a failure."""


def _listed(place: secret_places.Place) -> Place:
    text = json.dumps(place.event)
    return lambda marker: json.loads(text.replace(secret_places.SECRET, marker))


LISTED: Mapping[str, Place] = {
    f"listed: {each.name}": _listed(each)
    for each in list(secret_places.places())[::53]
    if each.secret == secret_places.SECRET and not each.name.lower().startswith("bearer")
}
"""A spread of the places of ``tests/secret_places.py``. A marker is of lower-case letters: after
``Bearer`` it is prose."""

CLEAR: Mapping[str, Place] = {
    "user agent": lambda marker: _request(user_agent=f"agent {marker}"),
    "path": _path("/a/{}"),
    "query": _map("query_params", "q"),
    "field": _field("account"),
    "form body": _body("user={}&password=x"),
    "JSON body": _json_body({"user": "{}"}),
    "idempotency key": lambda marker: {"idempotency_key": f"key {marker}"},
    "cookie that the tenant wants in clear": _map("cookies", "theme_in_clear"),
    "return URL": _return("https://h/?page={}"),
}
"""Values that aren't secrets, or that the tenant wants in clear."""
