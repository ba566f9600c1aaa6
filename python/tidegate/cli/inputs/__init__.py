"""Events from files and standard input, in the forms they are found in."""
