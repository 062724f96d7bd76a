package client

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"

	"quittance/client/api"
)

const (
	clientPath   = "/api/v1/client"
	webhooksPath = "/api/v1/webhooks"
)

// ErrSecretLost means that a webhook subscription or an API key exists, but the only response with its secret did not
// arrive. Deactivate the subscription, or revoke the key, that is returned with the error, and create another one with
// another Idempotency-Key.
var ErrSecretLost = errors.New("client: the response with the secret was lost")

// ErrLinkLost means that an invitation exists, but the only response with its link did not arrive. Invite the person
// again with another key, which replaces the invitation.
var ErrLinkLost = errors.New("client: the response with the link of the invitation was lost")

// path appends escaped segments to a path.
func path(fixed string, segments ...string) string {
	for _, segment := range segments {
		fixed += "/" + url.PathEscape(segment)
	}
	return fixed
}

func invoicePath(id string, more ...string) string {
	return path(path(clientPath+"/invoices", id), more...)
}

func creditNotePath(id string) string { return path(clientPath+"/credit-notes", id) }

func incomingPath(id string, more ...string) string {
	return path(path(clientPath+"/incoming-invoices", id), more...)
}

func subscriptionPath(id string) string { return path(webhooksPath+"/subscriptions", id) }

func customerPath(id string) string { return path(clientPath+"/customers", id) }

func itemPath(id string) string { return path(clientPath+"/items", id) }

func deliveryPath(id string) string { return path(webhooksPath+"/deliveries", id) }

// Account returns the company that the user belongs to, its profile and its provider connection.
func (c *Client) Account(ctx context.Context) (api.Account, error) {
	return callOne[api.Account](ctx, c, get(clientPath+"/account", nil))
}

// SecondFactor returns the state of the user's second factor.
func (c *Client) SecondFactor(ctx context.Context) (api.SecondFactor, error) {
	return callOne[api.SecondFactor](ctx, c, get(clientPath+"/auth/second-factor", nil))
}

// BeginTOTP makes the secret of an authenticator app, which replaces nothing until [Client.ConfirmTOTP].
func (c *Client) BeginTOTP(ctx context.Context) (api.TOTPEnrollment, error) {
	return callOne[api.TOTPEnrollment](ctx, c, request{method: http.MethodPost, path: clientPath + "/auth/totp",
		withoutKey: true})
}

// ConfirmTOTP makes the authenticator app that shows code the user's second factor, and returns the recovery codes,
// which no other call returns. otp is a code of the present second factor, or empty if there is none, which needs the
// password. Set [Config.OTP] for later logins.
func (c *Client) ConfirmTOTP(ctx context.Context, code, otp string) (api.RecoveryCodes, error) {
	body := api.TOTPConfirmation{Code: &code}
	if otp != "" {
		body.OTP = &otp
	} else {
		body.CurrentPassword = new(c.currentPassword())
	}
	return callOne[api.RecoveryCodes](ctx, c, request{method: http.MethodPost, path: clientPath + "/auth/totp/confirm",
		withoutKey: true, body: body})
}

// DisableTOTP removes the user's second factor, and ends the user's other sessions.
func (c *Client) DisableTOTP(ctx context.Context, otp string) (api.SecondFactorDisabled, error) {
	return callOne[api.SecondFactorDisabled](ctx, c,
		request{method: http.MethodPost, path: clientPath + "/auth/totp/disable", withoutKey: true,
			body: api.BothFactors{CurrentPassword: new(c.currentPassword()), OTP: &otp}})
}

// ReplaceRecoveryCodes replaces the user's recovery codes and returns the new ones, which no other call returns.
func (c *Client) ReplaceRecoveryCodes(ctx context.Context, otp string) (api.RecoveryCodes, error) {
	return callOne[api.RecoveryCodes](ctx, c, request{method: http.MethodPost,
		path: clientPath + "/auth/totp/recovery-codes", withoutKey: true,
		body: api.BothFactors{CurrentPassword: new(c.currentPassword()), OTP: &otp}})
}

// RemoveUser removes a colleague, or the caller. The last active owner cannot be removed.
func (c *Client) RemoveUser(ctx context.Context, id string) (api.User, error) {
	return callOne[api.User](ctx, c, request{method: http.MethodDelete, path: path(clientPath+"/users", id)})
}

