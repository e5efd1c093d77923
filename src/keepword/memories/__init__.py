"""The semantic layer: what is worth keeping of what was said, one sentence each, with its sources and its history."""
