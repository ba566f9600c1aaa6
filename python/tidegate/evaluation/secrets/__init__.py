"""How secrets in an event are recognised: names by families, and values by their form."""
