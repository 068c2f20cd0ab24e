// This file contains each picture once; the script puts it wherever it is shown.
const stored = document.getElementById("pictures");
if (stored) {
  const pictures = JSON.parse(stored.textContent);
  for (const image of document.querySelectorAll("img[data-item]")) {
    const found = pictures[image.dataset.item];
    if (found) image.src = found;
  }
  // On paper nothing can be unfolded, so everything is opened before printing.
  window.addEventListener("beforeprint", () => {
    for (const query of document.querySelectorAll("details.query")) query.open = true;
    for (const image of document.querySelectorAll("img[loading]")) image.loading = "eager";
  });
}
