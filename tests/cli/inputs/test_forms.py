"""Lines of access logs as events, in the forms that the makers document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate
from tidegate.cli.inputs.forms import FORMS, form_of, mapped_form
from tidegate.errors import EventError

APACHE = (
    '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326'
    ' "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"'
)
COMMON = '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326'
NGINX = (
    '192.0.2.7 - - [11/Jan/2013:17:31:36 +0100] "POST /login?next=%2Fa&x=1&x=2 HTTP/1.1" 401 612'
    ' "-" "HTTP-Tiny/0.022" "203.0.113.9, 192.0.2.1"'
)
TRAEFIK = (
    '192.0.2.7 - - [02/Mar/2026:10:00:00 +0000] "GET /whoami HTTP/1.1" 200 413 "-" "curl/8.5.0"'
    ' 7 "whoami@docker" "http://172.18.0.3:80" 2ms'
)
TRAEFIK_JSON = json.dumps(
    {
        "ClientAddr": "192.0.2.7:54321", "ClientHost": "192.0.2.7", "DownstreamStatus": 200,
        "DownstreamContentSize": 413, "RequestAddr": "shop.example", "RequestHost": "shop.example",
        "RequestMethod": "GET", "RequestPath": "/whoami?a=1", "RequestProtocol": "HTTP/1.1",
        "RequestScheme": "https", "RouterName": "whoami@docker",
        "StartUTC": "2026-03-02T10:00:00.397Z", "request_User-Agent": "curl/8.5.0",
        "level": "info", "msg": "", "time": "2026-03-02T10:00:00Z",
    }
)  # fmt: skip
CADDY = json.dumps(
    {
        "level": "info", "ts": 1646861401.5241024, "logger": "http.log.access",
        "msg": "handled request",
        "request": {
            "remote_ip": "127.0.0.1", "remote_port": "41342", "client_ip": "127.0.0.1",
            "proto": "HTTP/2.0", "method": "GET", "host": "localhost", "uri": "/",
            "headers": {
                "User-Agent": ["curl/7.82.0"], "Accept": ["*/*"],
                "Accept-Encoding": ["gzip, deflate, br"],
            },
            "tls": {"resumed": False, "version": 772, "cipher_suite": 4865, "proto": "h2",
                    "server_name": "example.com"},
        },
        "bytes_read": 0, "user_id": "", "duration": 0.000929675, "size": 10900, "status": 200,
        "resp_headers": {"Server": ["Caddy"], "Content-Encoding": ["gzip"]},
    }
)  # fmt: skip
ALB = (
    "http 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817"
    ' 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET http://www.example.com:80/ HTTP/1.1"'
    ' "curl/7.46.0" - - arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets'
    '/73e2d6bc24d8a067 "Root=1-58337262-36d228ad5d99923122bbe354" "-" "-" 0'
    ' 2018-07-02T22:22:48.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"'
)
ALB_LAMBDA = (
    "h2 2018-11-30T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 [2001:db8::7]:2817"
    ' - 0.000 0.001 0.000 502 - 34 366 "GET https://www.example.com:443/a?b=c HTTP/2.0"'
    ' "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2'
)
EXAMPLES = {
    "combined": APACHE, "nginx": NGINX, "traefik": TRAEFIK, "caddy": CADDY, "alb": ALB,
}  # fmt: skip


def read(form: str, line: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(FORMS[form](line.encode()))
    return event


def value(event: dict[str, Any], expression: str) -> Any:
    """An expression's value for an event, which the encoder accepts."""
    return tidegate.compile(expression).evaluate(event)


def test_the_combined_form() -> None:
    """Apache's form: client, time with its zone, path, status, referer, agent, user."""
    event = read("combined", APACHE)
    assert event["observed_at"] == "2000-10-10T13:55:36-07:00"
    assert event["request"] == {
        "method": "GET", "protocol": "HTTP/1.0", "path": "/apache_pb.gif", "client_ip": "127.0.0.1",
        "referer": "http://www.example.com/start.html",
        "user_agent": "Mozilla/4.08 [en] (Win98; I ;Nav)",
    }  # fmt: skip
    assert event["fields"] == {"status": "200", "bytes": "2326", "user": "frank"}
    assert value(event, 'observed_at == timestamp("2000-10-10T20:55:36Z")') is True


def test_the_common_form_is_combined_without_its_end() -> None:
    """Logs without referer and user agent are read as well, and the two are absent."""
    event = read("combined", COMMON)
    assert "user_agent" not in event["request"]
    assert event["fields"]["status"] == "200"


def test_nginx_with_the_addresses_of_proxies() -> None:
    """Parameters are decoded, repeated ones kept, and the address that the server saw ends the
    header of the proxies, as one more proxy would write it."""
    event = read("nginx", NGINX)
    assert event["request"]["query_params"] == {"next": ["/a"], "x": ["1", "2"]}
    assert event["request"]["path"] == "/login"
    assert event["request"]["headers"] == {"x-forwarded-for": "203.0.113.9, 192.0.2.1, 192.0.2.7"}
    assert value(event, "request.client_ip") == "192.0.2.7"
    assert "referer" not in event["request"]
    assert value(event, 'request.query_params["next"] == "/a" && fields["status"] == "401"') is True


def test_what_servers_escape_is_read_as_it_was() -> None:
    """nginx and Apache write quotation marks and bytes with a backslash."""
    line = APACHE.replace("Mozilla/4.08", r"a\x22b\"c\\d\te")
    assert read("combined", line)["request"]["user_agent"].startswith('a"b"c\\d\te [en]')


