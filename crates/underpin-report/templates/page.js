"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("num");
      const now = head.getAttribute("aria-sort");
      const up = now ? now === "descending" : !numeric;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => {
        const cell = row.cells[column];
        return numeric ? Number(cell.dataset.sort) : cell.textContent;
      };
      const order = (a, b) => (numeric ? key(a) - key(b) : key(a).localeCompare(key(b), undefined, { numeric: true }));
      body.append(...[...body.rows].sort((a, b) => (up ? order(a, b) : order(b, a))));
    });
  });
}
for (const graph of document.querySelectorAll("svg.graph")) {
  let kept = null;
  const show = (node) => {
    graph.classList.toggle("focus", node !== null);
    for (const element of graph.querySelectorAll(".in, .out, .on, .me")) element.classList.remove("in", "out", "on", "me");
    if (node === null) return;
    const on = new Set([node]);
    for (const edge of graph.querySelectorAll(".e")) {
      if (edge.dataset.to === node) { edge.classList.add("in"); on.add(edge.dataset.from); }
      if (edge.dataset.from === node) { edge.classList.add("out"); on.add(edge.dataset.to); }
    }
    for (const element of graph.querySelectorAll(".n")) {
      element.classList.toggle("on", on.has(element.dataset.node));
      element.classList.toggle("me", element.dataset.node === node);
    }
  };
  for (const element of graph.querySelectorAll(".n")) {
    element.addEventListener("mouseenter", () => show(element.dataset.node));
    element.addEventListener("mouseleave", () => show(kept));
    element.addEventListener("click", () => {
      kept = kept === element.dataset.node ? null : element.dataset.node;
      show(kept);
    });
  }
}
{
  let kept = null;
  const all = document.querySelectorAll("[data-v]");
  const show = (variant) => {
    document.body.classList.toggle("me-only", variant !== null);
    for (const element of all) {
      element.classList.toggle("me", element.dataset.v === variant);
      if (element.classList.contains("key")) element.setAttribute("aria-pressed", String(element.dataset.v === kept));
    }
  };
  for (const key of document.querySelectorAll(".key[data-v]")) {
    key.tabIndex = 0;
    key.setAttribute("role", "button");
    key.setAttribute("aria-pressed", "false");
    const toggle = () => {
      kept = kept === key.dataset.v ? null : key.dataset.v;
      show(kept);
    };
    key.addEventListener("mouseenter", () => show(key.dataset.v));
    key.addEventListener("mouseleave", () => show(kept));
    key.addEventListener("click", toggle);
    key.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        toggle();
      }
    });
  }
}
