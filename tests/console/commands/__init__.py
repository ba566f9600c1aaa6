"""What is run by hand: pictures of every page, and how fast it is."""
