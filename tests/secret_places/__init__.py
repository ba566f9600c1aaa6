"""Places and forms in which events have secrets, and values that only look like secrets.

``places()`` gives events with a text that may stand nowhere in what is kept of them; ``lookalikes()``
gives events that are kept as they are.
"""

from __future__ import annotations

# ruff: noqa: E501
import json
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "Xq7vMarkerZ2"
"""Stands where a secret stands. The values of names that are secrets only with generated values have
more of it."""
LONG = f"{SECRET}kP4tB9wQ"


_NAMES: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("names.json").read_text(encoding="utf-8")
)


class Place(NamedTuple):
    """An event with a secret in it."""

    name: str
    event: dict[str, Any]
    secret: str = SECRET


HEADERS = _NAMES["headers"]
QUERIES = _NAMES["queries"]
MEMBERS = _NAMES["members"]
NAMED_FORMS = {
    "form": "a=1&{}=SECRET&b=2",
    "body with colons": "user: ann\n{}: SECRET\n",
    "JSON in a text": '{"a":1,"{}":"SECRET"}',
    "JSON cut short": '{"a":1,"{}":"SECRET',
    "JSON after a call": 'callback({"a":1,"{}":"SECRET"})',
    "escaped JSON": '"{\\"a\\":1,\\"{}\\":\\"SECRET\\"}"',
    "script": 'login("ann", {{}: "SECRET"})',
    "arrow": "['{}' => 'SECRET']",
    "assignment": 'export {}="SECRET"',
    "subscript": 'params["{}"] = "SECRET"',
    "flag": "mysql --{} SECRET --host h",
    "quoted": "ALTER USER ann {} 'SECRET'",
    "ini": "[client]\nuser = ann\n{} = SECRET",
    "DSN": "Server=h;Database=d;{}=SECRET;Encrypt=yes",
    "log": "2026-01-01 12:00:00 login user=ann {}=SECRET ok",
    "XML": "<r><user>ann</user><{}>SECRET</{}></r>",
    "attribute": '<input name="{}" value="SECRET"/>',
    "plist": "<dict><key>{}</key><string>SECRET</string></dict>",
    "CSV": "user,{}\nann,SECRET\n",
    "CSV with quotes": '"user";"{}"\r\n"ann";"SECRET"\r\n',
    "TSV": "user\t{}\nann\tSECRET",
    "MIME": '--b\r\nContent-Disposition: form-data; name="{}"\r\n\r\nSECRET\r\n--b--',
    "GraphQL": 'mutation { login(user: "ann", {}: "SECRET") { id } }',
    "event stream": 'event: login\ndata: {"{}":"SECRET"}\n\n',
    "socket": '42["login",{"{}":"SECRET"}]',
}
FORMED_NAMES = ("password", "api_key", "userPin", "cvv", "пароль", "client-secret")


