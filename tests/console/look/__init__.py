"""The frame around pages, and plots."""