// ChangeAddress changes the e-mail address of the caller; otp is a code of the second factor, if there is one. The new
// address is unproved until the link that is mailed to it was used. Later logins of the client need the new address:
// make another client with it.
func (c *Client) ChangeAddress(ctx context.Context, email, otp string) (api.User, error) {
	body := api.AddressRequest{Email: &email, CurrentPassword: new(c.currentPassword())}
	if otp != "" {
		body.OTP = &otp
	}
	return callOne[api.User](ctx, c, request{method: http.MethodPost, path: clientPath + "/auth/address", withoutKey: true,
		body: body})
}

// RequestAddressProof asks for an e-mail with a link that proves the address of the caller.
func (c *Client) RequestAddressProof(ctx context.Context) (api.AddressProofRequested, error) {
	return callOne[api.AddressProofRequested](ctx, c,
		request{method: http.MethodPost, path: clientPath + "/auth/address/proof", withoutKey: true})
}

// ProveAddress proves the address of the caller with the code of the link in that e-mail.
func (c *Client) ProveAddress(ctx context.Context, code string) (api.User, error) {
	return callOne[api.User](ctx, c, request{method: http.MethodPost, path: clientPath + "/auth/address/confirm",
		withoutKey: true, body: api.AddressProofRequest{Code: &code}})
}

// ResetSecondFactor removes the second factor of a colleague who cannot use it any more, and ends all sessions of the
// colleague.
func (c *Client) ResetSecondFactor(ctx context.Context, user string, options ...CallOption) (api.User, error) {
	return callOne[api.User](ctx, c, post(path(clientPath+"/users", user)+"/second-factor/reset", nil), options...)
}

// Sessions returns one page of the user's sessions that have not ended, the last begun first. An owner gets those of a
// colleague with the identifier user; an empty one is the caller.
func (c *Client) Sessions(ctx context.Context, user string, page Paging) (api.List[api.Session], error) {
	return callList[api.Session](ctx, c, get(clientPath+"/sessions", page.values(map[string]string{"user_id": user})))
}

// EndSession ends a session at once. If it is the client's own, the next call logs in again.
func (c *Client) EndSession(ctx context.Context, id string, options ...CallOption) (api.Session, error) {
	return callOne[api.Session](ctx, c, post(path(clientPath+"/sessions", id)+"/end", nil), options...)
}

// EndOtherSessions ends all sessions of the user but that of the client, and returns how many there were.
func (c *Client) EndOtherSessions(ctx context.Context, options ...CallOption) (int, error) {
	ended, err := callOne[api.SessionsEnded](ctx, c, post(clientPath+"/sessions/end-others", nil), options...)
	return ended.Ended, err
}

// CreateAPIKey creates the credential of a machine. Only this response has the key: store it. If an earlier attempt or
// call with the same Idempotency-Key has created it, it is returned with [ErrSecretLost]. Users create API keys; no API
// key can.
func (c *Client) CreateAPIKey(ctx context.Context, key api.APIKeyRequest,
	options ...CallOption) (api.NewAPIKey, error) {
	created, err := callOne[api.NewAPIKey](ctx, c, post(clientPath+"/api-keys", key), options...)
	if err == nil && created.Key == "" {
		err = ErrSecretLost
	}
	return created, err
}

// APIKeys returns one page of the API keys, newest first, including those that were revoked or have expired.
func (c *Client) APIKeys(ctx context.Context, page Paging) (api.List[api.APIKey], error) {
	return callList[api.APIKey](ctx, c, get(clientPath+"/api-keys", page.values(nil)))
}

// RevokeAPIKey revokes an API key at once and for good.
func (c *Client) RevokeAPIKey(ctx context.Context, id string, options ...CallOption) (api.APIKey, error) {
	return callOne[api.APIKey](ctx, c, post(path(clientPath+"/api-keys", id)+"/revoke", nil), options...)
}

// Users returns one page of the company's users, oldest first.
func (c *Client) Users(ctx context.Context, page Paging) (api.List[api.User], error) {
	return callList[api.User](ctx, c, get(clientPath+"/users", page.values(nil)))
}

