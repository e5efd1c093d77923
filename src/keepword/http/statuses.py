"""The one table of HTTP statuses: what the service answers for an error, and what a client raises for the answer."""

from keepword import errors
from keepword.errors import KeepwordError

STATUS: dict[type[KeepwordError], int] = {
    errors.Malformed: 400,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.TooSlow: 408,
    errors.Conflict: 409,
    errors.Outdated: 412,
    errors.TooLarge: 413,
    errors.WrongMedia: 415,
    errors.InvalidInput: 422,
    errors.OverQuota: 429,
    errors.Unavailable: 503,
}
