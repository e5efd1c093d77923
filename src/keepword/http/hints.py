"""Hints in errors: the nearest route for an unknown path, the known fields for an unknown field."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from keepword.wording import instead, nearest, shown

_SEE = "every route is described at /docs and /openapi.json"
_LIKENESS = 0.6
# no route is longer, and comparing takes the product of both lengths
_MOST_SEGMENTS = 8
_COMPARED_CHARS = 64

# other services' names for a thing; the first that is known here is meant
_ELSEWHERE = {
    "top_k": ("limit",), "k": ("limit",), "n": ("limit",), "size": ("limit",), "count": ("limit",),
    "max_results": ("limit",), "page_size": ("limit",), "per_page": ("limit",), "page": ("cursor",),
    "offset": ("cursor",), "q": ("query",), "text": ("content", "query", "message"), "body": ("content",),
    "message": ("content", "query"), "prompt": ("query", "message"), "input": ("query", "message", "content"),
    "session_id": ("conversation",), "thread_id": ("conversation",), "run_id": ("conversation",),
    "external_id": ("conversation",), "name": ("user", "title"), "timestamp": ("created_at",), "time": ("created_at",),
    "date": ("created_at",), "id": ("event_id",), "message_id": ("event_id",), "from": ("since",), "start": ("since",),
    "after": ("since",), "to": ("before",), "until": ("before",), "end": ("before",), "type": ("kind", "kinds"),
    "max_tokens": ("budget_tokens",), "filters": ("kinds",),
}  # fmt: skip


def unknown_field(name: str, known: Sequence[str]) -> str:
    meant = next((one for one in _ELSEWHERE.get(name.lower(), ()) if one in known), None)
    return instead(known, meant or nearest(name, known))


def no_route(path: str, raw_path: bytes, templates: Iterable[str]) -> str:
    """Explain an unknown path by the nearest route; `templates` are the paths of all routes."""
    fault = f"no route {shown(path)[1:-1]}"
    if b"%2f" in raw_path.lower():
        return f"{fault}: an id holds no slash, written as %2F or not; {_SEE}"
    nearest_path = _nearest_path(path, list(templates))
    if nearest_path is None:
        return f"{fault}; {_SEE}"
    if path == f"{nearest_path}/":
        return f"{fault}: no path here ends with a slash: {shown(nearest_path)[1:-1]}; {_SEE}"
    return f"{fault}; did you mean {shown(nearest_path)[1:-1]}? {_SEE.capitalize()}"


def wrong_method(method: str, template: str, allowed: Sequence[str]) -> str:
    *others, last = allowed
    served = f"{', '.join(others)} and {last} are" if others else f"{last} is"
    return f"{shown(method)[1:-1]} is not served at {template}, but {served}; see /docs"


def _nearest_path(path: str, templates: Sequence[str]) -> str | None:
    """Return the path of the route that is most like this one, with the caller's own ids in it."""
    segments = [part[:_COMPARED_CHARS] for part in path.split("/")[: 2 * _MOST_SEGMENTS] if part]
    best, likeness = None, 0.0
    # many leave the version out, or write another one or something else before it
    for written in (segments, ["v1", *segments], segments[1:], ["v1", *segments[1:]]):
        for template in templates:
            template_segments = template.strip("/").split("/")
            if len(template_segments) == len(written) and (alike := _likeness(written, template_segments)) > likeness:
                best, likeness = "/" + "/".join(map(_filled, template_segments, written)), alike
    return best


def _likeness(written: Sequence[str], template_segments: Sequence[str]) -> float:
    """Return how much alike two paths are, from 0 to 1; 0 if any of their fixed parts is too different."""
    parts = [
        SequenceMatcher(None, one, other).ratio()
        for one, other in zip(written, template_segments, strict=True)
        if not other.startswith("{")
    ]
    return sum(parts) / len(parts) if parts and min(parts) >= _LIKENESS else 0.0


def _filled(template: str, written: str) -> str:
    return written if template.startswith("{") else template
