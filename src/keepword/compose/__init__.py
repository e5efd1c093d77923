"""What the agent sees: the whole context of one turn, within a budget, attributed and without repetition."""
