"use strict";
(() => {
  const make = (tag, props) => Object.assign(document.createElement(tag), props);

  // Words of a mark beside the pointer, at once; the browser's own tooltips would take their time.
  const tip = make("div", { id: "tip", hidden: true });
  tip.setAttribute("role", "status");
  document.body.append(tip);
  for (const mark of document.querySelectorAll(".mark")) {
    const title = mark.querySelector(":scope > title");
    if (title) { mark.dataset.tip = title.textContent; title.remove(); }
  }
  for (const title of document.querySelectorAll("svg.chart > title")) {
    title.parentElement.setAttribute("aria-label", title.textContent);
  }
  const show = (event) => {
    const mark = event.target.closest && event.target.closest(".mark");
    if (!mark) { tip.hidden = true; return; }
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const above = event.clientY - box.height - 12;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = (above > 4 ? above : event.clientY + 16) + "px";
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // Tables sort by a click on a heading and filter by words.
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const key = (row, j) => {
      const cell = row.cells[j];
      return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent;
    };
    heads.forEach((head, j) => {
      const button = make("button", { type: "button", title: "Sort by this column" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].sort((a, b) => {
          const [x, y] = [key(a, j), key(b, j)];
          const order = typeof x === "number" && typeof y === "number"
            ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true });
          return down ? -order : order;
        });
        body.append(...rows);
      });
    });
    if (body.rows.length > 10) {
      const input = make("input", { className: "filter", type: "search", placeholder: "Show rows with…" });
      input.setAttribute("aria-label", "Show only rows with these words: " + table.caption.textContent);
      input.addEventListener("input", () => {
        const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
        for (const row of body.rows) {
          const text = row.textContent.toLowerCase();
          row.hidden = !words.every((word) => text.includes(word));
        }
      });
      table.parentElement.before(input);
    }
  }

  // A chart as a file of its own: the looks that the page gives it are written into it.
  const looks = ["fill", "stroke", "stroke-width", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight"];
  const download = (figure) => {
    const shown = [...figure.querySelectorAll("svg.chart")].find((svg) => svg.getBoundingClientRect().width > 0);
    const copy = shown.cloneNode(true);
    const from = [shown, ...shown.querySelectorAll("*")];
    const to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((node, k) => {
      const computed = getComputedStyle(node);
      to[k].setAttribute("style", looks.map((name) => name + ":" + computed.getPropertyValue(name)).join(";"));
      if (node.dataset.tip) {
        const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
        title.textContent = node.dataset.tip;
        to[k].prepend(title);
      }
    });
    const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    back.setAttribute("width", "100%");
    back.setAttribute("height", "100%");
    back.setAttribute("style", "fill:" + getComputedStyle(document.documentElement).getPropertyValue("--surface"));
    copy.querySelector("desc").after(back);
    const text = new XMLSerializer().serializeToString(copy);
    const link = make("a", { download: figure.id + ".svg", href: URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  for (const figure of document.querySelectorAll("figure")) {
    if (!figure.querySelector("svg.chart")) continue;
    const button = make("button", { type: "button", className: "tool", textContent: "SVG", title: "Download this chart as SVG" });
    button.setAttribute("aria-label", "Download as SVG: " + figure.querySelector("h3").textContent);
    button.addEventListener("click", () => download(figure));
    figure.append(button);
  }

  // Light or dark by hand; without a choice the page follows the system.
  const theme = make("button", { type: "button", className: "tool" });
  const dark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const label = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
  document.querySelector("header").append(theme);
})();
