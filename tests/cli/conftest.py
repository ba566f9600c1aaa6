"""Commands that talk to a service have the server of the tests of the control plane."""

from tests.server.conftest import owned, owner, served, tenant

__all__ = ["owned", "owner", "served", "tenant"]
