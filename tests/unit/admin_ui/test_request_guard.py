"""What is refused before any page sees it."""

import pytest
from starlette.types import Scope

from admin_ui.pages.people import safe_target
from admin_ui.security import MAX_BODY_BYTES, find_refusal, is_loopback


def scope(method: str = "GET", scheme: str = "http", **headers: str) -> Scope:
    given = {"host": "127.0.0.1:8000", **headers}
    pairs = [(k.replace("_", "-").encode(), v.encode()) for k, v in given.items()]
    return {"type": "http", "method": method, "scheme": scheme, "headers": pairs}


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "[::1]:8000", "127.8.8.8"])
def test_this_machine_is_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    ["genoma.example", "192.168.0.4:8000", "127.0.0.1.example", "localhost.example", "", "["],
)
def test_any_other_name_is_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_plain_http_under_a_foreign_name_is_refused_and_https_is_not() -> None:
    refusal = find_refusal(scope(host="genoma.example"))
    assert refusal is not None and refusal[0] == 400
    assert find_refusal(scope(scheme="https", host="genoma.example")) is None


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_a_form_of_our_own_pages_passes(site: str) -> None:
    assert find_refusal(scope("POST", sec_fetch_site=site)) is None


@pytest.mark.parametrize("site", ["cross-site", "same-site", ""])
def test_a_form_of_another_site_is_refused_whatever_its_origin_says(site: str) -> None:
    refusal = find_refusal(scope("POST", sec_fetch_site=site, origin="http://127.0.0.1:8000"))
    assert refusal is not None and refusal[0] == 403


def test_without_fetch_metadata_the_origin_decides() -> None:
    assert find_refusal(scope("POST", origin="http://127.0.0.1:8000")) is None
    for headers in ({}, {"origin": "http://127.0.0.1:9000"}, {"origin": "null"}):
        refusal = find_refusal(scope("POST", **headers))
        assert refusal is not None and refusal[0] == 403


def test_a_body_over_the_limit_is_refused_by_its_announced_length() -> None:
    length = {"content_length": str(MAX_BODY_BYTES + 1), "sec_fetch_site": "same-origin"}
    refusal = find_refusal(scope("POST", **length))
    assert refusal is not None and refusal[0] == 413


@pytest.mark.parametrize("path", ["/admin", "/admin/cycles", "/admin/approvals/5"])
def test_a_login_leads_back_to_a_page_of_ours(path: str) -> None:
    assert safe_target(path) == path


@pytest.mark.parametrize(
    "path", ["", "//evil.example", "https://evil.example", "/admin\\x", "/adminx"]
)
def test_a_login_never_leads_elsewhere(path: str) -> None:
    assert safe_target(path) == "/admin"
