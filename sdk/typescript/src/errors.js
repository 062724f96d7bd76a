/** The errors of the SDK. None of them contains a key, a password or a token. index.d.ts documents each class. */

export class QuittanceError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

export class ConfigurationError extends QuittanceError {}

export class TransportError extends QuittanceError {}

export class RequestTimeoutError extends TransportError {}

/** The error of a response. facts are those of transport.js. */
class ResponseError extends QuittanceError {
  constructor(message, facts, options) {
    super(message, options);
    this.operation = facts.operation;
    this.status = facts.status;
    this.requestId = facts.requestId;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

export class UnreadableResponseError extends ResponseError {
  constructor(message, facts, { tooLarge = false, ...options } = {}) {
    super(message, facts, options);
    this.tooLarge = tooLarge;
  }
}

export class APIError extends ResponseError {
  constructor(error, facts) {
    super(error.message ?? error.code, facts);
    this.code = error.code;
    this.details = error.details ?? {};
  }
}

export class BadRequestError extends APIError {}
export class AuthenticationError extends APIError {}
export class PermissionDeniedError extends APIError {}
export class NotFoundError extends APIError {}
export class ConflictError extends APIError {}
export class PreconditionFailedError extends APIError {}
export class ValidationError extends APIError {}
export class RateLimitError extends APIError {}
export class ServerError extends APIError {}

export class SecretLostError extends QuittanceError {
  constructor(subscription) {
    super(`The subscription ${subscription.id} exists, but the response with its secret was lost. Deactivate it and create another one.`);
    this.subscription = subscription;
  }
}

export class KeyLostError extends QuittanceError {
  constructor(apiKey) {
    super(`The API key ${apiKey.id} exists, but the response with the key itself was lost. Revoke it and create another one.`);
    this.apiKey = apiKey;
  }
}

export class LinkLostError extends QuittanceError {
  constructor(invitation) {
    super(`The invitation ${invitation.id} exists, but the response with its link was lost. Invite the person again.`);
    this.invitation = invitation;
  }
}

export class DraftAgainError extends QuittanceError {
  constructor(invoice) {
    super(`The invoice ${invoice.id} is a draft again: the provider certainly did not accept it.`);
    this.invoice = invoice;
  }
}

export class WebhookVerificationError extends QuittanceError {
  constructor(reason, message, options) {
    super(message, options);
    this.reason = reason;
  }
}

const classes = {
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  412: PreconditionFailedError,
  422: ValidationError,
  429: RateLimitError,
};

/** Returns the error for the error object of a response. */
export function apiError(error, facts) {
  const Class = classes[facts.status] ?? (facts.status >= 500 ? ServerError : BadRequestError);
  return new Class(error, facts);
}
