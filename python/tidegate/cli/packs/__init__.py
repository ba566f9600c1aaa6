"""Commands about packs (docs/packs.md)."""
