"""Export: what is committed to the decision log is sent to other systems."""