// ChangeUser changes the role of a user, or disables or enables one. The last active owner cannot be changed.
func (c *Client) ChangeUser(ctx context.Context, id string, change api.UserChange,
	options ...CallOption) (api.User, error) {
	return callOne[api.User](ctx, c, request{method: http.MethodPatch, path: path(clientPath+"/users", id), body: change},
		options...)
}

// InviteUser invites a person. Only this response has the link: send it to the person. If an earlier attempt or call
// with the same key has made the invitation, it is returned with [ErrLinkLost].
func (c *Client) InviteUser(ctx context.Context, email string, role api.Role,
	options ...CallOption) (api.NewInvitation, error) {
	made, err := callOne[api.NewInvitation](ctx, c,
		post(clientPath+"/users/invitations", api.InvitationRequest{Email: &email, Role: &role}), options...)
	if err == nil && made.URL == "" {
		err = ErrLinkLost
	}
	return made, err
}

// Invitations returns one page of the invitations that were not used yet, newest first.
func (c *Client) Invitations(ctx context.Context, page Paging) (api.List[api.Invitation], error) {
	return callList[api.Invitation](ctx, c, get(clientPath+"/users/invitations", page.values(nil)))
}

// RevokeInvitation ends an invitation.
func (c *Client) RevokeInvitation(ctx context.Context, id string, options ...CallOption) (api.Invitation, error) {
	return callOne[api.Invitation](ctx, c, post(path(clientPath+"/users/invitations", id, "revoke"), nil), options...)
}

// AuditLog returns one page of the audit log of the company, newest first. Only owners read it.
func (c *Client) AuditLog(ctx context.Context, query AuditQuery) (api.List[api.AuditEntry], error) {
	return callList[api.AuditEntry](ctx, c, get(clientPath+"/audit", query.values()))
}

// CreateInvoice stores a draft. Nothing is sent to the provider. The call has an Idempotency-Key, a random one
// unless you pass your own, so that it creates one invoice even if it is sent several times.
func (c *Client) CreateInvoice(ctx context.Context, draft api.Draft, options ...CallOption) (api.Invoice, error) {
	return callOne[api.Invoice](ctx, c, post(clientPath+"/invoices", draft), options...)
}

// ImportInvoices creates the drafts of a CSV or XLSX file, all or none. A file with faults gives an error with
// [api.CodeValidationFailed], whose details name row and column. The call has an Idempotency-Key, as
// [Client.CreateInvoice].
func (c *Client) ImportInvoices(ctx context.Context, file []byte, options ...CallOption) (api.Import, error) {
	return callOne[api.Import](ctx, c, importRequest(file, nil), options...)
}

// CheckImport reads a file as [Client.ImportInvoices] does and stores nothing. The result lists the faults.
func (c *Client) CheckImport(ctx context.Context, file []byte, options ...CallOption) (api.Import, error) {
	r := importRequest(file, url.Values{"dry_run": {"true"}})
	r.repeatable = true
	return callOne[api.Import](ctx, c, r, options...)
}

// Sheet makes [Client.ImportInvoices] and [Client.CheckImport] read a worksheet of an XLSX file by its name, instead of
// the first one.
func Sheet(name string) CallOption {
	return func(r *request) {
		query := url.Values{"sheet": {name}}
		maps.Copy(query, r.query)
		r.query = query
	}
}

func importRequest(file []byte, query url.Values) request {
	mediaType := "text/csv"
	if bytes.HasPrefix(file, []byte("PK")) { // an XLSX file is a ZIP archive
		mediaType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	}
	return request{method: http.MethodPost, path: clientPath + "/invoices/import", query: query, file: file,
		fileType: mediaType}
}

// Preflight checks a draft as [Client.CreateInvoice] does and stores nothing.
func (c *Client) Preflight(ctx context.Context, draft api.Draft) (api.Preflight, error) {
	return callOne[api.Preflight](ctx, c, request{method: http.MethodPost, path: clientPath + "/invoices/preflight",
		body: draft, repeatable: true})
}

