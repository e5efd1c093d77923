"""One free-text memory per workspace and one per member, as a whole."""
