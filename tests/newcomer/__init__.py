"""What a newcomer does, who types only what the README and the pages say."""
