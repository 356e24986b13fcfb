"""The lineage in a browser under the strict policy: readable in light and dark, nothing spills."""

from typing import Any
from uuid import UUID

import pytest
from playwright.async_api import Browser, Page, Route

from admin_ui.templating import FOLDER
from evolution.breeding.gains import MeasuredGain
from evolution.breeding.lineage import Lineage, LineageNode
from evolution.breeding.lineage_drawing import draw_lineage
from models.lifecycle import Status

STATIC = FOLDER.parent / "static"
POLICY = "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'"
MEASURE = """
() => [...document.querySelectorAll('.lineage-node')].map(node => {
  const box = node.querySelector('rect').getBoundingClientRect();
  const rgb = (e, what) => getComputedStyle(e)[what].match(/[\\d.]+/g).map(Number).slice(0, 3);
  return {
    ground: rgb(node.querySelector('rect'), 'fill'),
    texts: [...node.querySelectorAll('text')].filter(t => t.textContent).map(t => {
      const own = t.getBoundingClientRect();
      return {text: t.textContent, ink: rgb(t, 'fill'), left: own.left - box.left,
              right: box.right - own.right, x0: own.left, x1: own.right, y: own.top};
    }),
  };
})
"""


def family() -> Lineage:
    gain = MeasuredGain(-0.42, 0.21, 24, proven_on=False)
    nodes = [
        LineageNode(
            genome_id=UUID(int=n),
            name=f"g-{n:010x}",
            domain="d",
            parent_id=UUID(int=n - 1) if n > 1 else None,
            operator=operator,
            status=status,
            gain=gain,
        )
        for n, (status, operator) in enumerate(
            zip(Status, ["reflect_all", "surrogate", "crossover"] * 2, strict=True), start=1
        )
    ]
    return Lineage(domain="d", layer="postprocess", nodes=tuple(nodes))


async def open_page(page: Page) -> list[str]:
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Lineage</title>'
        '<meta name="color-scheme" content="light dark">'
        '<link rel="stylesheet" href="/static/admin.css"></head>'
        f'<body><div class="lineage-frame">{draw_lineage(family())}</div></body></html>'
    )

    async def serve(route: Route) -> None:
        path = route.request.url.partition("http://lineage.test/")[2]
        if path.startswith("static/"):
            await route.fulfill(path=STATIC / path.removeprefix("static/"))
        else:
            headers = {"Content-Security-Policy": POLICY, "Content-Type": "text/html"}
            await route.fulfill(body=html, headers=headers)

    await page.route("**/*", serve)
    await page.goto("http://lineage.test/")
    return complaints


def contrast(one: list[float], other: list[float]) -> float:
    """The contrast ratio of two colours (WCAG 2.2, relative luminance)."""

    def luminance(rgb: list[float]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                  for c in (value / 255 for value in rgb)]  # fmt: skip
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_word_of_it_can_be_read_and_stays_in_its_box(
    browser: Browser, scheme: Any
) -> None:
    page = await browser.new_page(color_scheme=scheme)
    complaints = await open_page(page)
    nodes = await page.evaluate(MEASURE)
    await page.close()
    assert complaints == []
    assert len(nodes) == len(Status)
    for node in nodes:
        for text in node["texts"]:
            assert contrast(text["ink"], node["ground"]) >= 4.5, (scheme, text["text"])
            assert min(text["left"], text["right"]) >= 8, text["text"]
        name, status, made, gain = node["texts"]
        assert name["x1"] < status["x0"]
        assert made["x1"] < gain["x0"]
    assert len({tuple(node["ground"]) for node in nodes}) == 3  # serving, waiting, all others


async def test_the_picture_is_one_image_with_a_name_for_those_who_do_not_see_it(
    browser: Browser,
) -> None:
    page = await browser.new_page()
    await open_page(page)
    picture = page.get_by_role("img", name="Lineage of layer postprocess in domain d")
    assert await picture.count() == 1
    await page.close()
