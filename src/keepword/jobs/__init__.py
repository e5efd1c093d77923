"""Background jobs, one per conversation and task at a time, and the sweep that enqueues due work."""
