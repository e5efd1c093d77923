"""What Keepword knows of natural languages, as tables: calendar words, function words, stems. Pure functions."""
