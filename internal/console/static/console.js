// JavaScript adds convenience: times in the reader's time zone, no polling in the background, one submission per click, and
// filters that apply immediately. Everything works without it.
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

  // Remove the notice from the address, so that a saved or shared address does not show it again.
  const address = new URL(location.href);
  if (address.searchParams.has("notice")) {
    address.searchParams.delete("notice");
    history.replaceState(history.state, "", address);
  }
  document.addEventListener("htmx:afterSwap", (event) => localize(event.detail.elt.isConnected ? event.detail.elt : document));
  document.addEventListener("htmx:load", (event) => localize(event.detail.elt));

  // Do not poll in a hidden page, or while a dialog is open in the live part.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const part = event.detail.elt;
    if (part.hasAttribute("data-live") && (document.hidden || part.querySelector(":popover-open"))) event.preventDefault();
  });

  // Do not replace the live part between the press and the release of a pointer in it: the click would be lost. The next poll
  // replaces it.
  let pressed = false;
  document.addEventListener("pointerdown", (event) => { pressed = event.target.closest("[data-live]") !== null; });
  for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => { pressed = false; });
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (pressed && event.detail.target.hasAttribute("data-live")) event.detail.shouldSwap = false;
  });

  // Keep details open and boxes checked when their part is replaced.
  let open = [], ticked = [], focused = "";
  document.addEventListener("htmx:beforeSwap", () => {
    focused = selectorOf(document.activeElement);
    open = [...document.querySelectorAll("details[open][id]")].map((details) => details.id);
    ticked = [...document.querySelectorAll("[data-live] tbody input[id]:checked")].map((box) => box.id);
  });
  document.addEventListener("htmx:afterSettle", () => {
    open.forEach((id) => { const details = document.getElementById(id); if (details) details.open = true; });
    ticked.forEach((id) => { const box = document.getElementById(id); if (box) box.checked = true; });
    if (focused && document.activeElement === document.body) document.querySelector(focused)?.focus({ preventScroll: true });
  });

  // Return a selector for a focused link or summary of a live part, so that keyboard users keep their position.
  function selectorOf(control) {
    if (!control || !control.closest("[data-live]")) return "";
    if (control.id) return "#" + CSS.escape(control.id);
    if (control.tagName === "SUMMARY" && control.parentElement.id) return `#${CSS.escape(control.parentElement.id)} > summary`;
    return control.hasAttribute("href") ? `[data-live] a[href="${CSS.escape(control.getAttribute("href"))}"]` : "";
  }

  // Show the box that selects all rows of a page. It needs this script.
  const offer = (root) => root.querySelectorAll("[data-pick]").forEach((box) => { box.hidden = false; });
  offer(document);
  document.addEventListener("htmx:load", (event) => offer(event.detail.elt));
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-pick]")) event.target.form.querySelectorAll("tbody input").forEach((box) => { box.checked = event.target.checked; });
  });

  // An incomplete date has no value. Report it instead of losing it.
  document.addEventListener("submit", (event) => {
    const half = [...event.target.elements].find((control) => control.validity && control.validity.badInput);
    if (!half) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    half.reportValidity();
  });

  // Mark a field as invalid while the notes that replace its old ones contain a fault.
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
  // Allow submitting again when the browser restores a page from its cache.
  addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent));

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-auto]");
    if (form && event.target.tagName === "SELECT") form.requestSubmit();
  });

  // Leave empty filters out of the address.
  document.addEventListener("formdata", (event) => {
    if (event.target.method !== "get") return;
    for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("button[data-print]")) print();
  });

  // If the browser refuses to copy, select the text, so that the user can copy it with the keyboard.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const source = document.getElementById(button.dataset.copy);
    let message = button.dataset.copied;
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
    } catch {
      getSelection().selectAllChildren(source);
      message = button.dataset.selected;
    }
    button.textContent = message;
    document.getElementById("announcer").textContent = message;
  });

  // Keep a secret that is shown once out of the browser's history and cache: replace the address with that of the
  // subscription's page, and remove the secret when the user leaves the page.
  const once = document.querySelector("[data-address]");
  if (once) {
    history.replaceState(null, "", once.dataset.address);
    addEventListener("pagehide", () => once.remove());
  }
})();
