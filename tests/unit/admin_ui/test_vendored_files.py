"""Vendored files are what the lock says, and pages take nothing from elsewhere."""

from pathlib import Path

from admin_ui.vendor_check import LOCK, VENDOR, find_differences, load_lock, sha384


def test_every_vendored_file_is_the_one_that_was_locked() -> None:
    assert find_differences() == []


def test_each_package_names_version_and_licence() -> None:
    found = {(p["name"], p["version"], p["licence"]) for p in load_lock()}
    assert found == {
        ("htmx.org", "4.0.1", "0BSD"),
        ("@picocss/pico", "2.1.1", "MIT"),
        ("@fontsource-variable/inter", "5.3.0", "OFL-1.1"),
    }


def test_a_changed_a_missing_and_a_strange_file_are_each_named(tmp_path: Path) -> None:
    for path in VENDOR.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "htmx-4.0.1.min.js").write_bytes(b"changed")
    (tmp_path / "pico-2.1.1.min.css").unlink()
    (tmp_path / "strange.js").write_bytes(b"")
    assert find_differences(tmp_path, LOCK) == [
        "htmx-4.0.1.min.js changed",
        "pico-2.1.1.min.css is missing",
        "strange.js is not in the lock",
    ]


def test_the_digest_is_written_as_browsers_read_it() -> None:
    assert sha384(b"").startswith("sha384-OLBgp1GsljhM2TJ")
