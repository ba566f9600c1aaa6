"""The built console lies here, in ``assets``; its sources are in ``console/`` of the repository."""