// PreflightFor is [Client.Preflight] for a document format, such as pint-ae: it also returns what that format needs.
func (c *Client) PreflightFor(ctx context.Context, draft api.Draft, profile string) (api.Preflight, error) {
	return callOne[api.Preflight](ctx, c, request{method: http.MethodPost, path: clientPath + "/invoices/preflight",
		query: profileQuery(profile), body: draft, repeatable: true})
}

// LookUpRecipient asks the provider whether the buyer with an electronic address can receive documents. The answer is
// advice; Found is nil if the provider cannot say. The call waits for the provider, up to 20 seconds.
func (c *Client) LookUpRecipient(ctx context.Context, scheme, id string) (api.RecipientLookup, error) {
	return callOne[api.RecipientLookup](ctx, c, request{method: http.MethodPost, path: clientPath + "/recipients/lookup",
		body: api.RecipientQuery{Scheme: &scheme, ID: &id}, repeatable: true})
}

// InvoiceDocument returns an invoice as an XML document (UBL 2.1) in a document format, pint-ae or bis3. An invoice
// that lacks something that the format needs gives an error with [api.CodeInvoiceIncomplete].
func (c *Client) InvoiceDocument(ctx context.Context, id, profile string) ([]byte, error) {
	return c.file(ctx, get(invoicePath(id, "document"), profileQuery(profile)))
}

// CreditNoteDocument is [Client.InvoiceDocument] for a credit note.
func (c *Client) CreditNoteDocument(ctx context.Context, id, profile string) ([]byte, error) {
	return c.file(ctx, get(creditNotePath(id)+"/document", profileQuery(profile)))
}

// InvoicePDF returns an invoice as pages for people, a PDF/A-3 file. In a document format, which is profile or else
// that of the company's connection, the XML document is attached, and an invoice that lacks something gives an error
// with [api.CodeInvoiceIncomplete]. An empty profile names none.
func (c *Client) InvoicePDF(ctx context.Context, id, profile string) ([]byte, error) {
	return c.file(ctx, get(invoicePath(id, "document.pdf"), optionalProfile(profile)))
}

// CreditNotePDF is [Client.InvoicePDF] for a credit note.
func (c *Client) CreditNotePDF(ctx context.Context, id, profile string) ([]byte, error) {
	return c.file(ctx, get(creditNotePath(id)+"/document.pdf", optionalProfile(profile)))
}

// optionalProfile is the query of a document format, which may be empty.
func optionalProfile(profile string) url.Values {
	if profile == "" {
		return nil
	}
	return profileQuery(profile)
}

func profileQuery(profile string) url.Values { return url.Values{"profile": {profile}} }

// file returns the bytes of a response that is a file.
func (c *Client) file(ctx context.Context, r request) ([]byte, error) {
	a, err := c.send(ctx, &r)
	return a.body, err
}

// Invoices returns one page of the invoices, newest first unless the query has another order, each without its items.
func (c *Client) Invoices(ctx context.Context, query InvoiceQuery) (api.List[api.InvoiceSummary], error) {
	return callList[api.InvoiceSummary](ctx, c, get(clientPath+"/invoices", query.values()))
}

// Invoice returns the current state of an invoice.
func (c *Client) Invoice(ctx context.Context, id string) (api.Invoice, error) {
	return callOne[api.Invoice](ctx, c, get(invoicePath(id), nil))
}

// PatchInvoice changes a draft, or an invoice that the provider has rejected, which is then a draft again. The patch is
// a JSON merge patch (RFC 7396): nil removes a field, and items are replaced as a whole.
func (c *Client) PatchInvoice(ctx context.Context, id string, patch map[string]any,
	options ...CallOption) (api.Invoice, error) {
	return callOne[api.Invoice](ctx, c, request{method: http.MethodPatch, path: invoicePath(id), body: patch}, options...)
}

// DeleteInvoice deletes a draft permanently. The error has the code not_found if the draft is already deleted, which
// can be the effect of an earlier attempt of the same call whose response was lost.
func (c *Client) DeleteInvoice(ctx context.Context, id string) (api.Deleted, error) {
	return callOne[api.Deleted](ctx, c, request{method: http.MethodDelete, path: invoicePath(id), repeatable: true})
}

