"""Tools for hosts to test their own use of Tidegate.

``strategies`` are Hypothesis strategies for schemas, expressions and events (the extra
``tidegate[testing]``); ``agreement`` compares the two evaluators, ``conformance`` runs the
published CEL cases.
"""
