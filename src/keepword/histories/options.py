"""What a reader is told beside the files."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """`owner_names` are the names and ids by which the source may call the person whose history it is.

    `day_first` says whether 3/4 is the third of April; None lets the file tell. `also_forgotten` also reads what was
    marked as not to be remembered.
    """

    owner_names: frozenset[str] = frozenset()
    day_first: bool | None = None
    also_forgotten: bool = False
