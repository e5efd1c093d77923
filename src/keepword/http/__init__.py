"""The REST surface: thin routes that parse, call a room, and print."""