def _values() -> dict[str, str]:
    """Secrets that show themselves, by what they are; ``SECRET`` is what may not be kept."""
    header = urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    spaced = urlsafe_b64encode(b'{\n  "typ" : "JWT",\n "alg" : "none" }').decode().rstrip("=")
    basic = b64encode(f"ann:{SECRET}".encode()).decode()
    key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
    pem = f"-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----"
    tail = "9aB8cD7eF6gH5iJ4kL3mN2oP1qR0sT9uV8wX7y"
    made = {
        "JWT": f"{header}.eyJzdWIiOiIxIn0.{SECRET}",
        "JWT with spaces": f"{spaced}.eyJzdWIiOiIxIn0.{SECRET}",
        "JWT without a signature": f"{header}.{SECRET}.",
        "JWE": f"{header}.{SECRET}.a.b.c",
        "Basic": f"Basic {basic}",
        "basic": f"basic {basic}",
        "Bearer": f"Bearer {SECRET}",
        "bearer": f"bearer {SECRET}",
        "Negotiate": f"Negotiate YII{SECRET}",
        "PEM": pem,
        "PEM cut short": pem[:60],
        "RSA": pem.replace("PRIVATE", "RSA PRIVATE"),
        "OpenSSH": pem.replace("PRIVATE", "OPENSSH PRIVATE"),
        "Slack's address": f"https://hooks.slack.com/services/T000/B000/{SECRET}",
        "Discord's address": f"https://discord.com/api/webhooks/1/{SECRET}{SECRET}",
        "a key of Tidegate": f"tg_abcdefghijklmnop_{SECRET.lower()}{tail.lower()}",
    }
    prefixes = """AKIA ASIA AIza ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- sk_live_ sk_test_ rk_live_ whsec_ xoxb-
    xoxp- xoxs- xapp- sk-ant- sk-proj- npm_ pypi- hf_ dop_v1_ shpat_ lin_api_ dapi hvs. SG. ya29. GOCSPX- glsa_
    ATATT3x dckr_pat_ tskey- rzp_live_ v2.local. AGE-SECRET-KEY-1"""
    made |= {prefix: prefix + tail for prefix in prefixes.split()}
    cards = """4111111111111111 4242424242424242 5555555555554444 2223003122003222 378282246310005 371449635398431
    30569309025904 6011111111111117 3530111333300000 6200000000000005 4222222222222 6759649826438453
    2200000000000004"""
    made |= {f"card {card}": card for card in cards.split()}
    made["card with spaces"] = "4111 1111 1111 1111"
    made["card with dashes"] = "4111-1111-1111-1111"
    made["card of Amex with spaces"] = "3782 822463 10005"
    return made


VALUES = _values()


def _secret_of(kind: str, value: str) -> str:
    """The part of a value that may not be kept."""
    if kind.lower() == "basic":
        return value.partition(" ")[2]
    lowered = SECRET.lower() if SECRET.lower() in value else SECRET
    if lowered in value:
        return lowered
    if kind.startswith(("PEM", "RSA", "OpenSSH")):
        return "MIIEvQIBADANBgkqhk"
    return value[-12:]


def _texts() -> dict[str, Any]:
    """Values of ``fields.body`` and of members in a form of their own."""
    pair = {"name": "password", "value": SECRET}
    har = {"postData": {"params": [{"name": "user", "value": "ann"}, pair]}}
    return {
        "HAR": har,
        "HAR as a text": json.dumps(har),
        "a value before its name": {"params": [{"value": SECRET, "name": "password"}]},
        "Postman": [{"key": "password", "value": SECRET, "type": "text"}],
        "names in upper case": [{"Name": "Password", "Value": SECRET}],
        "XML as JSON": {"field": [{"@name": "password", "#text": SECRET}]},
        "a field and its value": [{"field": "pin", "val": SECRET}],
        "an input and its type": {"inputs": [{"type": "password", "value": SECRET}]},
        "pairs": [["user", "ann"], ["password", SECRET]],
        "headers as pairs": {"headers": [["Authorization", SECRET]]},
        "GraphQL with arguments": {"query": f'mutation {{ login(password: "{SECRET}") {{ id }} }}'},
        "GraphQL with variables": {
            "query": "mutation($password: String!) { login(password: $password) { id } }",
            "variables": {"password": SECRET},
        },
        "GraphQL with renamed variables": {
            "query": "mutation($p: String!) { login(password: $p) { id } }",
            "variables": {"p": SECRET},
        },
        "GraphQL with variables first": {
            "variables": {"input": {"newPassword": SECRET}, "p": SECRET},
            "query": "mutation($p: String!) { login(password :$p) { id } }",
        },
        "XML in JSON": {"envelope": f"<s:Body><wsse:Password>{SECRET}</wsse:Password></s:Body>"},
        "CSV in JSON": {"file": f"user,password\nann,{SECRET}"},
        "a form in JSON": {"payload": f"user=ann&password={SECRET}"},
        "JSON in JSON in JSON": {"a": json.dumps({"b": json.dumps({"password": SECRET})})},
        "a list of secrets": {"passwords": [SECRET, SECRET]},
        "an object of secrets": {"credentials": {"user": "ann", "value": SECRET}},
        "a body that is JSON": json.dumps({"user": "ann", "password": SECRET}),
        "JSON after a byte order mark": "\ufeff" + json.dumps({"password": SECRET}),
        "JSON lines": json.dumps({"password": SECRET}) + "\n" + json.dumps({"a": 1}),
        "a name in escapes": '{"pass\\u0077ord":"' + SECRET + '"}',
        "a name in escapes with a zero width": '{"pass\\u200bword":"' + SECRET + '"}',
        "a code": {"code": "483920", "key": LONG},
        "an unknown key": {"acme_key": LONG},
        "batch": {"batch": [{"op": "login", "body": {"pwd": SECRET}}]},
    }


