// Searches, narrows and sorts the clips. Without this script the page shows all clips in groups.
const controls = document.querySelector("#clip-controls");
if (controls) {
  const cards = [...document.querySelectorAll("#clips .clip")];
  const groups = [...document.querySelectorAll("#clips .clip-group")];
  const results = document.querySelector("#clip-results");
  const count = controls.querySelector("output");
  const homes = cards.map((card) => card.parentNode);
  const texts = new Map(cards.map((card) => [card, card.textContent.toLowerCase()]));
  const { search, show, sort } = controls.elements;

  const isShown = (card) => {
    const [kind, value] = show.value.split(":");
    if (kind === "group" && card.closest(".clip-group").dataset.group !== value) return false;
    if (kind === "check" && !(value in JSON.parse(card.dataset.ranks))) return false;
    const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    return terms.every((term) => texts.get(card).includes(term));
  };

  const sortKey = () => {
    const [kind, slug] = show.value.split(":");
    const [column, direction] = sort.value.split(":");
    if (column) return (card) => Number(card.dataset[column]) * (direction === "desc" ? -1 : 1);
    if (kind === "check") return (card) => JSON.parse(card.dataset.ranks)[slug];
    return () => 0; // the order of the page
  };

  const update = () => {
    cards.forEach((card, number) => homes[number].append(card)); // back to the order of the page
    const key = sortKey();
    const shown = cards.filter(isShown).sort((a, b) => key(a) - key(b));
    const isList = Boolean(search.value.trim() || show.value || sort.value);
    for (const group of groups) group.hidden = isList;
    results.hidden = !isList;
    results.replaceChildren(...(isList ? shown : []));
    count.textContent = `${shown.length} of ${cards.length} clips`;
  };

  controls.addEventListener("input", update);
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.addEventListener("reset", () => setTimeout(update));
  controls.hidden = false;
  update();
}
