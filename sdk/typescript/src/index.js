/** The TypeScript SDK of Quittance. index.d.ts has the types and the documentation. */

export { Quittance } from "./client.js";
export { isFinal } from "./documents.js";
export {
  APIError,
  AuthenticationError,
  BadRequestError,
  ConfigurationError,
  ConflictError,
  DraftAgainError,
  KeyLostError,
  LinkLostError,
  NotFoundError,
  PermissionDeniedError,
  PreconditionFailedError,
  QuittanceError,
  RateLimitError,
  RequestTimeoutError,
  SecretLostError,
  ServerError,
  TransportError,
  UnreadableResponseError,
  ValidationError,
  WebhookVerificationError,
} from "./errors.js";
export { once, signWebhook, verifyWebhook } from "./webhooks.js";