URLS = {
    "userinfo": f"https://ann:{SECRET}@h/",
    "user alone": f"https://{SECRET}@h/",
    "DSN": f"postgres://ann:{SECRET}@h:5432/d",
    "query": f"https://h/cb?code={SECRET}&state=1",
    "query in a fragment": f"https://h/cb#access_token={SECRET}&type=x",
    "route in a fragment": f"https://h/#/cb?token={SECRET}",
    "query in a query": f"/login?next=%2Fcb%3Ftoken%3D{SECRET}",
    "query in a query twice": f"/login?next=%252Fcb%253Ftoken%253D{SECRET}",
    "matrix parameter": f"/a;jsessionid={SECRET}/b",
    "JSON in a query": f'/a?filter={{"password":"{SECRET}"}}',
    "encoded JSON in a query": f"/a?filter=%7B%22password%22%3A%22{SECRET}%22%7D",
    "encoded name": f"/a?p%61ssword={SECRET}",
    "JWT in a path": f"/verify/{VALUES['JWT']}/ok",
    "presigned": f"/b/o?X-Amz-Expires=60&X-Amz-Signature={SECRET}",
    "SAS": f"/b/o?sv=2022&se=2026&sig={SECRET}",
    "SAML": f"/acs?SAMLResponse={SECRET}&RelayState=x",
    "bracketed": f"/a?user[password]={SECRET}",
    "without an equals sign": f"/a?password:{SECRET}",
}


def places() -> Iterator[Place]:
    """The events with a secret."""
    for name in HEADERS:
        yield Place(f"header {name}", {"request": {"headers": {name: SECRET}}})
    for name in QUERIES:
        yield Place(f"query {name}", {"request": {"path": f"/a?x=1&{name}={SECRET}&y=2"}})
        yield Place(f"raw query {name}", {"request": {"query": f"{name}={SECRET}&y=2"}})
        yield Place(f"parameter {name}", {"request": {"query_params": {name: SECRET}}})
        yield Place(f"form {name}", {"fields": {"body": f"x=1&{name}={SECRET}"}})
    for name in MEMBERS:
        yield Place(f"field {name}", {"fields": {name: SECRET}})
        yield Place(f"member {name}", {"fields": {"body": {"inner": [{name: SECRET}]}}})
        yield Place(f"form {name}", {"fields": {"body": f"x=1&{name}={SECRET}"}})
    for form, text in NAMED_FORMS.items():
        for name in FORMED_NAMES:
            made = text.replace("{}", name).replace("SECRET", SECRET)
            yield Place(f"{form} {name}", {"fields": {"body": made}})
            yield Place(f"{form} {name} inside", {"fields": {"body": {"text": made}}})
            yield Place(f"{form} {name} in a header", {"request": {"headers": {"x-note": made}}})
    for kind, value in VALUES.items():
        secret = _secret_of(kind, value)
        yield Place(f"{kind} in a field", {"fields": {"note": value}}, secret)
        yield Place(f"{kind} in a text", {"fields": {"note": f"it is {value}, ok"}}, secret)
        yield Place(f"{kind} in a header", {"request": {"headers": {"x-note": value}}}, secret)
        yield Place(f"{kind} in a body", {"fields": {"body": {"a": [value]}}}, secret)
        if value.isdigit():
            yield Place(f"{kind} as a number", {"fields": {"body": {"a": int(value)}}}, secret)
    for kind, body in _texts().items():
        yield Place(kind, {"fields": {"body": body}})
        text = body if isinstance(body, str) else json.dumps(body)
        yield Place(f"{kind} in a parameter", {"request": {"query_params": {"q": text}}})
    for kind, url in URLS.items():
        for header in ("location", "referer", "content-location", "x-original-url", "link"):
            yield Place(f"{kind} in {header}", {"request": {"headers": {header: url}}})
        yield Place(f"{kind} in the path", {"request": {"path": url}})
        yield Place(f"{kind} in the return URL", {"return_url": url})
        yield Place(f"{kind} in a body", {"fields": {"body": {"url": url}}})


