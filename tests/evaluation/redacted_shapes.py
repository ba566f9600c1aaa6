"""Generated shapes of events with names and texts that a redactor takes for secrets, or nearly."""

from __future__ import annotations

from hypothesis import strategies as st

names = st.sampled_from(
    [
        "a",
        "Password",
        "x-password-2",
        "b*",
        "referer",
        "cookie",
        "é",
        "pass",
        "p%61ss",
        "a[pass].b",
        "key",
        "code",
        "name",
        "value",
        "query",
        "variables",
        "type",
        "data",
        "userPin",
        "shipping",
        "token_type",
        "p\u200bin",
        "ｐｉｎ",
        "пароль",
        "acme_key",
        "api.key",
        "tokens",
        "x",
    ]
)
pieces = st.sampled_from(
    ["password", "pass", "a", "=", "=", "&", ";", "?", "#", ":", "//", "\\", "@", "%", "%3D", "%26",
     "%2526", "p%61ss", "%70ass", "{", "}", "[", "]", '"', ",", " ", "\n", "\ufeff", "<", "--",
     "content-Disposition:", '{"pass":"x"}', '["pass=1"]', "hmac:", "0" * 32, "é", "%C3%A9", "%ff",
     "+", "%7B%22pass%22%3A1%7D", "http://u:p@h/", "Basic ", "YTpi", "bearer ", "x1y2z3", "\\", "'",
     "-", "eyJhIjoxfQ", ".", "ghp_", "0123456789ab", "4111111111111111", "4111 1111 1111 1111",
     "-----BEGIN ",
     "PRIVATE KEY-----", "-----END ", "\t", "--pin ", "pin", "key", "code", "token", "</", ">",
     "type", "\u200b", "\uff50", "пароль", "Api", "Key", "_", "length", "hooks.slack.com/services/"]
)  # fmt: skip
texts = st.sampled_from(
    [
        "",
        "x",
        "?password=1&a=b",
        "a=1;pass=2",
        '{"password":"\\u0000"}',
        "[1]",
        "pin",
        "password",
        "login(password: $p)",
        "483920",
        "kP4tB9wQ7xV2mZ1cL8sD",
        "user,pin\nann,1",
        "<pin>1</pin>",
    ]
) | st.lists(pieces, max_size=8).map("".join)
values = st.recursive(
    texts
    | st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(0, 1)
    | st.sampled_from([4111111111111111, 483920, 4111111111111112]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
members = st.sampled_from(
    [
        "request",
        "fields",
        "return_url",
        "source",
        "path",
        "headers",
        "cookies",
        "body",
        "referer",
        "query_params",
    ]
)
shapes = st.dictionaries(
    members, values | st.dictionaries(members | names, values | st.dictionaries(names, values))
)
patterns = st.lists(
    st.sampled_from(
        ["*", "!pin", "!a", "a", "*pass*", "p*s*d", "", "*2", "cookie", "É", "b*", "é"]
    ),
    max_size=3,
)
