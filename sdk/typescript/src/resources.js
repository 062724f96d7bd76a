/** The resources of the API. index.d.ts documents their methods. */

import { ConfigurationError, ConflictError, DraftAgainError, SecretLostError, UnreadableResponseError } from "./errors.js";
import { sleep } from "./platform.js";

const clientPath = "/api/v1/client";
const webhooksPath = "/api/v1/webhooks";
const defaultPerPage = 50;
const maxPerPage = 100;
const defaultWaitMs = 120_000;
const pollFirstMs = 500;
const pollMaxMs = 30_000;

/** Appends escaped segments to a path. An empty one would be another path, and so would dots. */
function path(fixed, ...segments) {
  for (const segment of segments) {
    const text = String(segment ?? "");
    if (text === "" || text === "." || text === "..") {
      throw new ConfigurationError("an identifier is missing");
    }
    fixed += `/${encodeURIComponent(text)}`;
  }
  return fixed;
}

class Resource {
  #send;

  constructor(send) {
    this.#send = send;
  }

  async _one(call, options) {
    return (await this.#send(call, options)).data;
  }

  _get(path, options, query) {
    return this._one({ method: "GET", path, query, repeatable: true }, options);
  }

  _post(path, body, options, more) {
    return this._one({ method: "POST", path, body, ...more }, options);
  }

  _patch(path, body, options) {
    return this._one({ method: "PATCH", path, body }, options);
  }

  _delete(path, options) {
    return this._one({ method: "DELETE", path, repeatable: true }, options);
  }

  _file(path, query, options) {
    return this.#send({ method: "GET", path, query, file: true, repeatable: true }, options);
  }

  _list(path, query, options) {
    return new List((page) => this.#send({ method: "GET", path, query: { ...query, ...page }, repeatable: true }, options), query);
  }

  _feed(path, query, options) {
    return new Feed((position) => this.#send({ method: "GET", path, query: position, repeatable: true }, options), query);
  }
}

/** A list that is read by page number. */
class List {
  #read;
  #perPage;

  constructor(read, { per_page: perPage = defaultPerPage } = {}) {
    this.#read = read;
    this.#perPage = Math.min(perPage, maxPerPage);
  }

  page(number = 1) {
    return this.#read({ page: number, per_page: this.#perPage });
  }

  async *[Symbol.asyncIterator]() {
    const seen = new Set();
    let perPage = this.#perPage;
    for (let page = 1; ; page++) {
      let read;
      try {
        read = await this.#read({ page, per_page: perPage });
      } catch (error) {
        if (!(error instanceof UnreadableResponseError && error.tooLarge && perPage > 1)) {
          throw error;
        }
        const first = (page - 1) * perPage;
        perPage = Math.floor(perPage / 2);
        page = Math.floor(first / perPage); // the smaller page with the entry first is the next one
        continue;
      }
      for (const entry of read.data) {
        // A revision and an entry of a chain have no identifier of their own, but a number, and do not move.
        const id = entry.id ?? entry.revision;
        if (!seen.has(id)) {
          seen.add(id);
          yield entry;
        }
      }
      if (!read.pagination?.has_more || read.data.length === 0) {
        return;
      }
    }
  }
}

/** A list that is read by cursor. */
class Feed {
  #read;
  #query;

  constructor(read, query = {}) {
    this.#read = read;
    this.#query = query;
  }

  page(after = this.#query.after) {
    return this.#read({ after, limit: this.#query.limit ?? defaultPerPage });
  }

  async *pages() {
    for (let after = this.#query.after; ; ) {
      const page = await this.page(after);
      yield page;
      if (!page.pagination.has_more || page.pagination.next_cursor === after) {
        return;
      }
      after = page.pagination.next_cursor;
    }
  }

  async *[Symbol.asyncIterator]() {
    for await (const page of this.pages()) {
      yield* page.data;
    }
  }
}

export class Invoices extends Resource {
  #path = `${clientPath}/invoices`;

  list(query, options) {
    return this._list(this.#path, query, options);
  }

  async get(id, options) {
    return this._get(path(this.#path, id), options);
  }

  async create(draft, options) {
    return this._post(this.#path, draft, options);
  }

  async update(id, patch, options) {
    return this._patch(path(this.#path, id), patch, options);
  }

  async delete(id, options) {
    return this._delete(path(this.#path, id), options);
  }

  async preflight(draft, { profile, ...options } = {}) {
    return this._post(`${this.#path}/preflight`, draft, options, { query: { profile }, repeatable: true });
  }

  async submit(id, options) {
    return this._post(`${path(this.#path, id)}/submit`, undefined, options, { repeatable: true });
  }

  async submitAndWait(id, { timeoutMs = defaultWaitMs, until = isFinal, signal } = {}) {
    const deadline = Date.now() + timeoutMs;
    let invoice;
    try {
      invoice = await this.submit(id, { signal });
    } catch (error) {
      if (!(error instanceof ConflictError && error.code === "submission_in_progress")) {
        throw error;
      }
    }
    for (let wait = pollFirstMs; ; wait = Math.min(2 * wait, pollMaxMs)) {
      if (invoice !== undefined && !invoice.submitted) {
        throw new DraftAgainError(invoice);
      }
      const left = deadline - Date.now();
      if (invoice !== undefined && (until(invoice) || isSettled(invoice) || left <= 0)) {
        return invoice;
      }
      await sleep(Math.min(wait, Math.max(left, 0)), signal);
      invoice = await this.get(id, { signal });
    }
  }

  submissions(id, query, options) {
    return this._list(`${path(this.#path, id)}/submissions`, query, options);
  }

  evidence(id, query, options) {
    return this._list(`${path(this.#path, id)}/evidence`, query, options);
  }

  async document(id, { profile, ...options } = {}) {
    return this._file(`${path(this.#path, id)}/document`, { profile }, options);
  }

  async pdf(id, { profile, ...options } = {}) {
    return this._file(`${path(this.#path, id)}/document.pdf`, { profile }, options);
  }
}

export class CreditNotes extends Resource {
  #path = `${clientPath}/credit-notes`;

  list(query, options) {
    return this._list(this.#path, query, options);
  }

  async get(id, options) {
    return this._get(path(this.#path, id), options);
  }

  async create(note, options) {
    return this._post(this.#path, note, options);
  }

  async update(id, patch, options) {
    return this._patch(path(this.#path, id), patch, options);
  }

  async void(id, options) {
    return this._post(`${path(this.#path, id)}/void`, undefined, options);
  }

  async submit(id, options) {
    return this._post(`${path(this.#path, id)}/submit`, undefined, options, { repeatable: true });
  }

  submissions(id, query, options) {
    return this._list(`${path(this.#path, id)}/submissions`, query, options);
  }

  evidence(id, query, options) {
    return this._list(`${path(this.#path, id)}/evidence`, query, options);
  }

  async document(id, { profile, ...options } = {}) {
    return this._file(`${path(this.#path, id)}/document`, { profile }, options);
  }

  async pdf(id, { profile, ...options } = {}) {
    return this._file(`${path(this.#path, id)}/document.pdf`, { profile }, options);
  }
}

export class Incoming extends Resource {
  #path = `${clientPath}/incoming-invoices`;

  list(query, options) {
    return this._list(this.#path, query, options);
  }

  async get(id, options) {
    return this._get(path(this.#path, id), options);
  }

  revisions(id, query, options) {
    return this._list(`${path(this.#path, id)}/revisions`, query, options);
  }

  async document(id, revision, options) {
    return this._get(path(this.#path, id, "revisions", revision, "document"), options);
  }

  async attachment(id, revision, attachment, options) {
    return this._file(path(this.#path, id, "revisions", revision, "attachments", attachment), undefined, options);
  }

  async pdf(id, { revision, ...options } = {}) {
    const one = revision === undefined ? path(this.#path, id) : path(this.#path, id, "revisions", revision);
    return this._file(`${one}/document.pdf`, undefined, options);
  }
}

export class Webhooks extends Resource {
  #path = `${webhooksPath}/subscriptions`;

  list(query, options) {
    return this._list(this.#path, query, options);
  }

  async get(id, options) {
    return this._get(path(this.#path, id), options);
  }

  async create(subscription, options) {
    const created = await this._post(this.#path, subscription, options);
    if (!created.secret) {
      throw new SecretLostError(created);
    }
    return created;
  }

  async deactivate(id, options) {
    return this._post(`${path(this.#path, id)}/deactivate`, undefined, options);
  }
}

export class Events extends Resource {
  list(query, options) {
    return this._feed(`${webhooksPath}/events`, query, options);
  }
}

export class Deliveries extends Resource {
  #path = `${webhooksPath}/deliveries`;

  list(query, options) {
    return this._list(this.#path, query, options);
  }

  async get(id, options) {
    return this._get(path(this.#path, id), options);
  }

  async redeliver(id, options) {
    return this._post(`${path(this.#path, id)}/redeliver`, undefined, options);
  }
}

/** The customer book, or the item catalogue. */
export class Book extends Resource {
  #path;

  constructor(send, name) {
    super(send);
    this.#path = `${clientPath}/${name}`;
  }

  list(query, options) {
    return this._list(this.#path, query, options);
  }

  async get(id, options) {
    return this._get(path(this.#path, id), options);
  }

  async create(entry, options) {
    return this._post(this.#path, entry, options);
  }

  async update(id, patch, options) {
    return this._patch(path(this.#path, id), patch, options);
  }

  async delete(id, options) {
    return this._delete(path(this.#path, id), options);
  }
}

export class AccountResource extends Resource {
  async get(options) {
    return this._get(`${clientPath}/account`, options);
  }
}

export function isFinal(invoice) {
  const { submission_state, provider_invoice_state, tax_authority_state, receiver_state } = invoice.states;
  return [submission_state, provider_invoice_state, tax_authority_state, receiver_state].every((state) => state?.final === true);
}

/** Reports whether an invoice can no longer change by itself: it was rejected, or the service no longer asks the provider. */
function isSettled({ submission }) {
  const rejected = ["rejected", "resolved_rejected"].includes(submission?.outcome);
  return rejected || Boolean(submission && submission.outcome !== "in_progress" && submission.next_check_at === null);
}
