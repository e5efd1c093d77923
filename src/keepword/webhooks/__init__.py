"""Webhooks: addresses that are told when a memory, fact, profile or summary changes."""
