"""Commands to run by hand: pictures of every page, and its speed."""
