"""All goals of the indexed rule set, measured in one run; one file for each way to measure."""
