package api

// Code is the stable code of an error response.
type Code string

// The error codes of the API. The server's table maps each to its HTTP status.
const (
	CodeMalformedRequest             Code = "malformed_request"
	CodeOTPRequired                  Code = "otp_required"
	CodeInvalidCredentials           Code = "invalid_credentials"
	CodeUnauthenticated              Code = "unauthenticated"
	CodeAccountSuspended             Code = "account_suspended"
	CodeSingleSignOnRequired         Code = "single_sign_on_required"
	CodeSecondFactorRequired         Code = "second_factor_required"
	CodeForbidden                    Code = "forbidden"
	CodeNotFound                     Code = "not_found"
	CodeMethodNotAllowed             Code = "method_not_allowed"
	CodeProviderConnectionRequired   Code = "provider_connection_required"
	CodeProductionNotApproved        Code = "production_not_approved"
	CodeDuplicateInvoiceNumber       Code = "duplicate_invoice_number"
	CodeInvoiceNotEditable           Code = "invoice_not_editable"
	CodeSubmissionInProgress         Code = "submission_in_progress"
	CodeCreditNoteSubmissionDisabled Code = "credit_note_submission_disabled"
	CodeInvoiceNotAcknowledged       Code = "invoice_not_acknowledged"
	CodeCreditNoteNotEditable        Code = "credit_note_not_editable"
	CodeDuplicateCreditNoteNumber    Code = "duplicate_credit_note_number"
	CodeSubscriptionInactive         Code = "subscription_inactive"
	CodeLimitReached                 Code = "limit_reached"
	CodeIdempotencyKeyReused         Code = "idempotency_key_reused"
	CodePreconditionFailed           Code = "precondition_failed"
	CodePayloadTooLarge              Code = "payload_too_large"
	CodeUnsupportedMediaType         Code = "unsupported_media_type"
	CodeValidationFailed             Code = "validation_failed"
	CodeInvoiceIncomplete            Code = "invoice_incomplete"
	CodeDocumentUnreadable           Code = "document_unreadable"
	CodeTooManyRows                  Code = "too_many_rows"
	CodeUnsafeDestination            Code = "unsafe_destination"
	CodeRateLimited                  Code = "rate_limited"
	CodeProviderError                Code = "provider_error"
	CodeInternal                     Code = "internal"
	CodeUnavailable                  Code = "unavailable"
)
