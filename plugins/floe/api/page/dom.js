// Elements. A text is always a text node: nothing that a name or a record says is read as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** Make an HTML element: `el("a", {href: "#/", onclick: go}, "text", child)`. */
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Make a button. `more`: attributes. */
export function button(text, onclick, more) {
  return el("button", { type: "button", onclick, ...more }, text);
}

/** Make a table. `columns`: `{title, numeric, cell(row)}`; the first column names its row. */
export function table(caption, columns, rows, more) {
  const head = columns.map((column) => el("th", { scope: "col", role: "columnheader", class: column.numeric && "number" }, column.title));
  const lines = rows.map((row) =>
    el(
      "tr",
      { role: "row" },
      columns.map((column, index) =>
        el(
          index ? "td" : "th",
          {
            role: index ? "cell" : "rowheader",
            scope: index ? null : "row",
            class: column.numeric && "number",
            "data-label": column.title,
          },
          column.cell(row),
        ),
      ),
    ),
  );
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": caption },
    el(
      "table",
      { role: "table", ...more },
      el("caption", { class: "unseen" }, caption),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, head)),
      el("tbody", { role: "rowgroup" }, lines),
    ),
  );
}

/** Make a part of a page with a heading. */
export function section(title, hint, ...children) {
  const id = `part-${title.toLowerCase().replace(/\W+/g, "-")}`;
  return el(
    "section",
    { "aria-labelledby": id },
    el("h2", { id }, title),
    hint && el("p", { class: "hint" }, hint),
    ...children,
  );
}

/** Make a note in a frame. `kind`: bad, warn or info. */
export function notice(kind, ...children) {
  return el("div", { class: `notice ${kind}` }, ...children);
}

/** Tell people who hear the page. */
export function say(text) {
  document.getElementById("said").textContent = text;
}
