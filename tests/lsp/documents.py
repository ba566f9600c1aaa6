"""Documents that the tests of the language server open."""

from __future__ import annotations

SHOP = """\
apiVersion: tidegate/v1
lists:
  - name: Offices
    kind: ip
    entries: [198.51.100.0/24]
actions:
  - name: Login
    description: Somebody sends credentials.
    expression: request.method == "POST" && request.path == "/login"
entities:
  - name: Account
    slug: account
    match_expression: fields["account_id"] != ""
    key_fields: ['fields["account_id"]']
mitigations:
  - name: Refuse
    mode: Block
policies:
  - name: Stuffing
    expression: |
      actions.login
        && !request.client_ip.inList("offices")
    clauses:
      - name: many
        expression: entity.event_count > 3
        actions: [login]
        entity: account
        mitigation: refuse
        window: {duration_seconds: 60, threshold: 3}
"""
