"""A grant as parameters of queries: the first wall compares rows with them."""

from typing import Any

from keepword.access import Grant


def grant_values(grant: Grant) -> dict[str, Any]:
    return {
        "tenant_id": grant.tenant_id,
        "everything": grant.everything,
        "run_ids": list(grant.run_ids),
        "visibilities": list(grant.visibilities),
        "private_to": grant.private_to,
    }


def profile_values(grant: Grant) -> dict[str, Any]:
    """Return which profiles a grant opens, and which of their lines."""
    return {
        "profiles_of": list(grant.profiles_of),
        "lines_in": list(grant.lines_in),
        "lines_of_theirs": grant.lines_of_theirs,
        "lines_to": grant.lines_to,
    }
