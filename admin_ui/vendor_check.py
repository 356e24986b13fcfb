"""Vendored files are exactly those that `vendor.lock.json` names, byte for byte."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).parent / "static" / "vendor"
LOCK = Path(__file__).parent / "vendor.lock.json"


def sha384(content: bytes) -> str:
    """Give the digest as subresource integrity writes it."""
    return "sha384-" + base64.b64encode(hashlib.sha384(content).digest()).decode()


def load_lock(path: Path = LOCK) -> list[dict[str, Any]]:
    """Read the packages: name, version, licence, and the sha384 of each file."""
    packages: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["packages"]
    return packages


def find_differences(folder: Path = VENDOR, lock: Path = LOCK) -> list[str]:
    """Say which files are missing, changed or not named in the lock; empty means none."""
    named = {name: digest for p in load_lock(lock) for name, digest in p["files"].items()}
    found = {path.name: sha384(path.read_bytes()) for path in folder.iterdir()}
    missing = [f"{name} is missing" for name in named.keys() - found.keys()]
    unknown = [f"{name} is not in the lock" for name in found.keys() - named.keys()]
    both = named.keys() & found.keys()
    return sorted(missing + unknown + [f"{n} changed" for n in both if named[n] != found[n]])
