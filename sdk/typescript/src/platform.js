/** What differs between the platforms. Node.js, browsers and edge runtimes have everything else in common. */

import { ConfigurationError } from "./errors.js";

/** Reports whether this is a page, where programs cannot set User-Agent. */
export const isPage = typeof globalThis.window === "object" && typeof globalThis.document === "object";

/** Returns WebCrypto. */
export async function webCrypto() {
  if (globalThis.crypto) {
    return globalThis.crypto;
  }
  try {
    // Node.js 18 has it in a module only. The name is not a literal, so that bundlers for other platforms do not search for it.
    const name = "node:crypto";
    return (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)).webcrypto;
  } catch (cause) {
    throw new ConfigurationError("this platform has no WebCrypto", { cause });
  }
}

/** Waits, at least so many milliseconds. It fails with the reason of the signal when that is aborted. */
export function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const aborted = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }, ms);
    signal?.addEventListener("abort", aborted, { once: true });
  });
}
