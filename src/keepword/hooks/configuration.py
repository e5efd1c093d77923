"""What a hook is told: hooks.toml, and the variables that the command line knows."""

import getpass
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from keepword.errors import BadSettings

URL = "http://127.0.0.1:8002"
MODES = ("on", "store", "recall", "off")
_FIELDS = frozenset({"url", "key_file", "mode", "folders", "user"})


@dataclass(frozen=True, slots=True)
class HookSettings:
    """`mode`: on; store keeps and gives nothing; recall gives and keeps nothing; off. No `folders` means all."""

    url: str = URL
    key: str | None = None
    mode: str = "on"
    folders: tuple[str, ...] = ()
    user: str = ""

    def takes(self, folder: str | None) -> bool:
        if not self.folders:
            return True
        inside = Path(folder or "/").resolve()
        return any(inside.is_relative_to(Path(one).expanduser().resolve()) for one in self.folders)


def config_file() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "keepword" / "hooks.toml"


def state_folder() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "keepword" / "hooks"


def read_hook_settings() -> HookSettings:
    """Read hooks.toml under the variables. Raises BadSettings for what is unknown or bad."""
    file = config_file()
    values = _read(file) if file.is_file() else {}
    key = os.environ.get("KEEPWORD_KEY")
    if key is None and values.get("key_file"):
        key = Path(str(values["key_file"])).expanduser().read_text(encoding="utf-8").strip()
    mode = str(values.get("mode", "on"))
    if mode not in MODES:
        raise BadSettings(f"mode is {mode!r} in {file}; there are: {', '.join(MODES)}")
    folders = values.get("folders", [])
    if not isinstance(folders, list):
        raise BadSettings(f"folders in {file} is no list of folders")
    url = os.environ.get("KEEPWORD_URL") or values.get("url") or _local_url()
    user = str(values.get("user") or getpass.getuser())
    return HookSettings(str(url).rstrip("/"), key, mode, tuple(map(str, folders)), user)


def _local_url() -> str:
    port = os.environ.get("KEEPWORD_PORT", "")
    return f"http://127.0.0.1:{port}" if port.isdigit() else URL


def _read(file: Path) -> dict[str, object]:
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise BadSettings(f"{file} is not valid TOML: {exc}") from exc
    if unknown := sorted(values.keys() - _FIELDS):
        raise BadSettings(f"unknown setting {unknown[0]} in {file}; there are: {', '.join(sorted(_FIELDS))}")
    return values
