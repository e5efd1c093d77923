"""What coding agents call: a command that gives them memory and keeps what was said. It never fails its host."""
