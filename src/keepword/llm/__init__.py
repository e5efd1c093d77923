"""Language models: the port that rooms ask through, and the client that answers it."""
