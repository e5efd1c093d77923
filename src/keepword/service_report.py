"""What the running service tells its operator: the doctor's checks that need no model, settings with their origins."""

from collections.abc import Iterator

from keepword import __version__
from keepword.answers import Finding, ServiceReport, ServiceSetting
from keepword.checks import Check, check_database, check_keys, check_machine, check_redis
from keepword.config import LoadedSettings, Settings, is_secret, read_settings, variable
from keepword.errors import BadSettings, KeepwordError
from keepword.postgres import migrate
from keepword.postgres.backlog import failures


def make(settings: Settings, conninfo: str) -> ServiceReport:
    """Check everything now: that takes connections of its own, and blocks."""
    findings = (Finding(one.name, one.ok, one.found, "" if one.ok else one.fix) for one in _checks(settings, conninfo))
    return ServiceReport(__version__, tuple(findings), tuple(_settings(settings)))


def _checks(settings: Settings, conninfo: str) -> Iterator[Check]:
    yield from check_machine(settings)
    try:
        yield from check_database(conninfo)
        with migrate.owner(conninfo) as conn:
            yield check_keys(conn)
            for space, reason, count in failures(conn):
                yield Check(
                    f"space {space}", ok=False, found=f"{count} entries could not be embedded: {reason}",
                    fix="when the reason is gone, let them be embedded again: POST /v1/jobs/retry, task embed",
                )  # fmt: skip
    except KeepwordError as exc:
        yield Check("database", ok=False, found=str(exc), fix="start PostgreSQL, or correct KEEPWORD_DATABASE_URL")
    yield check_redis(settings)


def _settings(settings: Settings) -> Iterator[ServiceSetting]:
    """Tell where each setting came from; one that is read otherwise now was given by whoever started the service."""
    try:
        now = read_settings()
    except BadSettings:
        now = LoadedSettings(settings, {})
    for name in Settings.model_fields:
        value = getattr(settings, name)
        origin = now.origins.get(name, "what can't be read any more")
        is_same = value == getattr(now.settings, name)
        shown = "(hidden)" if value and is_secret(name) else str(value)
        yield ServiceSetting(name, variable(name), shown, origin if is_same else "given when it was started")
