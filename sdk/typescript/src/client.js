import * as documents from "./documents.js";
import { AuthenticationError, ConfigurationError, UnreadableResponseError } from "./errors.js";
import * as people from "./people.js";
import * as resources from "./resources.js";
import { prepare, Transport } from "./transport.js";

const defaultTimeoutMs = 60_000;
const defaultMaxRetries = 3;

/** The client of one service. index.d.ts documents it. */
export class Quittance {
  #transport;
  #apiKey;
  #email;
  #password;
  #otp;
  #session; // {token, login}: compared by identity, so that a call whose token was rejected asks for another one
  #login; // the promise of the login in progress, which all calls share

  constructor(options = {}) {
    const { baseUrl, apiKey, email, password, otp, fetch = globalThis.fetch, userAgent = "quittance-typescript" } = options;
    const { timeoutMs = defaultTimeoutMs, maxRetries = defaultMaxRetries } = options;
    const user = Boolean(email && password);
    if (user === Boolean(apiKey) || (apiKey && (email || password))) {
      throw new ConfigurationError("either apiKey, or email and password are required");
    }
    if (apiKey && !/^[!-~]+$/.test(apiKey)) {
      throw new ConfigurationError("apiKey has visible ASCII characters only"); // errors of fetch contain a header that it refuses
    }
    if (!Number.isSafeInteger(maxRetries) || maxRetries < 0) {
      throw new ConfigurationError("maxRetries is a whole number from 0");
    }
    if (!(timeoutMs > 0 && timeoutMs < 2 ** 31)) {
      throw new ConfigurationError("timeoutMs is positive and less than 2^31");
    }
    if (typeof fetch !== "function") {
      throw new ConfigurationError("this platform has no fetch; give one");
    }
    this.#transport = new Transport({ base: checkedBase(baseUrl), fetch: (...request) => fetch(...request), userAgent, timeoutMs, maxRetries });
    this.#apiKey = apiKey;
    this.#email = email;
    this.#password = password;
    this.#otp = otp;
    const send = (call, callOptions) => this.#send(call, callOptions);
    this.invoices = new documents.Invoices(send);
    this.creditNotes = new documents.CreditNotes(send);
    this.incoming = new documents.Incoming(send);
    this.evidence = new documents.Evidence(send);
    this.recipients = new documents.Recipients(send);
    this.webhooks = new resources.Webhooks(send);
    this.events = new resources.Events(send);
    this.deliveries = new resources.Deliveries(send);
    this.customers = new resources.Book(send, "customers");
    this.items = new resources.Book(send, "items");
    this.account = new resources.AccountResource(send);
    this.users = new people.Users(send, () => this.#password ?? "");
    this.invitations = new people.Invitations(send);
    this.apiKeys = new people.APIKeys(send);
    this.sessions = new people.Sessions(send);
    this.secondFactor = new people.SecondFactor(send, () => this.#password ?? "");
    this.audit = new people.Audit(send);
  }

  async request(method, path, { query, body, contentType, idempotencyKey, ...options } = {}) {
    const repeatable = method === "GET" || method === "DELETE";
    const call = { method, path: checkedPath(path), query, body, contentType, repeatable, withoutKey: idempotencyKey === undefined };
    return this.#send(call, { ...options, idempotencyKey });
  }

  async download(path, { query, ...options } = {}) {
    return this.#send({ method: "GET", path: checkedPath(path), query, file: true, repeatable: true }, options);
  }

  async login({ signal } = {}) {
    this.#requireUser();
    return (await this.#sessionOtherThan(this.#session, signal)).login;
  }

  async changePassword(password, options) {
    this.#requireUser();
    const body = { current_password: this.#password, new_password: password };
    await this.#send({ method: "POST", path: "/api/v1/client/auth/password", body, withoutKey: true }, options);
    this.#password = password;
  }

  async logout() {
    const session = this.#session;
    if (session === undefined) {
      return;
    }
    const call = await prepare({ method: "POST", path: "/api/v1/client/auth/logout", repeatable: true });
    try {
      await this.#transport.call(call, session.token);
    } catch (error) {
      if (!isUnauthenticated(error)) {
        throw error; // a rejected token is as good as a revoked one
      }
    }
    if (this.#session === session) {
      this.#session = undefined;
    }
  }

  #requireUser() {
    if (this.#apiKey !== undefined) {
      throw new ConfigurationError("a client with an API key has no login and no password");
    }
  }

  async #send(call, options) {
    const prepared = await prepare(call, options);
    if (this.#apiKey !== undefined) {
      return this.#transport.call(prepared, this.#apiKey);
    }
    const session = await this.#sessionOtherThan(undefined, prepared.signal);
    try {
      return await this.#transport.call(prepared, session.token);
    } catch (error) {
      if (!isUnauthenticated(error)) {
        throw error;
      }
    }
    // The service checks the token first, so the call has had no effect.
    const renewed = await this.#sessionOtherThan(session, prepared.signal);
    return this.#transport.call(prepared, renewed.token);
  }

  /**
   * Returns a session other than the rejected one. Of several concurrent calls one logs in and all share the result: a wrong password is
   * tried once, because the service counts failures. The signal of a call ends its waiting, not the login of the others.
   */
  async #sessionOtherThan(rejected, signal) {
    if (this.#session !== undefined && this.#session !== rejected) {
      return this.#session;
    }
    this.#login ??= this.#logIn().finally(() => {
      this.#login = undefined;
    });
    return untilAborted(this.#login, signal);
  }

  async #logIn() {
    const body = { email: this.#email, password: this.#password };
    // A repeated login only leaves a second token behind.
    const call = { method: "POST", path: "/api/v1/client/auth/login", body, repeatable: true };
    let response;
    try {
      response = await this.#transport.call(await prepare(call));
    } catch (error) {
      if (!(error instanceof AuthenticationError && error.code === "otp_required" && this.#otp)) {
        throw error;
      }
      // A code works once, so this call is not repeated.
      const withCode = { ...call, body: { ...body, otp: await this.#otp() }, repeatable: false, withoutKey: true };
      response = await this.#transport.call(await prepare(withCode));
    }
    if (!/^[!-~]+$/.test(response.data.token)) {
      const facts = { operation: `${call.method} ${call.path}`, status: 200, requestId: "", retryAfterMs: 0 };
      throw new UnreadableResponseError("the response to a login has no token", facts);
    }
    this.#session = { token: response.data.token, login: response.data };
    return this.#session;
  }
}

/** Returns the base URL without a slash at its end. Errors do not contain it, because a wrong one may contain a password. */
function checkedBase(text) {
  let url;
  try {
    url = new URL(text);
  } catch {
    url = undefined; // the error of URL contains the text
  }
  if (!["http:", "https:"].includes(url?.protocol) || url.username || url.password || /[?#]/.test(text)) {
    throw new ConfigurationError("baseUrl must be http or https with a host and without user info, query and fragment");
  }
  return url.href.replace(/\/+$/, "");
}

/** Returns the path of a call. One without a slash at its beginning would become a part of the host. */
function checkedPath(path) {
  if (typeof path !== "string" || !path.startsWith("/api/") || /[?#\s]/.test(path)) {
    throw new ConfigurationError("a path begins with /api/ and has no query");
  }
  return path;
}

function isUnauthenticated(error) {
  return error instanceof AuthenticationError && error.code === "unauthenticated";
}

/** Returns what the promise does, or fails with the reason of the signal when that is aborted first. */
function untilAborted(promise, signal) {
  if (signal === undefined) {
    return promise;
  }
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason);
    signal.throwIfAborted();
    signal.addEventListener("abort", aborted, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", aborted));
  });
}
