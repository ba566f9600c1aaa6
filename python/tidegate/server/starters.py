"""The definitions of a new tenant."""

from __future__ import annotations

from uuid import UUID

from tidegate.policy.model import EntityDefinition, derived_id


def starting_entities(tenant_id: UUID) -> tuple[EntityDefinition, ...]:
    """The entity definitions of a new tenant; ids are those a document without any would give."""

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
            description="Everybody else, by client address and user agent.",
            priority=100,
            key_fields=("request.client_ip", "request.user_agent"),
        ),
    )
