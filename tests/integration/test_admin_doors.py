"""Nobody gets past the login, and no foreign form gets past the token."""

from admin_world import NAME, PASSWORD, csrf_of, make_world, post, setup_token, signed_in

from admin_ui.security import CSP
from kit.db import Database

PAGES = ("", "/cycles", "/approvals", "/genomes", "/playground")


async def test_every_page_sends_a_stranger_to_the_login_and_back(db: Database) -> None:
    world = await make_world(db)
    async with world.browser() as browser:
        for page in PAGES:
            answer = await browser.get(f"/admin{page}")
            assert answer.status_code == 303
            assert answer.headers["location"] == f"/admin/login?next=/admin{page}"
        poll = await browser.get("/admin/cycles", headers={"hx-request": "true"})
        assert poll.status_code == 401
        assert poll.headers["hx-redirect"] == "/admin/login?next=/admin/cycles"


async def test_a_link_leads_to_an_account_and_into_the_house(db: Database) -> None:
    world = await make_world(db)
    async with signed_in(world) as browser:
        assert [(await browser.get(f"/admin{page}")).status_code for page in PAGES] == [200] * 5


async def test_signing_in_rotates_the_session_and_signing_out_ends_it(db: Database) -> None:
    world = await make_world(db)
    async with signed_in(world) as browser:
        first = browser.cookies["genoma_session"]
        gone = await post(browser, "/admin", "/admin/logout")
        assert gone.headers["location"] == "/admin/login"
        browser.cookies.set("genoma_session", first, domain="127.0.0.1")
        assert (await browser.get("/admin")).status_code == 303
        browser.cookies.clear()
        fields = {"name": NAME, "password": PASSWORD, "next": "/admin/genomes"}
        back = await post(browser, "/admin/login", "/admin/login", **fields)
        assert (back.status_code, back.headers["location"]) == (303, "/admin/genomes")
        assert browser.cookies["genoma_session"] != first


async def test_the_session_cookie_is_bound_as_tightly_as_the_address_allows(db: Database) -> None:
    world = await make_world(db)
    for base, name in (
        ("http://127.0.0.1:8000", "genoma_session="),
        ("https://lab.example", "__Host-genoma_session="),
    ):
        token = await setup_token(db)
        async with world.browser() as browser:
            browser.base_url = base
            page = await browser.get(f"/admin/setup?token={token}")
            fields = {"token": token, "name": base, "password": PASSWORD, "again": PASSWORD}
            done = await browser.post("/admin/setup", data={**fields, "csrf": csrf_of(page.text)})
        cookie = next(c for c in done.headers.get_list("set-cookie") if c.startswith(name))
        assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Path=/" in cookie
        assert ("Secure" in cookie) == base.startswith("https")


async def test_a_wrong_password_keeps_the_name_and_says_one_thing(db: Database) -> None:
    world = await make_world(db)
    async with signed_in(world):
        pass
    async with world.browser() as browser:
        pages = [
            await post(browser, "/admin/login", "/admin/login", name=name, password="wrong")
            for name in (NAME, "nobody")
        ]
    assert [page.status_code for page in pages] == [401, 401]
    assert all("The name or the password is wrong." in page.text for page in pages)
    assert f'value="{NAME}"' in pages[0].text


async def test_a_login_form_without_its_own_token_is_refused(db: Database) -> None:
    world = await make_world(db)
    async with world.browser() as browser:
        fields = {"name": NAME, "password": PASSWORD}
        for csrf in ("", "guessed"):
            page = await browser.post("/admin/login", data={**fields, "csrf": csrf})
            assert page.status_code == 403


async def test_a_form_with_a_missing_or_foreign_token_changes_nothing(db: Database) -> None:
    world = await make_world(db)
    async with signed_in(world) as browser:
        for csrf in ({}, {"csrf": "guessed"}):
            data = {"layer": "routing", "domain": "default", **csrf}
            assert (await browser.post("/admin/cycles", data=data)).status_code == 403
        other_site = {"sec-fetch-site": "cross-site"}
        token = csrf_of((await browser.get("/admin")).text)
        page = await browser.post("/admin/logout", data={"csrf": token}, headers=other_site)
        assert page.status_code == 403
        assert (await browser.get("/admin")).status_code == 200
    assert world.started == []


async def test_the_token_may_come_in_a_header(db: Database) -> None:
    world = await make_world(db)
    async with signed_in(world) as browser:
        token = csrf_of((await browser.get("/admin")).text)
        page = await browser.post("/admin/logout", headers={"x-csrf-token": token})
        assert page.status_code == 303


async def test_a_spent_link_is_not_found_and_says_what_to_do(db: Database) -> None:
    world = await make_world(db)
    async with world.browser() as browser:
        page = await browser.get("/admin/setup?token=unknown")
        assert page.status_code == 404
        assert "genoma admin link" in page.text


async def test_a_refused_account_says_why_beside_the_form(db: Database) -> None:
    world = await make_world(db)
    token = await setup_token(db)
    fields = {"token": token, "name": NAME, "password": "short", "again": "short"}
    async with world.browser() as browser:
        page = await post(browser, f"/admin/setup?token={token}", "/admin/setup", **fields)
        assert page.status_code == 422
        assert "A password needs at least 12 characters." in page.text
        fields["again"] = "other"
        page = await post(browser, f"/admin/setup?token={token}", "/admin/setup", **fields)
        assert "The two passwords differ." in page.text


async def test_without_an_admin_the_login_tells_of_the_link(db: Database) -> None:
    world = await make_world(db)
    async with world.browser() as browser:
        assert "genoma admin link" in (await browser.get("/admin/login")).text


async def test_every_answer_carries_the_policy_and_no_page_is_kept(db: Database) -> None:
    world = await make_world(db)
    async with signed_in(world) as browser:
        for path in ("/admin", "/admin/nowhere", "/admin/login", "/"):
            answer = await browser.get(path)
            assert answer.headers["content-security-policy"] == CSP
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store"


async def test_static_files_are_kept_for_ever_under_an_address_that_changes(db: Database) -> None:
    world = await make_world(db)
    async with world.browser() as browser:
        page = (await browser.get("/admin/login")).text
        path = page.split('rel="stylesheet" href="', 1)[1].split('"', 1)[0]
        style = await browser.get(path)
        assert style.headers["content-type"].startswith("text/css")
        assert "immutable" in style.headers["cache-control"]
        old = await browser.get("/admin/static/000000000000/admin.css")
        assert old.headers["cache-control"] == "no-cache"
        for outside in ("%2e%2e/accounts.py", "vendor/%2e%2e/%2e%2e/app.py", "no.css"):
            answer = await browser.get(f"/admin/static/000000000000/{outside}")
            assert answer.status_code == 404


async def test_an_error_page_names_the_request_and_hides_the_cause(db: Database) -> None:
    world = await make_world(db)
    async with signed_in(world) as browser:
        world.models = None  # type: ignore[assignment]
        page = await browser.get("/admin")
        assert page.status_code == 500
        assert page.headers["x-request-id"] in page.text
        assert page.headers["content-security-policy"] == CSP
        assert "NoneType" not in page.text
