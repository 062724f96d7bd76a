/** Invoices, credit notes, incoming e-invoices, evidence and recipients. resources.d.ts documents their methods. */

import { ConfigurationError, ConflictError, DraftAgainError } from "./errors.js";
import { sleep } from "./platform.js";
import { clientPath, path, Resource } from "./resource.js";

const defaultWaitMs = 120_000;
const pollFirstMs = 500;
const pollMaxMs = 30_000;

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

  async export(format, query, options) {
    return this._export(this.#path, format, query, options);
  }

  async importFile(file, { sheet, ...options } = {}) {
    return this._post(`${this.#path}/import`, checkedFile(file), options, { query: { sheet }, contentType: mediaType(file) });
  }

  async checkImport(file, { sheet, ...options } = {}) {
    const query = { sheet, dry_run: true };
    return this._post(`${this.#path}/import`, checkedFile(file), options, { query, contentType: mediaType(file), repeatable: true });
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

  async export(format, query, options) {
    return this._export(this.#path, format, query, options);
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

  async export(format, query, options) {
    return this._export(this.#path, format, query, options);
  }
}

export class Evidence extends Resource {
  async get(id, options) {
    return this._get(path(`${clientPath}/evidence`, id), options);
  }
}

export class Recipients extends Resource {
  async lookup(recipient, options) {
    return this._post(`${clientPath}/recipients/lookup`, recipient, options, { repeatable: true });
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

function checkedFile(file) {
  if (typeof file !== "string" && !(file instanceof Uint8Array)) {
    throw new ConfigurationError("a file is a string or a Uint8Array");
  }
  return file;
}

/** Returns the media type of a file with drafts: an XLSX file is a ZIP archive, and every other one is CSV. */
function mediaType(file) {
  const isZip = file[0] === 0x50 && file[1] === 0x4b; // PK
  return isZip ? "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" : "text/csv";
}
