/** What the resources of the API have in common. */

import { ConfigurationError, UnreadableResponseError } from "./errors.js";

export const clientPath = "/api/v1/client";
export const webhooksPath = "/api/v1/webhooks";

const defaultPerPage = 50;
const maxPerPage = 100;
const maxExportBytes = 256 << 20; // the service limits the rows of a file to 100,000

/** Appends escaped segments to a path. An empty one would be another path, and so would dots. */
export function path(fixed, ...segments) {
  for (const segment of segments) {
    const text = String(segment ?? "");
    if (text === "" || text === "." || text === "..") {
      throw new ConfigurationError("an identifier is missing");
    }
    fixed += `/${encodeURIComponent(text)}`;
  }
  return fixed;
}

export class Resource {
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

  _export(path, format, query, options) {
    const call = { method: "GET", path: `${path}/export`, query: { ...query, format }, file: true, repeatable: true, maxBytes: maxExportBytes };
    return this.#send(call, options);
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
