/**
 * Calls: a call has its effect at most once, whatever fails. Only calls whose repetition the service recognises are sent twice: reads,
 * deletions, logins, submissions, and changes with an idempotency key. A call is {method, path, query, body, contentType,
 * file, maxBytes, repeatable, withoutKey}; key and bytes are the same in every attempt.
 */

import { APIError, apiError, ConfigurationError, RequestTimeoutError, TransportError, UnreadableResponseError } from "./errors.js";
import { parse, stringify } from "./json.js";
import { isPage, sleep, webCrypto } from "./platform.js";

const retryFirstMs = 200;
const retryMaxMs = 5_000;
const maxRetryAfterMs = 60_000;
const maxResponseBytes = 16 << 20;
const retriedStatuses = new Set([429, 502, 503, 504]);

export class Transport {
  constructor({ base, fetch, userAgent, timeoutMs, maxRetries }) {
    Object.assign(this, { base, fetch, userAgent, timeoutMs, maxRetries });
  }

  /** Makes a call. token is undefined for a public one. It returns the content of the response: {data, pagination}, or bytes of a file. */
  async call(call, token) {
    for (let retries = 0; ; retries++) {
      try {
        return await this.#attempt(call, token);
      } catch (error) {
        const wait = retries < this.maxRetries ? retryDelay(call, retries, error) : undefined;
        if (wait === undefined) {
          throw error;
        }
        await sleep(wait, call.signal);
      }
    }
  }

  /** Sends a call once and reads the response. The time-out covers both. */
  async #attempt(call, token) {
    call.signal?.throwIfAborted();
    const ended = new AbortController();
    const timer = setTimeout(() => ended.abort(), call.timeoutMs ?? this.timeoutMs);
    const aborted = () => ended.abort();
    call.signal?.addEventListener("abort", aborted, { once: true });
    const operation = `${call.method} ${call.path}`;
    try {
      const response = await this.fetch(this.base + call.path + queryText(call.query), {
        method: call.method,
        headers: this.#headers(call, token),
        body: call.bytes,
        redirect: "manual", // following one would send the credential to another address
        signal: ended.signal,
      });
      return await content(response, call, operation);
    } catch (cause) {
      if (cause instanceof APIError || cause instanceof UnreadableResponseError) {
        throw cause;
      }
      call.signal?.throwIfAborted();
      if (ended.signal.aborted) {
        throw new RequestTimeoutError(`${operation}: no response in time`, { cause });
      }
      throw new TransportError(`${operation}: no response`, { cause });
    } finally {
      clearTimeout(timer);
      call.signal?.removeEventListener("abort", aborted);
    }
  }

  #headers(call, token) {
    const headers = { Accept: call.file ? "*/*" : "application/json" };
    if (call.bytes !== undefined) {
      headers["Content-Type"] = call.contentType ?? "application/json";
    }
    if (!isPage) {
      headers["User-Agent"] = this.userAgent;
    }
    if (call.key !== undefined) {
      headers["Idempotency-Key"] = call.key;
    }
    if (token !== undefined) {
      headers.Authorization = `Bearer ${token}`;
    }
    return headers;
  }
}

/** Returns the call with its bytes and its key, which are the same in all attempts. */
export async function prepare(call, { idempotencyKey, signal, timeoutMs } = {}) {
  const prepared = { ...call, signal, timeoutMs };
  if (call.body !== undefined) {
    prepared.bytes = call.contentType === undefined ? stringify(call.body) : call.body;
  }
  if (call.repeatable || call.withoutKey) {
    return prepared;
  }
  prepared.key = idempotencyKey ?? (await randomKey());
  prepared.repeatable = true;
  if (typeof prepared.key !== "string" || !/^[!-~]{1,255}$/.test(prepared.key)) {
    throw new ConfigurationError("an idempotency key has 1 to 255 visible ASCII characters");
  }
  return prepared;
}

async function randomKey() {
  const bytes = (await webCrypto()).getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns how long to wait before another attempt, in milliseconds, or undefined if there is none. */
function retryDelay(call, retries, error) {
  const wait = Math.min(retryFirstMs * 2 ** retries, retryMaxMs) * (0.5 + Math.random());
  if (!call.repeatable) {
    return undefined;
  }
  if (error instanceof TransportError) {
    return wait; // the request may have arrived
  }
  if (!retriedStatuses.has(error.status) || error.retryAfterMs > maxRetryAfterMs) {
    return undefined;
  }
  return Math.max(wait, error.retryAfterMs);
}

function queryText(query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) {
      parameters.append(name, value instanceof Date ? value.toISOString() : String(value));
    }
  }
  const text = parameters.toString();
  return text && `?${text}`;
}

/** Returns the content of a successful response, and throws the error of any other. */
async function content(response, call, operation) {
  const facts = {
    operation,
    status: response.status,
    requestId: response.headers.get("X-Request-Id") ?? "",
    retryAfterMs: parseRetryAfter(response.headers.get("Retry-After"), Date.now()),
  };
  const bytes = await readAll(response, call.maxBytes ?? maxResponseBytes, facts);
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status <= 399)) {
    throw new UnreadableResponseError("redirects are not followed", facts);
  }
  if (response.ok && call.file) {
    return bytes;
  }
  let body;
  try {
    body = parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (cause) {
    throw new UnreadableResponseError("the response is not one of this API", facts, { cause });
  }
  if (response.ok && body?.data !== undefined && body.data !== null) {
    return body;
  }
  if (!response.ok && typeof body?.error?.code === "string" && body.error.code !== "") {
    throw apiError(body.error, facts);
  }
  throw new UnreadableResponseError("the response is not one of this API", facts);
}

async function readAll(response, maxBytes, facts) {
  const chunks = [];
  let size = 0;
  const reader = response.body?.getReader();
  while (reader) {
    const { done, value } = await reader.read();
    if (done) {
      break;
    }
    size += value.length;
    if (size > maxBytes) {
      await reader.cancel();
      throw new UnreadableResponseError("the response is too large; ask for fewer entries per page", facts, { tooLarge: true });
    }
    chunks.push(value);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

/**
 * Parses a Retry-After header: whole seconds, or a date that is compared with now (RFC 9110, section 10.2.3). It returns milliseconds,
 * 0 for a date in the past and for an absent or invalid value.
 */
export function parseRetryAfter(value, now) {
  if (value === null) {
    return 0;
  }
  if (/^[0-9]+$/.test(value)) {
    return Math.min(Number(value) * 1000, Number.MAX_SAFE_INTEGER);
  }
  const at = /^[A-Z][a-z]+, /.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? 0 : Math.max(at - now, 0);
}
