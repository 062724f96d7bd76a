package main

import (
	"errors"
	"net"

	"quittance/client"
	"quittance/client/api"
	"quittance/client/receiver"
)

// errUnsupported says that this runner does not know an operation.
var errUnsupported = errors.New("unsupported operation")

// configurationError is an error of [client.New].
type configurationError struct{ error }

// subjectError is an error with the identifier of what is returned beside it.
type subjectError struct {
	error
	id string
}

func (e subjectError) Unwrap() error { return e.error }

// failure describes an error in the words of the suite.
type failure struct {
	Type         string         `json:"type"`
	Status       int            `json:"status,omitempty"`
	Code         api.Code       `json:"code,omitempty"`
	Message      string         `json:"message,omitempty"`
	Details      map[string]any `json:"details,omitempty"`
	RequestID    string         `json:"request_id,omitempty"`
	RetryAfterMS int64          `json:"retry_after_ms,omitempty"`
	Reason       string         `json:"reason,omitempty"`
	ID           string         `json:"id,omitempty"`
}

// describe returns the description of an error.
func describe(err error) *failure {
	f := &failure{Type: kind(err), Message: err.Error(), Reason: reason(err)}
	if f.Reason != "" {
		f.Type = "webhook"
	}
	if subject, ok := errors.AsType[subjectError](err); ok {
		f.ID = subject.id
	}
	if response, ok := errors.AsType[*client.ResponseError](err); ok {
		f.Status, f.RequestID, f.RetryAfterMS = response.Status, response.RequestID, response.RetryAfter.Milliseconds()
		if response.Err != nil {
			f.Type, f.Code, f.Message, f.Details = statusKind(response.Status), response.Err.Code, response.Err.Message,
				response.Err.Details
		}
	}
	return f
}

// kind returns the type of an error that is not one of the service.
func kind(err error) string {
	_, wrong := errors.AsType[configurationError](err)
	switch failed, isNet := errors.AsType[net.Error](err); {
	case wrong, errors.Is(err, client.ErrIdempotencyKey), errors.Is(err, client.ErrAPIKey):
		return "configuration"
	case errors.Is(err, errUnsupported):
		return "unsupported"
	case errors.Is(err, client.ErrSecretLost):
		return "secret_lost"
	case errors.Is(err, client.ErrLinkLost):
		return "link_lost"
	case errors.Is(err, client.ErrDraftAgain):
		return "draft_again"
	case errors.Is(err, client.ErrUnreadable), errors.Is(err, client.ErrTooLarge):
		return "unreadable"
	case isNet && failed.Timeout():
		return "timeout"
	default:
		return "connection"
	}
}

// statusKind returns the type of an error of the service.
func statusKind(status int) string {
	kinds := map[int]string{401: "authentication", 403: "permission", 404: "not_found", 409: "conflict",
		412: "precondition_failed", 422: "validation", 429: "rate_limit"}
	switch kind, found := kinds[status]; {
	case found:
		return kind
	case status >= 500:
		return "server"
	default:
		return "bad_request"
	}
}

// reason returns why a callback could not be verified, or "" for another error.
func reason(err error) string {
	for word, cause := range map[string]error{"no_secret": receiver.ErrNoSecret, "signature": receiver.ErrSignature,
		"timestamp": receiver.ErrTimestamp, "body": receiver.ErrBody, "mismatch": receiver.ErrMismatch} {
		if errors.Is(err, cause) {
			return word
		}
	}
	return ""
}
