// What a page gains from JavaScript: times in the reader's zone, no polling in the background, one submission per click,
// filters that apply themselves. Everything works without it.
"use strict";
(() => {
  const here = new Date().getFullYear();
  const format = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const formatYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });

  const formatDay = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
  const formatTime = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

  function localize(root) {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      if (time.classList.contains("tick")) time.replaceChildren(formatDay.format(at), document.createElement("br"), formatTime.format(at));
      else time.textContent = (at.getFullYear() === here ? format : formatYear).format(at);
    }
  }
  localize(document);

  // What was said once is not said again by an address that is kept or sent on.
  const address = new URL(location.href);
  if (address.searchParams.has("said")) {
    address.searchParams.delete("said");
    history.replaceState(history.state, "", address);
  }
  document.addEventListener("htmx:afterSwap", (event) => localize(event.detail.elt.isConnected ? event.detail.elt : document));
  document.addEventListener("htmx:load", (event) => localize(event.detail.elt));

  // A page that nobody looks at asks nothing, and neither does one in which a dialog is open over the part that would go.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const part = event.detail.elt;
    if (part.hasAttribute("data-live") && (document.hidden || part.querySelector(":popover-open"))) event.preventDefault();
  });

  // What somebody has opened or ticked stays so when its part is replaced.
  let open = [], ticked = [], focused = "";
  document.addEventListener("htmx:beforeSwap", () => {
    focused = placeOf(document.activeElement);
    open = [...document.querySelectorAll("details[open][id]")].map((details) => details.id);
    ticked = [...document.querySelectorAll("[data-live] tbody input[id]:checked")].map((box) => box.id);
  });
  document.addEventListener("htmx:afterSettle", () => {
    open.forEach((id) => { const details = document.getElementById(id); if (details) details.open = true; });
    ticked.forEach((id) => { const box = document.getElementById(id); if (box) box.checked = true; });
    if (focused && document.activeElement === document.body) document.querySelector(focused)?.focus({ preventScroll: true });
  });

  // Where a focused link or summary of a live part is found again, so that who has no mouse stays where they are.
  function placeOf(control) {
    if (!control || !control.closest("[data-live]")) return "";
    if (control.id) return "#" + CSS.escape(control.id);
    if (control.tagName === "SUMMARY" && control.parentElement.id) return `#${CSS.escape(control.parentElement.id)} > summary`;
    return control.hasAttribute("href") ? `[data-live] a[href="${CSS.escape(control.getAttribute("href"))}"]` : "";
  }

  // One box for all of a page, which is nothing without this script.
  const offer = (root) => root.querySelectorAll("[data-pick]").forEach((box) => { box.hidden = false; });
  offer(document);
  document.addEventListener("htmx:load", (event) => offer(event.detail.elt));
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-pick]")) event.target.form.querySelectorAll("tbody input").forEach((box) => { box.checked = event.target.checked; });
  });

  // A date that is half typed has no value: it must not be lost without a word.
  document.addEventListener("submit", (event) => {
    const half = [...event.target.elements].find((control) => control.validity && control.validity.badInput);
    if (!half) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    half.reportValidity();
  });

  // What is said at a field while somebody types is also said of the field.
  document.addEventListener("htmx:oobAfterSwap", (event) => {
    const notes = event.detail.target;
    const control = notes.id && document.querySelector(`[aria-describedby="${CSS.escape(notes.id)}"]`);
    if (!control) return;
    if (document.getElementById(notes.id).querySelector(".fault")) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
  });

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    if (form.method === "post") {
      form.dataset.sent = "1";
      const button = event.submitter;
      if (button && button.dataset.busy) {
        button.setAttribute("aria-busy", "true");
        button.textContent = button.dataset.busy;
      }
    }
  });
  // A page that comes back from the browser's memory may be used again.
  addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent));

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-auto]");
    if (form && event.target.tagName === "SELECT") form.requestSubmit();
  });

  // What is empty in a filter says nothing in the address.
  document.addEventListener("formdata", (event) => {
    if (event.target.method !== "get") return;
    for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("button[data-print]")) print();
  });

  // Copying needs a permission that a browser may refuse; then the text is selected, for the keys that always copy.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const source = document.getElementById(button.dataset.copy);
    let said = button.dataset.copied;
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
    } catch {
      getSelection().selectAllChildren(source);
      said = button.dataset.selected;
    }
    button.textContent = said;
    document.getElementById("announcer").textContent = said;
  });

  // What is shown once is not in the memory of the browser: its address is another one, where loading it anew leads, and
  // it is gone when the page is left.
  const once = document.querySelector("[data-address]");
  if (once) {
    history.replaceState(null, "", once.dataset.address);
    addEventListener("pagehide", () => once.remove());
  }
})();
