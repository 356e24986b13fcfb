"""The strict CSP holds by construction: no template carries what it would block."""

import re
from pathlib import Path

import pytest

from admin_ui.templating import FOLDER

TEMPLATES = sorted(FOLDER.glob("*.html"))
STATIC = FOLDER.parent / "static"
BANNED = {
    "inline style": re.compile(r"\sstyle\s*=|<style", re.I),
    "inline script": re.compile(r"<script(?![^>]*\ssrc=)", re.I),
    "event attribute": re.compile(r"\son[a-z]+\s*=|hx-on", re.I),
    "evaluated htmx": re.compile(r"js:|javascript:|hx-vars|hx-trigger=\"[^\"]*\["),
    "unescaped text": re.compile(r"\|\s*safe\b|autoescape false"),
    "foreign address": re.compile(r"(?:src|href|action)=\"(?:https?:)?//"),
}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
@pytest.mark.parametrize("rule", BANNED)
def test_no_template_holds_what_the_policy_blocks(template: Path, rule: str) -> None:
    assert BANNED[rule].findall(template.read_text("utf-8")) == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_every_form_that_posts_carries_a_token(template: Path) -> None:
    forms = re.findall(r"<form[^>]*method=\"post\".*?</form>", template.read_text("utf-8"), re.S)
    assert [form for form in forms if "ui.csrf(" not in form] == []


def test_the_own_script_stays_within_three_kilobytes() -> None:
    assert len((STATIC / "admin.js").read_bytes()) <= 3_000


def test_stylesheets_load_nothing_from_elsewhere() -> None:
    assert re.findall(r"url\(\"?(?:https?:)?//", (STATIC / "admin.css").read_text("utf-8")) == []
