"""Where templates are: three in the package, others in a folder."""

from functools import cache
from importlib import resources
from pathlib import Path

from keepword import patterns
from keepword.compose import templates
from keepword.compose.template import Template, parse
from keepword.errors import InvalidInput

DEFAULT = "keepword"
_NAME = patterns.at_start(r"[a-z0-9][a-z0-9_-]{0,63}\Z")
_SUFFIX = ".toml"


class TemplateLoader:
    """A template of the package can't be replaced; one in the folder is read anew each time, so that it can change."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def get(self, name: str) -> Template:
        """Raise InvalidInput if there is none of that name, or if it can't be used."""
        if name in built_in():
            return built_in()[name]
        if self._folder is not None and _NAME.match(name):
            path = self._folder / f"{name}{_SUFFIX}"
            if path.is_file():
                return parse(name, path.read_text(encoding="utf-8"))
        where = f", and *{_SUFFIX} in {self._folder}" if self._folder else ""
        raise InvalidInput(f"no template {name[:64]!r}; there are {', '.join(built_in())}{where}", "template")


@cache
def built_in() -> dict[str, Template]:
    files = {path.name: path for path in resources.files(templates).iterdir() if path.name.endswith(_SUFFIX)}
    names = [name.removesuffix(_SUFFIX) for name in sorted(files)]
    return {name: parse(name, files[name + _SUFFIX].read_text(encoding="utf-8")) for name in names}
