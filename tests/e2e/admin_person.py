"""What an admin does in the browser, in the words of the pages."""

import re
from dataclasses import dataclass

from playwright.async_api import Page, expect

NAME, PASSWORD = "ada", "correct horse battery"
CYCLE_MAY_TAKE_MS = 600_000


@dataclass(frozen=True)
class Admin:
    """A signed-in person at one browser page."""

    page: Page
    url: str

    async def watch_cycle(self) -> None:
        """Open the newest cycle and watch it live until its proof can be read."""
        await self.page.goto(f"{self.url}/admin/cycles")
        await self.page.locator("a.row").first.click()
        read = self.page.get_by_role("button", name="Read the proof and decide")
        await expect(read).to_be_visible(timeout=CYCLE_MAY_TAKE_MS)
        await read.click()

    async def approve(self, reason: str) -> str:
        """Approve the genome of the page that is open; give its name."""
        await expect(self.page.locator("h1")).to_contain_text("BETTER")
        name = await self.page.locator(".versus .genome").first.inner_text()
        await self.page.get_by_label("Reason").fill(reason)
        await self.page.get_by_role("button", name="Approve").click()
        await expect(self.page.get_by_role("heading", name="Approved")).to_be_visible()
        return name.strip()

    async def roll_back(self, domain: str, layer: str, reason: str) -> str:
        """Roll back; give the name of the genome that serves again."""
        await self.page.goto(f"{self.url}/admin/genomes")
        place = self.page.locator(f"#{domain}-{layer}")
        await place.get_by_text("Roll back to").click()
        await place.get_by_label("Reason").fill(reason)
        await place.get_by_role("button", name="Roll back").click()
        await expect(place.locator(".history li").first).to_contain_text("rolled back")
        return await self.serving(domain, layer)

    async def serving(self, domain: str, layer: str) -> str:
        """Give the name of the genome that serves, as the genomes page shows it."""
        await self.page.goto(f"{self.url}/admin/genomes")
        place = self.page.locator(f"#{domain}-{layer} .place-head .genome")
        return (await place.inner_text()).strip()

    async def ask(self, question: str, profile: str) -> dict[str, str]:
        """Ask in the playground; give layer -> name of the genome that answered."""
        await self.page.goto(f"{self.url}/admin/playground")
        await self.page.get_by_label("Question").fill(question)
        await self.page.get_by_label("Profile").select_option(profile)
        await self.page.get_by_role("button", name="Ask").click()
        facts = await self.page.get_by_role("region", name="Answered under").inner_text()
        return dict(re.findall(r"(postprocess|routing|cache_policy)\s+(g-[0-9a-f]{10})", facts))


async def set_up(page: Page, url: str, setup_link: str) -> Admin:
    """Make the first admin through the one-time link, leave, and sign in again."""
    await page.goto(setup_link)
    await page.get_by_label("Name").fill(NAME)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_label("Password, again").fill(PASSWORD)
    await page.get_by_role("button", name="Make the account").click()
    await page.get_by_role("button", name="Sign out").click()
    await page.goto(f"{url}/admin/login")
    await page.get_by_label("Name").fill(NAME)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("link", name="Cycles").first).to_be_visible()
    return Admin(page, url)
