"""A grant as the database reads it: as parameters of queries (first wall), and as a setting (row-level security)."""

import json
from functools import lru_cache
from typing import Any

from keepword.access import Grant


@lru_cache(maxsize=1024)
def dump(grant: Grant) -> str:
    """Write the grant as the policies read it."""
    return json.dumps(
        {
            "tenant": str(grant.tenant_id),
            "everything": grant.everything,
            "run_ids": list(grant.run_ids),
            "sessions_of": grant.sessions_of,
            "threads_of": grant.threads_of._asdict() if grant.threads_of else None,
            "visibilities": "{" + ",".join(grant.visibilities) + "}",
            "private_to": grant.private_to,
            "writes": grant.writes,
            "shares": list(grant.shares),
            "profiles_of": list(grant.profiles_of),
            "lines_in": list(grant.lines_in),
            "lines_of_theirs": grant.lines_of_theirs,
            "lines_to": grant.lines_to,
            "vouches": grant.vouches,
            "owner": grant.owner,
            "by": grant.by._asdict() if grant.by else None,
            "retracted": grant.retracted,
        }
    )


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
