"""Taking back and erasing: what was said goes, and with it what was derived from it."""
