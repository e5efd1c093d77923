"""The faithfulness check: what a model writes names only what its sources name."""

from keepword.faithfulness.check import Sources, Verdict, check_faithful

__all__ = ["Sources", "Verdict", "check_faithful"]
