"""Working memory, buffer and ledger on Redis 6.2 or newer."""
