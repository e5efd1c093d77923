"""The built-in templates."""
