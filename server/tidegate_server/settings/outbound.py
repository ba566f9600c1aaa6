"""Outbound connections: decision delivery, challenge providers and, for commands, a service."""

from __future__ import annotations

import typed_settings as ts

from tidegate_server.settings.bounds import Between, Networks, Receiver


@ts.settings
class PublishSettings:
    """The destination of published decisions."""

    url: str = ts.secret(
        default="",
        help="Where each decision is sent on to: a file:///PATH of JSON lines, the https:// "
        "address of a webhook, or the nats:// or tls:// address of a server with JetStream.",
    )
    secret: str = ts.secret(
        default="",
        help="Signs what a webhook gets: `whsec_` and base64, "
        "as Standard Webhooks writes secrets, or any text.",
    )
    subject: str = ts.option(
        default="tidegate.decisions",
        help="Subject of NATS; the tenant's id is added to it.",
    )


@ts.settings
class ListsSettings:
    """Lists from published sources."""

    refresh: bool = ts.option(
        default=False,
        help="Fetch lists that have a source from the internet, as often as each says.",
    )
    allow_networks: str = ts.option(
        default="",
        validator=Networks(),
        help="Networks that lists are fetched from although they aren't public, such as that of a "
        "mirror. Everybody who may write definitions can then have requests sent there.",
    )


@ts.settings
class AlertsSettings:
    """Alerts of tenants."""

    enabled: bool = ts.option(
        default=True,
        help="Evaluate the alerts of tenants each minute, and send their messages.",
    )
    smtp_url: str = ts.secret(
        default="",
        help="Mail server for alerts by e-mail: smtp://USER:PASSWORD@HOST, which uses STARTTLS, or "
        "smtps://.",
    )
    mail_from: str = ts.option(default="", help="Address that alerts by e-mail are from.")
    allow_networks: str = ts.option(
        default="",
        validator=Networks(),
        help="Networks that alerts are sent to although they aren't public. Everybody who may "
        "write alerts can then have requests sent there.",
    )


@ts.settings
class TelemetrySettings:
    """OpenTelemetry."""

    otlp_endpoint: str = ts.option(
        default="",
        validator=Receiver(),
        help="Where spans and log lines are sent over OTLP/HTTP, such as http://127.0.0.1:4318; "
        "needs the extra `otlp`. By default nothing is sent.",
    )
    otlp_headers: str = ts.secret(
        default="",
        help="Headers sent along, such as the key of a provider: NAME=VALUE, with commas between.",
    )
    sample_ratio: float = ts.option(
        default=1.0,
        validator=Between(0, 1),
        help="Part of the calls without a `traceparent` that get a span, 0 to 1. Those with one "
        "get a span if their caller's is sampled.",
    )


@ts.settings
class ChallengeSettings:
    """Providers of challenges that need keys of their own."""

    turnstile_site_key: str = ts.option(
        default="", help="Site key of Turnstile; the provider works with both keys only."
    )
    turnstile_secret: str = ts.secret(default="", help="Secret key of Turnstile.")
    turnstile_verify_url: str = ts.option(
        default="https://challenges.cloudflare.com/turnstile/v0/siteverify",
        help="Where solutions of Turnstile are checked.",
    )


@ts.settings
class RemoteSettings:
    """The service and the key that commands use."""

    url: str = ts.option(default="http://127.0.0.1:8080", help="Address of the service.")
    token: str = ts.secret(
        default="", help="An operator's token; better in the environment than on the command line."
    )
    tenant: str = ts.option(
        default="", help="Slug or id of the tenant; not needed for the only one."
    )
