// Search, the choice of a language, and copy buttons. The pages work without this script, except for the search.
(() => {
  "use strict";

  /** The choice of a language lasts as long as the browser keeps it; without storage, as long as the page. */
  const storage = {
    get(key) {
      try { return localStorage.getItem(key); } catch { return null; }
    },
    set(key, value) {
      try { localStorage.setItem(key, value); } catch { /* storage is blocked: the choice holds on this page */ }
    },
  };

  // Languages: one choice for all samples.
  const languages = document.querySelectorAll(".tabs input");
  const choose = (language) => languages.forEach((input) => { input.checked = input.value === language; });
  const chosen = storage.get("quittance-language");
  if ([...languages].some((input) => input.value === chosen)) {
    choose(chosen);
  }
  languages.forEach((input) => input.addEventListener("change", () => {
    const before = input.getBoundingClientRect().top;
    choose(input.value);
    storage.set("quittance-language", input.value);
    window.scrollBy(0, input.getBoundingClientRect().top - before); // samples above may have another height now
  }));

  // Copy buttons.
  if (navigator.clipboard) {
    document.querySelectorAll("pre").forEach((pre) => {
      const box = document.createElement("div");
      box.className = "copied";
      if (pre.dataset.language) {
        box.dataset.language = pre.dataset.language;
      }
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Copy";
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(pre.textContent);
          button.textContent = "Copied";
        } catch {
          button.textContent = "Not allowed";
        }
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
      pre.replaceWith(box);
      box.append(pre, button);
    });
  }

  // What is larger than its box can be scrolled with the keyboard. A choice of a language and an opened part change what is shown.
  const scrollable = () => document.querySelectorAll("pre, main table").forEach((box) => {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  });
  scrollable();
  for (const event of ["load", "resize", "change"]) addEventListener(event, scrollable);
  document.addEventListener("toggle", scrollable, true);

  // A link to a nested field opens what hides it.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let outer = target && target.closest("details"); outer; outer = outer.parentElement.closest("details")) {
      outer.open = true;
    }
    if (target) {
      target.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", reveal);
  reveal();

  // Search.
  const box = document.querySelector(".search");
  const input = document.getElementById("search");
  const found = document.getElementById("found");
  box.hidden = false;
  let index;
  const load = () => {
    index ??= fetch("/docs/search.json").then((response) => {
      if (!response.ok) { throw new Error(`status ${response.status}`); }
      return response.json();
    });
    return index;
  };
  const order = ["Operation", "Error", "Event", "Guide", "Reference", "Field"];
  /** How well an entry fits the words; 0 if a word is missing. */
  const score = (entry, words) => {
    const title = entry.t.toLowerCase();
    const text = `${title} ${(entry.x ?? "").toLowerCase()}`;
    if (!words.every((word) => text.includes(word))) { return 0; }
    const all = words.join(" ");
    return 10 - order.indexOf(entry.k) + (title === all ? 100 : 0) + (title.startsWith(all) ? 40 : 0) +
      20 * words.filter((word) => title.includes(word)).length / words.length - title.length / 100;
  };
  const show = (entries) => {
    found.replaceChildren(...entries.map((entry) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = entry.u;
      const kind = document.createElement("span");
      kind.textContent = entry.k;
      const title = document.createElement("b");
      title.textContent = entry.t;
      const text = document.createElement("small");
      text.textContent = (entry.x ?? "").slice(0, 90);
      link.append(kind, title, text);
      link.addEventListener("click", () => { found.replaceChildren(); });
      item.append(link);
      return item;
    }));
  };
  const say = (text) => {
    const item = document.createElement("li");
    item.textContent = text;
    found.replaceChildren(item);
  };
  const search = async () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) { found.replaceChildren(); return; }
    let entries;
    try {
      entries = await load();
    } catch {
      index = undefined; // the next input tries again
      say("The search index cannot be loaded.");
      return;
    }
    const ranked = entries.map((entry) => [score(entry, words), entry]).filter(([points]) => points > 0);
    ranked.sort((a, b) => b[0] - a[0]);
    if (ranked.length === 0) { say("Nothing found."); return; }
    show(ranked.slice(0, 20).map(([, entry]) => entry));
  };
  input.addEventListener("input", search);
  box.addEventListener("keydown", (event) => {
    const links = [...found.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "Escape") {
      input.value = "";
      found.replaceChildren();
      input.focus();
    } else if (event.key === "ArrowDown" && links.length > 0) {
      event.preventDefault();
      links[Math.min(at + 1, links.length - 1)].focus();
    } else if (event.key === "ArrowUp" && at >= 0) {
      event.preventDefault();
      (links[at - 1] ?? input).focus();
    } else if (event.key === "Enter" && at < 0 && links.length > 0) {
      links[0].click();
    }
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
    }
  });
})();
