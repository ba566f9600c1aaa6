"""The steps of a newcomer, who types only the lines of the README and the pages."""
