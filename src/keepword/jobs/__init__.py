"""What happens later: jobs, one per conversation and task at a time, and the sweep that finds what is due."""
