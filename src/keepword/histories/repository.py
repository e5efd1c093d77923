"""Which project a folder belongs to: its repository, as git's own files tell it; nothing is run."""

from pathlib import Path

from keepword.histories import names

_MAX_CONFIG_BYTES = 1 << 20


def project_of(folder: str) -> str | None:
    """Return the project's id: of the remote `origin`, else of the main worktree's folder; worktrees share it."""
    path = Path(folder)
    try:
        top = next((one for one in (path, *path.parents) if (one / ".git").exists()), None)
        if top is None:
            return names.name(f"folder{str(path).replace('/', ':')}") if path.is_absolute() else None
        git = _main_git(top / ".git")
        remote = _origin(git / "config")
    except OSError:
        return names.name(f"folder{folder.replace('/', ':')}")
    if remote is not None:
        return names.name(remote)
    main = git.parent if git.name == ".git" else top
    return names.name(f"folder{str(main).replace('/', ':')}")


def _main_git(git: Path) -> Path:
    """Return the repository's own folder; a worktree has a file that points into it."""
    if git.is_dir():
        return git
    target = Path(git.read_text(encoding="utf-8").partition("gitdir:")[2].strip())
    own = (git.parent / target).resolve()
    common = own / "commondir"
    return (own / common.read_text(encoding="utf-8").strip()).resolve() if common.is_file() else own


def _origin(config: Path) -> str | None:
    """Return the address of `origin` as host:owner:name, without a protocol, a user, a password or a port."""
    if not config.is_file() or config.stat().st_size > _MAX_CONFIG_BYTES:
        return None
    is_origin = False
    for line in config.read_text(encoding="utf-8", errors="replace").splitlines():
        text = line.strip()
        if text.startswith("["):
            is_origin = text == '[remote "origin"]'
        elif is_origin and text.partition("=")[0].strip() == "url":
            return _plain(text.partition("=")[2].strip())
    return None


def _plain(url: str) -> str | None:
    rest = url.partition("://")[2] or url.replace(":", "/", 1)
    host, _, path = rest.rpartition("@")[2].partition("/")
    path = path.strip("/").removesuffix(".git")
    host = host.partition(":")[0]
    return ":".join([host.lower(), *path.split("/")]) if host and path else None
