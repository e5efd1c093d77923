"""What one statement says: its meaning, the attribute that it gives a value for, and what it ends."""
