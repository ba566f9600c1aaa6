"""The definitions of a new tenant."""

from __future__ import annotations

from uuid import UUID

from tidegate.policy.definitions.model import EntityDefinition, derived_id


def starting_entities(tenant_id: UUID) -> tuple[EntityDefinition, ...]:
    """Return a new tenant's entity definitions, with the ids that a document without ids gets."""

    def identifier(slug: str) -> str:
        return derived_id(tenant_id, "entity", slug)

    return (
        EntityDefinition(
            entity_definition_id=identifier("bot-crawlers"),
            name="bot-crawlers",
            slug="bot-crawlers",
            description="Well-known crawlers, each by its user agent.",
            priority=50,
            key_fields=("request.user_agent",),
            match_expression="derived.is_bot",
        ),
        EntityDefinition(
            entity_definition_id=identifier("ip-user-agent"),
            name="ip-user-agent",
            slug="ip-user-agent",
            description="By client address (IPv6: /64) and user agent; without a user agent too.",
            priority=100,
            key_fields=("derived.client_network", "request.user_agent"),
            # Otherwise a client could escape every window by omitting the user agent.
            match_expression='request.client_ip != ""',
            on_missing_key="blank",
        ),
        EntityDefinition(
            entity_definition_id=identifier("ip"),
            name="ip",
            slug="ip",
            description="By client address alone (IPv6: /64), whatever the user agent says.",
            priority=200,
            key_fields=("derived.client_network",),
        ),
        EntityDefinition(
            entity_definition_id=identifier("account-id"),
            name="account-id",
            slug="account-id",
            description="By account, for events that name one in the field account_id.",
            priority=300,
            key_fields=("fields.account_id",),
            # An empty id is sent by sites for visitors who aren't logged in.
            match_expression='has(fields.account_id) && fields.account_id != ""',
        ),
    )
