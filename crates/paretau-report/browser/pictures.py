"""Pages compared with committed pictures of them: small ones, in grey, by the mean of blocks.

A page whose chart is gone, whose layout has broken or whose colours have left a theme differs in whole blocks. Other letters (another
version of the browser or of a font) or a number with another digit differ in a few by little, and are let pass.
"""

from __future__ import annotations

import base64
import io
import os
from pathlib import Path

import pytest
from PIL import Image

#: The font of Debian's `fonts-dejavu-core`, which `cargo xtask browser` installs with the browser.
FONT = "DejaVu Sans"
FOLDER = Path(__file__).resolve().parent / "pictures"
#: Pages are stored at this size; a block of `BLOCK` by `BLOCK` of their pixels is 50 by 50 of the page.
SCALE, BLOCK = 0.16, 8
#: A block differs from this mean difference of its pixels on (of 255); more than this share of a page's blocks may not.
DIFFERS, MOST = 24, 0.003
#: Share by which a page's height may differ.
TALLER = 0.02


def fonts(page) -> list[str]:
    """The fonts that the browser draws a page's text with."""
    ask = page.driver.execute_cdp_cmd
    ask("DOM.enable", {}), ask("CSS.enable", {})
    root = ask("DOM.getDocument", {})["root"]["nodeId"]
    node = ask("DOM.querySelector", {"nodeId": root, "selector": "main p"})["nodeId"]
    return [font["familyName"] for font in ask("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]]


def taken(page) -> Image.Image:
    """The whole page, small and grey."""
    page.js("document.documentElement.style.scrollBehavior = 'auto'; scrollTo(0, 0)")
    clip = {**page.whole(), "scale": SCALE}
    answer = page.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip})
    return Image.open(io.BytesIO(base64.b64decode(answer["data"]))).convert("L")


def difference(now: Image.Image, before: Image.Image) -> str | None:
    """What is different, in words; `None` when the pictures show the same page."""
    if now.width != before.width:
        return f"{now.width} pixels wide, was {before.width}"
    if abs(now.height - before.height) > TALLER * before.height:
        return f"{now.height} pixels tall, was {before.height}"
    size = (now.width // BLOCK, min(now.height, before.height) // BLOCK)
    area = (0, 0, size[0] * BLOCK, size[1] * BLOCK)
    # A reduced pixel is the mean of a block.
    a, b = (picture.crop(area).reduce(BLOCK).tobytes() for picture in (now, before))
    apart = [i for i, (x, y) in enumerate(zip(a, b, strict=True)) if abs(x - y) > DIFFERS]
    if len(apart) > MOST * len(a):
        rows = sorted({i // size[0] for i in apart})
        top, bottom = (int(row * BLOCK / SCALE) for row in (rows[0], rows[-1] + 1))
        return f"{len(apart)} of {len(a)} blocks differ, between {top} and {bottom} px of the page"
    return None


def check(page, name: str) -> None:
    """Fails when the page does not look as its committed picture does; with `PARETAU_RECORD` it is taken anew."""
    if FONT not in fonts(page):
        pytest.skip(f"pictures were taken with {FONT}, which this machine does not use for pages ({fonts(page)})")
    now, file = taken(page), FOLDER / f"{name}.png"
    if os.environ.get("PARETAU_RECORD"):
        FOLDER.mkdir(exist_ok=True)
        now.save(file, optimize=True)
        return
    assert file.exists(), f"no picture of `{name}`; look at the page, then record one with PARETAU_RECORD=1"
    before = Image.open(file).convert("L")
    found = difference(now, before)
    assert found is None, f"`{name}` looks different: {found}; if that is meant, look at it and record it with PARETAU_RECORD=1"
