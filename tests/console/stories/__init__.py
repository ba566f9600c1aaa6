"""An operator's day, by pointer and by keys, and the tracks that it leaves."""
