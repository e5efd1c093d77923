"""The checks of a grant that every store makes before it touches a place, with or without row-level security."""

from keepword.access import Grant, Place
from keepword.errors import Forbidden, NotFound


def require_read(grant: Grant, place: Place) -> None:
    if not grant.opens(place):
        raise NotFound(f"no conversation {place.external_id!r}")


def require_write(grant: Grant, place: Place) -> None:
    require_read(grant, place)
    if grant.writes != place.run_id:
        raise Forbidden(f"this key may not write in conversation {place.external_id!r}")
