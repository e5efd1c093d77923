"""Everything that Keepword raises on purpose.

KeepwordError
├── InvalidInput        the caller sent something that can't be accepted
│   ├── Malformed       it could not even be read
│   ├── WrongMedia      it is not of a media type that is read here
│   ├── TooLarge        it is over a size limit
│   └── BrokenArchive   an export that can't be imported: damaged, cut off, or too new
├── Unauthenticated     no key, or one that does not work
├── Forbidden           a good key that may not do this
├── NotFound            not there, or not there for this viewer
├── Conflict            it contradicts what is stored
├── Outdated            it changed since the caller read it
├── OverQuota           the tenant used up what it has for a day
├── TooSlow             the caller did not send the rest of a request in time
├── Unavailable         a part that Keepword needs is away; trying again later helps
│   ├── TookTooLong     the database stopped a statement at its time limit
│   └── TenantMoved     the tenant lives on another database server
├── WorkStopped         reading a text took too long and was stopped
├── BadAnswer           a service failed, or what answered is no Keepword; raised by clients
├── ModelFailed         a language model gave no answer that can be used
│   ├── ModelAway       it can't be reached, answers errors, or takes too long
│   ├── ModelRefused    it refused the request
│   ├── ModelUnreadable its answer is empty or no answer at all
│   └── ModelCutOff     its answer was cut off at the limit of tokens
└── StartError          Keepword can't start like this
    ├── BadSettings     a setting is unknown or has a bad value
    ├── UnfitDatabase   the database lacks something
    └── AlreadyRunning  another process serves the same data folder
"""


class KeepwordError(Exception):
    """The base of all; its text is written for the person who reads it."""


class InvalidInput(KeepwordError):
    """`field` is the path of the offending value, such as `messages.3.role`."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class Malformed(InvalidInput):
    pass


class WrongMedia(InvalidInput):
    pass


class TooLarge(InvalidInput):
    pass


class BrokenArchive(InvalidInput):
    pass


class Unauthenticated(KeepwordError):
    pass


class Forbidden(KeepwordError):
    pass


class NotFound(KeepwordError):
    pass


class Conflict(KeepwordError):
    pass


class Outdated(KeepwordError):
    pass


class OverQuota(KeepwordError):
    def __init__(self, message: str, retry_after_seconds: int) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class TooSlow(KeepwordError):
    pass


class Unavailable(KeepwordError):
    def __init__(self, message: str, retry_after_seconds: int = 1) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class TookTooLong(Unavailable):
    pass


class TenantMoved(Unavailable):
    def __init__(self, server: str) -> None:
        where = f"this key's tenant lives on the server {server!r}, which is not in this service's KEEPWORD_SERVERS"
        super().__init__(where)
        self.server = server


class WorkStopped(KeepwordError):
    pass


class BadAnswer(KeepwordError):
    pass


class ModelFailed(KeepwordError):
    pass


class ModelAway(ModelFailed):
    pass


class ModelRefused(ModelFailed):
    pass


class ModelUnreadable(ModelFailed):
    pass


class ModelCutOff(ModelFailed):
    pass


class StartError(KeepwordError):
    pass


class BadSettings(StartError):
    pass


class UnfitDatabase(StartError):
    pass


class AlreadyRunning(StartError):
    pass
