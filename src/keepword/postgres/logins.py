"""The logins of the database: the owner's for the set-up, and one with fewer rights for everything else."""

from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

# a member of the application role and of no other: a connection that forgets its role reads nothing
APP_LOGIN = "keepword_login"
_SUPERUSER = "postgres"
_EMBEDDED = "embedded keepword"  # a mark that goes along with every copy of the conninfo


def embedded_conninfo(socket_folder: str) -> str:
    """Return how the embedded server's superuser connects, marked as such."""
    return make_conninfo(
        host=socket_folder, user=_SUPERUSER, dbname="keepword", fallback_application_name=_EMBEDDED
    )  # fmt: skip


def is_embedded(conninfo: str) -> bool:
    """Tell whether it is the embedded server's superuser who connects so."""
    parameters = conninfo_to_dict(conninfo)
    return (parameters.get("fallback_application_name"), parameters.get("user")) == (_EMBEDDED, _SUPERUSER)


def as_application(conninfo: str) -> str:
    """Return the login for requests and jobs: another server's is the one that its URL names."""
    return make_conninfo(conninfo, user=APP_LOGIN) if is_embedded(conninfo) else conninfo


def without_password(message: str, url: str) -> str:
    """Return the driver's message about a URL without any part of its password, also of one that it misread."""
    try:
        password = str(conninfo_to_dict(url).get("password") or "")
    except psycopg.ProgrammingError:
        return (
            "its URL can't be read; the characters / # ? @ : % of a password are written percent-encoded, such as %2F"
        )
    # the text between the first colon and the last @ counts as the password, however the driver reads it
    meant = url.partition("://")[2].partition(":")[2].rpartition("@")[0]
    for secret in sorted({password, meant, unquote(meant), *_pieces(meant)}, key=len, reverse=True):
        message = message.replace(secret, "***") if secret else message
    return message


def _pieces(meant: str) -> set[str]:
    for separator in "@:#?%":
        meant = meant.replace(separator, "/")
    return set(meant.split("/"))