def test_a_request_line_that_is_none_is_the_path() -> None:
    """A TLS handshake sent to a plain port is in every log, and an event as well."""
    line = r'192.0.2.7 - - [11/Jan/2013:17:31:36 +0100] "\x16\x03\x01" 400 150 "-" "-"'
    event = read("nginx", line)
    assert event["request"] == {"path": "\x16\x03\x01", "client_ip": "192.0.2.7"}
    assert value(event, 'request.method == ""') is True


def test_traefik_in_text_and_in_json() -> None:
    """Both forms give the same request: client, path, status, router."""
    text, other = read("traefik", TRAEFIK), read("traefik", TRAEFIK_JSON)
    for event in (text, other):
        assert event["request"]["path"] == "/whoami"
        assert event["request"]["client_ip"] == "192.0.2.7"
        assert event["fields"]["router"] == "whoami@docker"
        assert value(event, 'request.user_agent == "curl/8.5.0" && fields["status"] == "200"')
    assert other["observed_at"] == "2026-03-02T10:00:00.397Z"
    assert other["request"]["scheme"] == "https"


def test_caddy() -> None:
    """Caddy's form: a time in seconds, headers as lists."""
    event = read("caddy", CADDY)
    assert event["observed_at"].startswith("2022-03-09T21:30:01.524")
    assert event["fields"] == {"status": 200, "bytes": 10900}
    assert value(event, 'request.user_agent == "curl/7.82.0" && request.scheme == "https"') is True
    assert value(event, 'request.headers["accept-encoding"]') == "gzip, deflate, br"


def test_the_load_balancer_of_amazon() -> None:
    """A load balancer: the time of the request, an absolute target, ports taken away."""
    event = read("alb", ALB)
    assert event["observed_at"] == "2018-07-02T22:22:48.364000Z"
    assert event["request"]["client_ip"] == "192.168.131.39"
    assert value(event, 'request.host == "www.example.com" && request.path == "/"') is True
    older = read("alb", ALB_LAMBDA)
    assert older["observed_at"] == "2018-11-30T22:23:00.186641Z"
    assert older["request"]["client_ip"] == "2001:db8::7"
    assert older["request"]["query_params"] == {"b": ["c"]}
    assert older["fields"] == {"status": "502", "bytes": "366"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_auto_tells_the_form_from_the_first_line_that_has_one(name: str) -> None:
    """Lines that are nothing come before it, as in a log that was cut."""
    line = EXAMPLES[name].encode()
    assert form_of([b"half a line\n", b"\xff\xfe\n", line])(line) == FORMS[name](line)
    event = b'{"request": {"path": "/"}}'
    assert form_of([event])(event) == event


def test_a_mapping_reads_json_of_any_shape(tmp_path: Path) -> None:
    """Members of an event by names of the log, deep ones with dots, times in milliseconds."""
    file = tmp_path / "mapping.yaml"
    file.write_text(
        "request.client_ip: client.address\nrequest.target: uri\nrequest.method: verb\n"
        "request.headers.user-agent: agent\nfields.status: http.status\nobserved_at: at\n"
    )
    line = {
        "client": {"address": "192.0.2.7"}, "uri": "/a?b=1", "verb": "GET", "agent": "x/1",
        "http.status": 404, "at": 1_772_445_600_397,
    }  # fmt: skip
    event = json.loads(mapped_form(file)(json.dumps(line).encode()))
    assert event["observed_at"] == "2026-03-02T10:00:00.397000+00:00"
    assert event["request"]["path"] == "/a"
    assert value(event, 'request.user_agent == "x/1" && fields["status"] == "404"') is True


@pytest.mark.parametrize(
    "content", ["request.pth: a", "fields: a", "[]", "", ": : :", "request.headers: h", "source: 1"]
)
def test_a_mapping_that_is_none_is_a_wrong_call(tmp_path: Path, content: str) -> None:
    """The file is named, and the members that there are."""
    file = tmp_path / "mapping.yaml"
    file.write_text(content)
    with pytest.raises(click.BadParameter, match=r"mapping\.yaml"):
        mapped_form(file)


HOSTILE = [
    b"", b"\x00\x01\x02", b"\xff" * 300, b'"' * 20_000, b"[" * 60_000, b"{" * 60_000,
    b"a b " + b"[ " * 30_000, b'x - - [y] "' + b"\\" * 50_001, b"1 2 3 [" + b"]" * 30_000,
    b'{"request": {"uri": 5}, "ts": 1e400}', b'{"request": {"uri": "/"}, "ts": 1e300}',
    b'{"RequestPath": {}, "time": [1]}', b"null", b"5", b'{"request": [], "uri": 1}',
    APACHE[:60].encode(), CADDY[:60].encode(), ALB[:90].encode(),
]  # fmt: skip


@pytest.mark.parametrize("form", [form for form in FORMS if form != "json"])
@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_lines_are_refused_or_events(form: str, line: bytes) -> None:
    """Binary, half or absurd: an error with a code, never another exception."""
    try:
        json.loads(FORMS[form].fresh()(line) or b"null")
    except EventError as error:
        assert error.code == "unreadable-line"


@given(
    st.sampled_from(["combined", "nginx", "traefik", "alb", "haproxy", "envoy", "csv", "w3c"]),
    st.text('a1 "[]\\-/:?=&%{}', max_size=80),
)
def test_no_text_is_more_than_a_refusal(form: str, text: str) -> None:
    """Whatever stands between the marks of a form."""
    try:
        FORMS[form].fresh()(APACHE.replace("frank", text).replace("GET ", text).encode())
    except EventError as error:
        assert error.code == "unreadable-line"
