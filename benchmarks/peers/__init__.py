"""Other engines under the same work; one small adapter a file."""
