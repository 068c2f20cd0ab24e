"use strict";
// Tables sort by the column that is clicked; without this script they are plain tables, sorted as written.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("n");
      const now = head.getAttribute("aria-sort");
      const down = now ? now === "ascending" : numeric;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => {
        const x = key(a), y = key(b);
        if (!numeric) return x.localeCompare(y, undefined, { numeric: true }) * (down ? -1 : 1);
        const u = parseFloat(x), v = parseFloat(y);
        if (isNaN(u) || isNaN(v)) return isNaN(u) - isNaN(v); // undefined last, either way
        return down ? v - u : u - v;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
