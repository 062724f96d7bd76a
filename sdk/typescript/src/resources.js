/** The resources that have no documents and no people. resources.d.ts documents their methods. */

import { SecretLostError } from "./errors.js";
import { clientPath, path, Resource, webhooksPath } from "./resource.js";

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
