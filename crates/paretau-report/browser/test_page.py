"""The report in a real browser: what a reader sees, at every width, in both themes, with and without scripts."""

from __future__ import annotations

import json
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pictures
import pytest
from conftest import FITS
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

PAGES = [*FITS, "people", "words"]
every_model = pytest.mark.parametrize("name", PAGES)
STUDIES = ["run", "study", "fig2"]
every_page = pytest.mark.parametrize("name", [*PAGES, *STUDIES])
both_themes = pytest.mark.parametrize("theme", ["light", "dark"])
widths = pytest.mark.parametrize("width", [400, 800, 1400])

SHOWN = "[...document.querySelectorAll('svg.chart')].filter(s => s.getBoundingClientRect().width > 0)"


@every_page
def test_loads_in_silence_and_asks_nobody(name, pages, look, chromium):
    look(pages[name])
    problems = [entry for entry in chromium.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    assert problems == []
    asked = []
    for entry in chromium.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    assert [url for url in asked if not url.startswith("data:")] == [pages[name].as_uri()]
    assert pages[name].stat().st_size < 2_000_000


@every_page
@widths
@both_themes
def test_fits_its_width(name, width, theme, pages, look):
    page = look(pages[name], width=width, theme=theme)
    page.picture(f"{name}-{theme}-{width}")
    assert page.js("document.documentElement.scrollWidth") <= width
    # Nothing but tables, which scroll in their own box, is wider than the page.
    wide = page.js(
        "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll') && e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.tagName + '.' + (e.className.baseVal ?? e.className))"
    )
    assert wide == []


@every_page
@widths
def test_charts_have_marks_inside_and_labels_that_do_not_collide(name, width, pages, look):
    page = look(pages[name], width=width)
    charts = page.js(
        SHOWN + """.map(svg => {
          const box = svg.getBoundingClientRect();
          const inside = r => r.left >= box.left - 1 && r.right <= box.right + 1 && r.top >= box.top - 1 && r.bottom <= box.bottom + 1;
          const marks = [...svg.querySelectorAll('.mark')];
          const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
          const clash = [];
          texts.forEach(([a, p], i) => texts.slice(i + 1).forEach(([b, q]) => {
            if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3) clash.push(a + ' / ' + b);
          }));
          return {
            id: svg.closest('figure').id, marks: marks.length, clash,
            small: Math.min(...[...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect().height)),
            out: marks.filter(m => !inside(m.getBoundingClientRect())).length,
            outText: texts.filter(([, r]) => !inside(r)).map(([t]) => t),
            nan: svg.outerHTML.includes('NaN'),
          };
        })"""
    )
    assert len(charts) >= {"constant": 5, "run": 1, "study": 2, "fig2": 3}.get(name, 7)
    for chart in charts:
        assert chart["marks"] > 0, chart
        assert chart["out"] == 0 and chart["outText"] == [] and not chart["nan"], chart
        assert chart["clash"] == [], chart
        assert chart["small"] >= 10, chart


@every_page
def test_charts_are_described_in_words(name, pages, look):
    page = look(pages[name])
    for svg in page.js(
        "[...document.querySelectorAll('svg.chart')].map(s => ({role: s.getAttribute('role'), words: "
        "s.getAttribute('aria-labelledby').split(' ').map(id => document.getElementById(id).textContent)}))"
    ):
        assert svg["role"] == "img" and all(len(words) > 3 for words in svg["words"]), svg
    ids = page.js("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


CONTRAST = """(() => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const over = (top, base) => top.slice(0, 3).map((v, k) => v * top[3] + base[k] * (1 - top[3]));
  const light = rgb => { const [r, g, b] = rgb.map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const back = e => { const chain = []; for (let n = e; n; n = n.parentElement) chain.unshift(parse(getComputedStyle(n).backgroundColor));
    return chain.reduce((base, c) => over(c, base), [255, 255, 255]); };
  const poor = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    const box = e.getBoundingClientRect();
    if (!own || !box.width || ['SCRIPT', 'STYLE', 'title', 'desc'].includes(e.tagName)) continue;
    const style = getComputedStyle(e);
    const ink = over(parse(e.tagName === 'text' ? style.fill : style.color), back(e));
    const [a, b] = [light(ink), light(back(e))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) poor.push(e.tagName + ': ' + e.textContent.trim().slice(0, 30) + ' ' + ratio.toFixed(2));
  }
  return poor;
})()"""

# Lines, dots and bars must stand out from the page as WCAG 1.4.11 asks of graphics; grid lines and bands are no information.
GRAPHICS = """(() => {
  const style = getComputedStyle(document.documentElement);
  const hex = name => style.getPropertyValue(name).trim().slice(1).match(/../g).map(v => parseInt(v, 16));
  const light = rgb => { const [r, g, b] = rgb.map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const ratio = name => { const [a, b] = [light(hex(name)), light(hex('--surface'))].sort((x, y) => y - x); return (a + .05) / (b + .05); };
  return ['--main', '--control', '--treated', '--before', '--after', '--limit', '--muted'].filter(name => ratio(name) < 3);
})()"""


@every_page
@both_themes
def test_text_can_be_read(name, theme, pages, look):
    page = look(pages[name], theme=theme)
    page.js("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.js(CONTRAST) == []
    assert page.js(GRAPHICS) == []


def test_themes_differ_and_can_be_chosen(pages, look, chromium):
    ground = "getComputedStyle(document.body).backgroundColor"
    light = look(pages["forest"], theme="light").js(ground)
    page = look(pages["forest"], theme="dark")
    dark = page.js(ground)
    assert light != dark
    chromium.find_element(By.CSS_SELECTOR, "header > .tool").click()
    assert page.js(ground) == light
    chromium.find_element(By.CSS_SELECTOR, "header > .tool").click()
    assert page.js(ground) == dark


def column(page, table: int, cell: int) -> list:
    return page.js(
        f"[...document.querySelectorAll('table.sortable')[{table}].tBodies[0].rows].filter(r => !r.hidden).map(r => "
        f"'v' in r.cells[{cell}].dataset ? Number(r.cells[{cell}].dataset.v) : r.cells[{cell}].textContent)"
    )


@every_page
def test_every_table_sorts_by_every_column(name, pages, look):
    page = look(pages[name])
    page.js("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    shape = page.js("[...document.querySelectorAll('table.sortable')].map(t => t.tHead.rows[0].cells.length)")
    assert shape
    for table, columns in enumerate(shape):
        for cell in range(columns):
            head = f"document.querySelectorAll('table.sortable')[{table}].tHead.rows[0].cells[{cell}]"
            before = column(page, table, cell)
            page.js(head + ".querySelector('button').click()")
            up = column(page, table, cell)
            assert page.js(head + ".getAttribute('aria-sort')") == "ascending"
            page.js(head + ".querySelector('button').click()")
            down = column(page, table, cell)
            assert sorted(map(str, up)) == sorted(map(str, before)) and page.js(head + ".getAttribute('aria-sort')") == "descending"
            if all(isinstance(v, (int, float)) for v in up):
                assert up == sorted(up) and down == sorted(down, reverse=True)


def test_tables_filter(pages, look, chromium):
    page = look(pages["people"])
    box = chromium.find_element(By.CSS_SELECTOR, "#who .filter")
    everything = page.js("[...document.querySelectorAll('#who tbody tr')].filter(r => !r.hidden).length")
    box.send_keys("region south")
    left = page.js("[...document.querySelectorAll('#who tbody tr')].filter(r => !r.hidden).map(r => r.textContent)")
    assert 0 < len(left) < everything and all("region" in row and "south" in row for row in left)


def test_pointing_at_a_mark_tells_its_values(pages, look, chromium):
    page = look(pages["forest"])
    mark = chromium.find_element(By.CSS_SELECTOR, "#propensities svg.wide .mark")
    page.js("document.querySelector('#propensities').scrollIntoView({behavior: 'instant', block: 'center'})")
    tip = chromium.find_element(By.ID, "tip")
    # Scrolling takes the words away, and its last event may come late: a reader would move the pointer again.
    for _ in range(20):
        ActionChains(chromium).move_to_element(mark).move_by_offset(1, 0).perform()
        if tip.is_displayed():
            break
        time.sleep(0.2)
    assert tip.is_displayed() and "people" in tip.text and any(c.isdigit() for c in tip.text)


def test_charts_download_as_files_of_their_own(pages, look, chromium, tmp_path):
    page = look(pages["forest"], theme="dark")
    chromium.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.js("document.querySelector('#propensities > .tool').click()")
    file = Path(tmp_path / "propensities.svg")
    for _ in range(100):
        if file.exists():
            break
        time.sleep(0.1)
    text = file.read_text()
    root = ET.fromstring(text)
    assert root.tag.endswith("svg") and "var(" not in text and "rgb(" in text
    assert sum(e.tag.endswith("rect") for e in root.iter()) > 5 and sum(e.tag.endswith("title") for e in root.iter()) > 5


@every_model
def test_whole_without_scripts(name, pages, look):
    page = look(pages[name], script=False)
    page.picture(f"{name}-no-script")
    assert page.js("document.querySelector('#tip') === null && document.querySelector('.tool') === null")
    # Without overlap the sentence begins with those whom it is about.
    text = page.js("document.body.innerText").replace("on average", "On average")
    for words in ["On average", "95 % interval", "Propensities by arm", "Reproduce this", "paretau fit"]:
        assert words in text, words
    assert page.js(SHOWN + ".every(s => s.querySelectorAll('.mark > title').length > 0)")
    assert page.js("[...document.querySelectorAll('table')].every(t => t.tBodies[0].rows.length > 0)")


@every_page
def test_prints(name, pages, look, chromium):
    page = look(pages[name], width=794, theme="dark", media="print")
    page.picture(f"{name}-print")
    assert page.js("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.js(CONTRAST) == []
    assert page.js("document.documentElement.scrollWidth") <= 794
    # Paper cannot be unfolded.
    assert page.js("[...document.querySelectorAll('details table')].every(table => table.checkVisibility())")
    assert len(chromium.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]) > 10_000


def test_names_from_the_data_stay_text(pages, look):
    page = look(pages["people"])
    assert page.js("document.querySelectorAll('script').length") == 1
    assert "<script>alert('x')</script>" in page.js("document.body.innerText")


#: What a net draws hangs on the last bits of its machine; everything else is on these pages too.
PICTURED = ["forest", "linear", "constant", "people", "words", "study", "fig2"]


@pytest.mark.parametrize("name", PICTURED)
@both_themes
def test_looks_as_in_its_picture(name, theme, pages, look):
    pictures.check(look(pages[name], width=1100, theme=theme), f"{name}-{theme}")


@pytest.mark.parametrize(
    "damage",
    [
        "document.querySelector('#effective-rows svg.wide').style.visibility = 'hidden'",
        "document.querySelector('main').style.width = '80%'",
        "document.querySelectorAll('section')[1].remove()",
        "document.body.style.background = 'grey'",
    ],
)
def test_a_damaged_page_looks_different(damage, pages, look):
    page = look(pages["forest"], width=1100, theme="light")
    whole = pictures.taken(page)
    assert pictures.difference(pictures.taken(page), whole) is None
    page.js(damage)
    assert pictures.difference(pictures.taken(page), whole) is not None
