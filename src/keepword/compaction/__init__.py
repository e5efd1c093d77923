"""Old conversations shrink into summaries that lead back to the exact words."""
