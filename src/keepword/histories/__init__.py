"""Reads histories of other programs: people, threads, messages, and what was left out."""
