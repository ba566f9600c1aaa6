"""Events from files and standard input, in any supported format."""