BENIGN_NAMES = _NAMES["benign"]
BENIGN_TEXTS = [
    "The bearer of this letter",
    "Bearer authentication is required",
    "Bearer token",
    "Basic plan",
    "basic authentication",
    "basic income",
    "Basic realm",
    "negotiate the price",
    "order 1234567890123456",
    "4111111111111112",
    "1732740000000000",
    "1732740000000",
    "phone 4915112345678",
    "phone 4366412345675",
    "2026-03-02T00:00:00.397Z",
    "192.0.2.7, 198.51.100.7",
    "2001:db8::4111:1111:1111:1111",
    "550e8400-e29b-41d4-a716-446655440000",
    "d41d8cd98f00b204e9800998ecf8427e",
    "4006381333931",
    "version 4.1111111111111111",
    "akia is a name",
    "AKIA short",
    "sk-learn-pipeline",
    "eyJ is a beginning",
    "eye.brow.line",
    "news.example.test",
    "ghp_short",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/120.0.0.0 Safari/537.36",
    "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8",
    "<b>bold</b> and <i>italic</i>",
    "<script>alert(1)</script>",
    "name,city\nann,Bern",
    "first line\nsecond line",
    "1' or '1'='1",
    "SELECT * FROM users WHERE id = 1",
    "../../etc/passwd",
    "/wp-login.php?action=lostpassword",
    "/forgot-password",
    "/reset-password/help",
    "https://h/docs/security/tokens",
    "https://h/a?page=2&sort=key&zipcode=12345&country_code=CH",
    "/items?status_code=404&sort_key=name&key_count=3",
    "I forgot my password, please help",
    "password",
    "key",
    "color: red; width: 10px",
    "q: a, b, c",
    "12:30:00",
    "a@b.c",
]
BENIGN_BODIES: list[Any] = [
    {"name": "city", "value": "Bern"},
    [["a", "b"], ["city", "Bern"]],
    {"error": {"code": 404, "key": "not_found"}},
    {"code": "US"},
    {"key": "user.name"},
    {"key": "images/cat.png"},
    {"type": "text", "value": "hello"},
    {"query": "query($id: ID!) { item(id: $id) { name } }", "variables": {"id": "7"}},
    {"n": 1234567890123456, "t": 1732740000000},
    {"tokens": 128},
    {"mfa": "enabled"},
    {"customer_key": "basic"},
]


def lookalikes() -> Iterator[Place]:
    """The events without a secret."""
    for name in BENIGN_NAMES:
        yield Place(f"header {name}", {"request": {"headers": {name: "v1"}}})
        yield Place(f"parameter {name}", {"request": {"query_params": {name: "v1"}}})
        yield Place(f"field {name}", {"fields": {name: "v1", "body": {name: ["v1"]}}})
        yield Place(f"form {name}", {"fields": {"body": f"a=1&{name}=v1"}})
    for text in BENIGN_TEXTS:
        yield Place(f"text {text}", {"fields": {"note": text, "body": {"note": text}}})
        yield Place(f"header {text}", {"request": {"headers": {"x-note": text}}})
    for body in BENIGN_BODIES:
        yield Place(f"body {body}", {"fields": {"body": body}})
