// JavaScript adds convenience: times in the reader's time zone, no polling in the background, and one submission per click.
// Everything works without it.
"use strict";
(() => {
  // Times have the form of the server, such as 22 Nov 2026, 07:41, in the reader's time zone.
  const format = new Intl.DateTimeFormat(`${document.documentElement.lang}-u-ca-gregory-nu-latn`, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

  function localize(root) {
    for (const time of root.querySelectorAll("time[datetime*=T]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
      const day = `${part.day} ${part.month}`, clock = `${part.hour}:${part.minute}`;
      if (time.classList.contains("tick")) time.replaceChildren(day, document.createElement("br"), `${clock}:${part.second}`);
      else time.textContent = `${day} ${part.year}${document.documentElement.dataset.comma} ${clock}`;
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

  // Change nothing between the press and the release of a pointer: what is under it could move, and the click would be lost. The next
  // poll replaces a live part, and a form whose check came in between is checked again. A scroll bar may keep the release for itself.
  let pressed = false, unchecked = null;
  document.addEventListener("pointerdown", (event) => { pressed = event.target.closest("[data-live], form") !== null; });
  for (const end of ["pointerup", "pointercancel", "pointermove"]) document.addEventListener(end, (event) => {
    if (event.type !== "pointercancel" && event.buttons !== 0) return;
    pressed = false;
    unchecked?.dispatchEvent(new Event("input", { bubbles: true }));
    unchecked = null;
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (pressed && event.detail.target.matches("[data-live]")) event.detail.shouldSwap = false;
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

  // Show the controls that need scripts: the box that selects all rows of a page, the look-up of a recipient.
  const offer = (root) => root.querySelectorAll("[data-pick], [data-script]").forEach((control) => { control.hidden = false; });
  offer(document);
  document.addEventListener("htmx:load", (event) => offer(event.detail.elt));
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-pick]")) event.target.form.querySelectorAll("tbody input").forEach((box) => { box.checked = event.target.checked; });
  });

  // Show and hide the text of a password field. A password is sent from a field that hides it, so that no browser remembers its text.
  function reveal(button, shown) {
    const field = document.getElementById(button.dataset.reveal);
    if ((field.type === "text") === shown) return;
    field.type = shown ? "text" : "password";
    [button.textContent, button.dataset.hide] = [button.dataset.hide, button.textContent];
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-reveal]");
    if (button) reveal(button, document.getElementById(button.dataset.reveal).type === "password");
  });
  document.addEventListener("submit", (event) => event.target.querySelectorAll("button[data-reveal]").forEach((button) => reveal(button, false)), true);

  // Say how long a new password is, before anything else, and warn of one that the server refuses or that is easy to guess.
  document.addEventListener("input", (event) => {
    if (event.target.autocomplete !== "new-password") return;
    const hint = document.querySelector(`[data-strength="${CSS.escape(event.target.id)}"]`);
    if (!hint) return;
    const characters = [...event.target.value], different = new Set(event.target.value.toLowerCase()).size;
    if (characters.length === 0) hint.textContent = "";
    else if (characters.length < event.target.minLength) hint.textContent = hint.dataset.short.replace("%s", characters.length);
    else if (different === 1) hint.textContent = hint.dataset.same;
    else hint.textContent = different < 6 ? hint.dataset.few : hint.dataset.good;
  });

  // What was said about a recipient does not apply to another one.
  document.addEventListener("input", (event) => {
    if (!["buyer_endpoint_scheme", "recipient_network_id"].includes(event.target.name)) return;
    const button = document.getElementById("look-up");
    if (!button) return;
    htmx.trigger(button, "htmx:abort");
    document.getElementById("recipient").replaceChildren();
  });

  // A tax category that was chosen or typed sets the rate beside it, as the server does: see data-rates. A rate above 0 stays if the
  // category has one.
  function setRate(field) {
    const rates = new Map(field.form.querySelector("[data-rates]")?.dataset.rates.split(" ").map((rate) => rate.split("=")));
    const text = folded(field.value), options = [...document.getElementById("codes-tax-categories").options];
    const exact = options.filter((option) => [folded(option.value), folded(option.textContent)].includes(text));
    const found = exact.length > 0 || text === "" ? exact : options.filter((option) => matches(option, text));
    const rate = found.length === 1 ? rates.get(found[0].textContent) : undefined;
    const control = field.closest("fieldset").querySelector(`[name='${field.name.replace("category", "rate")}']`);
    if (rate === undefined || control.value === rate) return;
    if (["S", "N"].includes(found[0].textContent) && /[1-9]/.test(control.value)) return;
    control.value = rate;
    control.dispatchEvent(new Event("input", { bubbles: true }));
  }
  const isCategory = (control) => ["items.vat_category", "entries.vat_category"].includes(control.name);
  document.addEventListener("input", (event) => { if (isCategory(event.target) && event.detail === "chosen") setRate(event.target); });
  document.addEventListener("change", (event) => { if (isCategory(event.target)) setRate(event.target); });

  // An incomplete date has no value. Report it instead of losing it.
  document.addEventListener("submit", (event) => {
    const half = [...event.target.elements].find((control) => control.validity && control.validity.badInput);
    if (!half) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    half.reportValidity();
  });

  // A form with data-check asks the server for its parts that change: a moment after its input has changed, and when a button with data-part
  // is pressed. Each part replaces the element with its id, so that a form with many lines costs no more than a short one. A newer question
  // ends an older one, whose answer would be about another form; only a button's is answered before the next check, within half a minute.
  let due = 0, asking = null;
  const valueOf = (control) => control.type === "checkbox" ? control.checked : control.value;
  const controlsOf = (part) => [...part.querySelectorAll("input[id], select[id], textarea[id]")];
  function checkSoon(form) {
    clearTimeout(due);
    due = setTimeout(() => asking?.button ? checkSoon(form) : ask(form, form.dataset.check, null), 300);
  }
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-check]");
    if (form) checkSoon(form);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-part]");
    if (!button) return;
    event.preventDefault();
    ask(button.form, button.form.getAttribute("action"), button);
  });
  async function ask(form, address, button) {
    clearTimeout(due);
    asking?.stop.abort();
    const question = asking = { stop: new AbortController(), button };
    try {
      const body = new URLSearchParams(new FormData(form, button)), sent = new Map(controlsOf(form).map((c) => [c.id, valueOf(c)]));
      const signal = AbortSignal.any([question.stop.signal, AbortSignal.timeout(30000)]);
      const answer = await fetch(address, { method: "POST", headers: { "HX-Request": "true" }, body, signal });
      const text = await answer.text();
      showOffline();
      if (answer.headers.has("HX-Redirect")) location.href = answer.headers.get("HX-Redirect");
      else if (answer.ok && pressed && !button) unchecked = form;
      else if (answer.ok) replaceParts(text, sent);
      else if (button) offline.hidden = false;
    } catch (error) {
      if (error.name !== "AbortError") offline.hidden = false;
    } finally {
      if (asking === question) asking = null;
    }
  }

  // Replace the parts of a page that differ. A new part has data-in with the id of the list that it extends, and data-gone takes one away.
  // Parts may come while somebody uses them: details stay as they are, the focus stays unless a part takes it, and what was typed since the
  // question was sent stays where the answer changes nothing.
  function replaceParts(text, sent) {
    const answer = document.createElement("template"), { id } = document.activeElement;
    answer.innerHTML = text;
    for (const details of answer.content.querySelectorAll("details[id]")) details.open = document.getElementById(details.id)?.open ?? details.open;
    let focused = null;
    for (const part of [...answer.content.children]) {
      const shown = document.getElementById(part.id);
      if (part.id === "announcer") shown.textContent = part.textContent;
      else if ("gone" in part.dataset) shown?.remove();
      else if (shown ? controlsOf(part).length > 0 || !shown.isEqualNode(part) : part.dataset.in) {
        for (const control of controlsOf(part)) {
          const typed = document.getElementById(control.id);
          if (!typed || valueOf(typed) === sent.get(control.id) || valueOf(control) !== sent.get(control.id)) continue;
          control[control.type === "checkbox" ? "checked" : "value"] = valueOf(typed);
        }
        if (shown) shown.replaceWith(part);
        else document.getElementById(part.dataset.in).append(part);
        offer(part);
        enhance(part);
        if (part.querySelector("[hx-post]")) htmx.process(part);
        focused ??= part.querySelector("[autofocus]:not([popover] *)");
      }
      if (part.className === "notes") markInvalid(part);
    }
    if (document.activeElement === document.body && id) document.getElementById(id)?.focus({ preventScroll: true });
    focused?.focus();
  }

  // Mark a field as invalid while its notes contain a fault.
  function markInvalid(notes) {
    const control = document.getElementById(notes.id.replace(/^n/, "f"));
    if (control?.getAttribute("aria-describedby") !== notes.id) return;
    if (notes.querySelector(".fault")) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
  }

  // Passkeys (WebAuthn). The server makes the options of a call of the authenticator, and a hidden field takes the response. Show the
  // controls where the browser has the calls.
  if (window.PublicKeyCredential?.parseCreationOptionsFromJSON) {
    document.querySelectorAll("[data-passkey], [data-register]").forEach((control) => { control.hidden = false; });
    document.querySelectorAll("[data-passkey-missing]").forEach((note) => { note.hidden = true; });
  }
  async function askAuthenticator(form, address, field, call) {
    const status = form.querySelector(`[data-passkey-status]`);
    status.textContent = "";
    try {
      const answer = await fetch(address, { method: "POST" });
      if (!answer.ok) throw new Error(`the server responds with ${answer.status}`);
      form.elements[field].value = JSON.stringify(await call(await answer.json()));
      return true;
    } catch (error) { // people may cancel, or have no passkey on this device
      status.textContent = error.name === "InvalidStateError" ? status.dataset.exists : status.dataset.failed;
      return false;
    }
  }
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-passkey]");
    if (!button) return;
    const form = button.form, code = form.querySelector("[autocomplete=one-time-code]");
    const signed = await askAuthenticator(form, button.dataset.passkey, "assertion",
      (options) => navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }));
    if (!signed) return;
    code.required = false;
    code.value = "";
    if ("submit" in button.dataset) {
      form.requestSubmit();
      return;
    }
    const status = form.querySelector("[data-passkey-status]");
    status.textContent = status.dataset.done;
    code.disabled = button.hidden = true;
    form.querySelector("button:not([type=button])").focus();
  });
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.dataset.register || form.elements.registration.value) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const made = await askAuthenticator(form, form.dataset.register, "registration",
      (options) => navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }));
    if (made) form.requestSubmit();
  });

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    if (form.method === "post" && event.submitter?.formTarget !== "_blank") {
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

  // Leave empty filters out of the address.
  document.addEventListener("formdata", (event) => {
    if (event.target.method !== "get") return;
    for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("button[data-print]")) print();
  });

  // Show the tooltip of an element with data-tip by hover, by focus and by tap, above everything else. Without scripts its
  // title serves. Escape closes it, and the pointer may move onto it (WCAG 2.2, 1.4.13).
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.popover = "manual";
  tip.setAttribute("aria-hidden", "true"); // the element says the same
  document.body.append(tip);
  let tipped = null;
  function showTip(owner) {
    if (owner === tipped) return;
    hideTip();
    if (owner.title) { owner.dataset.tip = owner.title; owner.removeAttribute("title"); }
    if (!owner.hasAttribute("aria-label")) owner.setAttribute("aria-description", owner.dataset.tip);
    tipped = owner;
    tip.textContent = owner.dataset.tip;
    tip.showPopover();
    placeTip();
  }
  function placeTip() {
    if (!tipped) return;
    const at = tipped.getBoundingClientRect(), box = tip.getBoundingClientRect();
    const above = at.top - box.height - 6;
    tip.style.top = (above > 4 ? above : at.bottom + 6) + "px";
    tip.style.left = Math.max(8, Math.min(at.left + at.width / 2 - box.width / 2, document.documentElement.clientWidth - box.width - 8)) + "px";
  }
  function hideTip() {
    if (!tipped) return;
    tipped = null;
    tip.hidePopover();
  }
  const tipOf = (target) => target instanceof Element ? target.closest("[data-tip]") : null;
  document.addEventListener("pointerover", (event) => {
    const owner = tipOf(event.target);
    if (owner) showTip(owner);
    else if (event.target !== tip && !(tipped && tipped === document.activeElement)) hideTip();
  });
  document.addEventListener("focusin", (event) => { const owner = tipOf(event.target); if (owner) showTip(owner); else hideTip(); });
  document.addEventListener("focusout", hideTip);
  document.addEventListener("click", (event) => { const owner = tipOf(event.target); if (owner) showTip(owner); else if (event.target !== tip) hideTip(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
  document.addEventListener("scroll", placeTip, { capture: true, passive: true });
  document.addEventListener("htmx:afterSwap", () => { if (tipped && !tipped.isConnected) hideTip(); });

  // Close a menu by a click outside of it and by Escape.
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });

  // A field with a list of choices is a combobox (WAI-ARIA Authoring Practices, combobox with a list popup). Without scripts it has the
  // browser's own list of suggestions. A field with data-search asks the server for the choices that match the text, and a field with
  // data-choose presses that button of its form when the user has chosen.
  const maxChoices = 60;
  let box = null; // the open combobox: its field, its list and the active option
  let busy = null; // the promise of the list that is being opened
  let entered = false; // the key Enter that is down has chosen from a list

  function enhance(root) {
    for (const field of root.querySelectorAll("input[list]")) {
      field.dataset.list = field.getAttribute("list");
      field.removeAttribute("list");
      field.setAttribute("role", "combobox");
      field.setAttribute("aria-autocomplete", "list");
      field.setAttribute("aria-expanded", "false");
      field.setAttribute("autocomplete", "off");
    }
  }
  enhance(document);
  document.addEventListener("htmx:load", (event) => enhance(event.detail.elt.parentElement || document));

  const isCombobox = (element) => element instanceof HTMLInputElement && element.dataset.list !== undefined;
  const folded = (text) => text.toLowerCase().split(/\s+/).filter(Boolean).join(" ");

  // Return whether each word of a text begins a word of the choice, or the text begins its code.
  function matches(option, text) {
    if (text === "" || folded(option.textContent).startsWith(text)) return true;
    const words = folded(option.value).split(/[^\p{L}\p{N}]+/u);
    return text.split(" ").every((part) => words.some((word) => word.startsWith(part)));
  }

  async function choices(field, text) {
    const offered = [...(document.getElementById(field.dataset.list)?.options ?? [])];
    if (!field.dataset.search || text === "") return offered.filter((option) => matches(option, text)).slice(0, maxChoices);
    const found = document.createElement("datalist");
    const response = await fetch(`${field.dataset.search}?q=${encodeURIComponent(text)}`, { headers: { "HX-Request": "true" } });
    if (response.ok && !response.redirected) found.innerHTML = await response.text();
    return [...found.options];
  }

  function openBox(field, all) {
    const opening = showBox(field, all).finally(() => { if (busy === opening) busy = null; });
    busy = opening;
  }

  // Keys that are pressed before the list is there are about that list.
  const whenOpen = (act) => { busy ? busy.then(act) : act(); };

  async function showBox(field, all) {
    const text = all ? "" : folded(field.value);
    const asked = (field.dataset.asked = String(Number(field.dataset.asked || 0) + 1));
    const found = await choices(field, text);
    if (field.dataset.asked !== asked || document.activeElement !== field) return;
    closeBox();
    if (found.length === 0) return;
    const list = document.createElement("ul");
    list.id = `${field.id}-choices`;
    list.className = "choices-popup";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", document.querySelector(`label[for="${CSS.escape(field.id)}"]`)?.textContent ?? "");
    found.forEach((option, n) => {
      const item = document.createElement("li");
      item.id = `${list.id}-${n}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.dataset.value = option.value;
      const name = document.createElement("bdi"), code = document.createElement("span");
      name.textContent = option.value;
      code.textContent = option.textContent;
      item.append(name, code);
      list.append(item);
    });
    field.after(list);
    field.setAttribute("aria-expanded", "true");
    field.setAttribute("aria-controls", list.id);
    box = { field, list, active: null };
    list.classList.toggle("end", list.getBoundingClientRect().right > document.documentElement.clientWidth);
  }

  function closeBox() {
    if (!box) return;
    box.list.remove();
    box.field.setAttribute("aria-expanded", "false");
    box.field.removeAttribute("aria-controls");
    box.field.removeAttribute("aria-activedescendant");
    box = null;
  }

  function move(down) {
    const items = [...box.list.children], at = items.indexOf(box.active);
    activate(items.at(down ? (at + 1) % items.length : at < 0 ? -1 : at - 1));
  }

  function activate(item) {
    box.active?.setAttribute("aria-selected", "false");
    box.active = item;
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    box.field.setAttribute("aria-activedescendant", item.id);
  }

  function choose(item) {
    const { field } = box;
    field.dataset.asked = String(Number(field.dataset.asked || 0) + 1); // a late answer must not open the list again
    field.value = item.dataset.value;
    closeBox();
    field.dispatchEvent(new CustomEvent("input", { bubbles: true, detail: "chosen" }));
    if (field.dataset.choose) field.form.querySelector(`button[value="${CSS.escape(field.dataset.choose)}"]`)?.click();
  }

  document.addEventListener("input", (event) => {
    if (isCombobox(event.target) && event.detail !== "chosen") openBox(event.target, false);
  });
  document.addEventListener("click", (event) => {
    if (isCombobox(event.target) && box?.field !== event.target) openBox(event.target, true);
  });
  document.addEventListener("keydown", (event) => {
    const field = event.target;
    if (!event.repeat) entered = false;
    if (!isCombobox(field)) return;
    const open = box?.field === field;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open && !busy) openBox(field, field.value === "" || event.altKey);
      whenOpen(() => { if (box?.field === field && !event.altKey) move(event.key === "ArrowDown"); });
    } else if (event.key === "Enter" && (busy || open && box.active)) {
      event.preventDefault();
      entered = true;
      whenOpen(() => { if (box?.field === field && box.active) choose(box.active); });
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      closeBox();
    } else if (event.key === "Tab" && open) {
      if (box.active) choose(box.active);
      else closeBox();
    }
  });
  // A choice may move the focus while the key is still down. That press does not send the form from there either.
  document.addEventListener("keypress", (event) => { if (event.key === "Enter" && entered) event.preventDefault(); });
  document.addEventListener("mousedown", (event) => {
    const item = event.target.closest(".choices-popup [role=option]");
    if (!item) return;
    event.preventDefault(); // the field keeps the focus
    if (event.button === 0) choose(item);
  });
  addEventListener("resize", closeBox);
  document.addEventListener("focusout", (event) => {
    if (box?.field === event.target) closeBox();
  });

  // Count the ticked rows of a list in its bar.
  document.addEventListener("change", (event) => {
    const form = event.target.matches("tbody input, [data-pick]") ? event.target.form : null;
    if (form) countPicked(form);
  });
  function countPicked(form) {
    const picked = form.querySelector("[data-picked]");
    if (picked) picked.textContent = form.querySelectorAll("tbody .c-pick input:checked").length;
  }
  document.addEventListener("htmx:afterSettle", () => document.querySelectorAll("form:has([data-picked])").forEach(countPicked));
  addEventListener("pageshow", () => document.querySelectorAll("form:has([data-picked])").forEach(countPicked)); // a browser that goes back keeps the boxes

  // Say when the browser is offline, and that the live parts are old.
  const offline = document.getElementById("offline");
  const showOffline = () => { offline.hidden = navigator.onLine; };
  addEventListener("offline", showOffline);
  addEventListener("online", showOffline);
  document.addEventListener("htmx:sendError", () => { offline.hidden = false; });
  document.addEventListener("htmx:afterOnLoad", showOffline);

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

  // A form with data-carry takes along what was typed into the field with that id, which is in another form.
  document.addEventListener("submit", (event) => {
    const { carry } = event.target.dataset;
    if (carry) event.target.elements[carry].value = document.getElementById(carry).value;
  }, true);

  // The link of an invitation, or for a new password, has its secret in the fragment, which is not sent to servers. Put it into the form, and out of the address.
  const invited = document.querySelector("form[data-fragment]");
  const useFragment = () => {
    if (!invited || location.hash.length < 2) return;
    invited.elements[invited.dataset.fragment].value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname);
    invited.requestSubmit();
  };
  useFragment();
  addEventListener("hashchange", useFragment);

  // Keep a secret that is shown once out of the browser's history and cache: replace the address with that of the
  // subscription's page, and remove the secret when the user leaves the page.
  const once = document.querySelector("[data-address]");
  if (once) {
    history.replaceState(null, "", once.dataset.address);
    addEventListener("pagehide", () => once.remove());
  }
})();
