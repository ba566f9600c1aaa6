"""The types on the wire: requests and answers, kept apart from the classes of the domain.

Objects refer to each other by id here, and by slug inside; times are RFC 3339 texts.
"""
