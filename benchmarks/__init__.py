"""Measurements of Tidegate; ``README.md`` here says what each number means."""
