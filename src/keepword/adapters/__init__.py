"""Keepword behind the memory interfaces of other people's frameworks; each module alone imports its framework."""
