"""Many spellings of one address, through real proxies: the address that is served was judged."""
