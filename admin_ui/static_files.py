"""Stylesheet, script and fonts: held in memory, and named by what they contain."""

import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "static"
_TYPES = {".woff2": "font/woff2", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class StaticFiles:
    """All files by their path; `version` changes whenever any of them does."""

    files: dict[str, bytes]
    version: str

    def url(self, path: str) -> str:
        """Give the address under which browsers may keep `path` for ever."""
        if path not in self.files:
            raise KeyError(f"there is no static file {path!r}")
        return f"/admin/static/{self.version}/{path}"

    def media_type(self, path: str) -> str:
        suffix = Path(path).suffix
        return _TYPES.get(suffix) or mimetypes.guess_type(path)[0] or "application/octet-stream"


def load_static_files(folder: Path = FOLDER) -> StaticFiles:
    """Read every file under `folder`."""
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    return StaticFiles(files, digest.hexdigest()[:12])
