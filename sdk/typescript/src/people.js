/** People and keys: users, invitations, API keys, sessions, the second factor and the audit log. resources.d.ts documents their methods. */

import { KeyLostError, LinkLostError } from "./errors.js";
import { clientPath, path, Resource } from "./resource.js";

export class Users extends Resource {
  #path = `${clientPath}/users`;
  #password; // returns that of the client

  constructor(send, password) {
    super(send);
    this.#password = password;
  }

  list(query, options) {
    return this._list(this.#path, query, options);
  }

  async update(id, patch, options) {
    return this._patch(path(this.#path, id), patch, options);
  }

  async remove(id, options) {
    return this._delete(path(this.#path, id), options);
  }

  async changeAddress(email, { otp, ...options } = {}) {
    return this._post(`${clientPath}/auth/address`, { email, current_password: this.#password(), otp }, options, { withoutKey: true });
  }

  async requestAddressProof(options) {
    return this._post(`${clientPath}/auth/address/proof`, undefined, options, { withoutKey: true });
  }

  async proveAddress(code, options) {
    return this._post(`${clientPath}/auth/address/confirm`, { code }, options, { withoutKey: true });
  }

  async resetSecondFactor(id, options) {
    return this._post(`${path(this.#path, id)}/second-factor/reset`, undefined, options);
  }
}

export class Invitations extends Resource {
  #path = `${clientPath}/users/invitations`;

  list(query, options) {
    return this._list(this.#path, query, options);
  }

  async create(invitation, options) {
    const created = await this._post(this.#path, invitation, options);
    if (!created.url) {
      throw new LinkLostError(created);
    }
    return created;
  }

  async revoke(id, options) {
    return this._post(`${path(this.#path, id)}/revoke`, undefined, options);
  }
}

export class APIKeys extends Resource {
  #path = `${clientPath}/api-keys`;

  list(query, options) {
    return this._list(this.#path, query, options);
  }

  async create(apiKey, options) {
    const created = await this._post(this.#path, apiKey, options);
    if (!created.key) {
      throw new KeyLostError(created);
    }
    return created;
  }

  async revoke(id, options) {
    return this._post(`${path(this.#path, id)}/revoke`, undefined, options);
  }
}

export class Sessions extends Resource {
  #path = `${clientPath}/sessions`;

  list(query, options) {
    return this._list(this.#path, query, options);
  }

  async end(id, options) {
    return this._post(`${path(this.#path, id)}/end`, undefined, options);
  }

  async endOthers(options) {
    return this._post(`${this.#path}/end-others`, undefined, options);
  }
}

/** The second factor of the user. Its changes take no idempotency key, so they are sent once. */
export class SecondFactor extends Resource {
  #path = `${clientPath}/auth`;
  #password; // returns that of the client

  constructor(send, password) {
    super(send);
    this.#password = password;
  }

  async get(options) {
    return this._get(`${this.#path}/second-factor`, options);
  }

  async beginTotp(options) {
    return this.#change("totp", undefined, options);
  }

  async confirmTotp(code, { otp, ...options } = {}) {
    return this.#change("totp/confirm", otp === undefined ? { code, current_password: this.#password() } : { code, otp }, options);
  }

  async disableTotp(otp, options) {
    return this.#change("totp/disable", { current_password: this.#password(), otp }, options);
  }

  async replaceRecoveryCodes(otp, options) {
    return this.#change("totp/recovery-codes", { current_password: this.#password(), otp }, options);
  }

  #change(name, body, options) {
    return this._post(`${this.#path}/${name}`, body, options, { withoutKey: true });
  }
}

export class Audit extends Resource {
  list(query, options) {
    return this._list(`${clientPath}/audit`, query, options);
  }
}
