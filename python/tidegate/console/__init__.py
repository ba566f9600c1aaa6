"""Contains the built console, in ``assets``; its sources are in the repository's ``console/``."""