// Submit submits a complete draft once; a repeated call returns the recorded result. The result is Submission.Outcome
// of the invoice. [api.OutcomeUnknown] and [api.OutcomeInProgress] are not errors: the service does not know yet
// whether the provider has the document, and keeps asking.
//
// If an attempt is interrupted while the service is still submitting, the next one fails with submission_in_progress:
// read the invoice, or use [Client.SubmitAndWait].
func (c *Client) Submit(ctx context.Context, id string) (api.Invoice, error) {
	return callOne[api.Invoice](ctx, c, request{method: http.MethodPost, path: invoicePath(id, "submit"),
		repeatable: true})
}

// Submissions returns one page of all submissions of an invoice.
func (c *Client) Submissions(ctx context.Context, invoiceID string,
	page Paging) (api.List[api.SubmissionRecord], error) {
	return callList[api.SubmissionRecord](ctx, c, get(invoicePath(invoiceID, "submissions"), page.values(nil)))
}

// Evidence returns one page of the provider responses about an invoice.
func (c *Client) Evidence(ctx context.Context, invoiceID string, page Paging) (api.List[api.Evidence], error) {
	return callList[api.Evidence](ctx, c, get(invoicePath(invoiceID, "evidence"), page.values(nil)))
}

// EvidenceBody returns the bytes of one entry of the evidence.
func (c *Client) EvidenceBody(ctx context.Context, evidenceID string) (api.RetainedBody, error) {
	return callOne[api.RetainedBody](ctx, c, get(path(clientPath+"/evidence", evidenceID), nil))
}

// CreateCreditNote stores a credit note for an invoice as a draft.
func (c *Client) CreateCreditNote(ctx context.Context, note api.CreditNoteRequest,
	options ...CallOption) (api.CreditNote, error) {
	return callOne[api.CreditNote](ctx, c, post(clientPath+"/credit-notes", note), options...)
}

// CreditNotes returns one page of the credit notes, newest first, the void ones included, each without its items.
func (c *Client) CreditNotes(ctx context.Context, query CreditNoteQuery) (api.List[api.CreditNoteSummary], error) {
	return callList[api.CreditNoteSummary](ctx, c, get(clientPath+"/credit-notes", query.values()))
}

// CreditNote returns a credit note.
func (c *Client) CreditNote(ctx context.Context, id string) (api.CreditNote, error) {
	return callOne[api.CreditNote](ctx, c, get(creditNotePath(id), nil))
}

// PatchCreditNote changes the issue_date, reason and reason_code of a credit note. The patch is a JSON merge patch (RFC
// 7396): nil removes reason_code.
func (c *Client) PatchCreditNote(ctx context.Context, id string, patch map[string]any,
	options ...CallOption) (api.CreditNote, error) {
	return callOne[api.CreditNote](ctx, c, request{method: http.MethodPatch, path: creditNotePath(id), body: patch},
		options...)
}

// VoidCreditNote voids a credit note, so that another one can credit its amount.
func (c *Client) VoidCreditNote(ctx context.Context, id string, options ...CallOption) (api.CreditNote, error) {
	return callOne[api.CreditNote](ctx, c, post(creditNotePath(id)+"/void", nil), options...)
}

// SubmitCreditNote submits a credit note once, like [Client.Submit]. The error has the code
// credit_note_submission_disabled if the provider connection of the company does not submit credit notes.
func (c *Client) SubmitCreditNote(ctx context.Context, id string) (api.CreditNote, error) {
	return callOne[api.CreditNote](ctx, c, request{method: http.MethodPost, path: creditNotePath(id) + "/submit",
		repeatable: true})
}

// CreditNoteSubmissions returns one page of all submissions of a credit note.
func (c *Client) CreditNoteSubmissions(ctx context.Context, id string,
	page Paging) (api.List[api.SubmissionRecord], error) {
	return callList[api.SubmissionRecord](ctx, c, get(creditNotePath(id)+"/submissions", page.values(nil)))
}

// CreditNoteEvidence returns one page of the provider responses about a credit note.
func (c *Client) CreditNoteEvidence(ctx context.Context, id string, page Paging) (api.List[api.Evidence], error) {
	return callList[api.Evidence](ctx, c, get(creditNotePath(id)+"/evidence", page.values(nil)))
}
