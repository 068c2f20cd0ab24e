// Each picture stands in this file once; it is put wherever it is shown.
const stored = document.getElementById("pictures");
if (stored) {
  const pictures = JSON.parse(stored.textContent);
  for (const image of document.querySelectorAll("img[data-item]")) {
    const found = pictures[image.dataset.item];
    if (found) image.src = found;
  }
}
