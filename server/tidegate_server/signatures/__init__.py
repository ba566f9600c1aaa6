"""Signatures of agents: HTTP Message Signatures (RFC 9421) in the profile of Web Bot Auth.

``directory.py`` has the keys of a tenant's lists, ``message.py`` what a signature covers,
``verify.py`` what is found of a request, and ``nonces.py`` what was used before
(docs/agents.md).
"""
