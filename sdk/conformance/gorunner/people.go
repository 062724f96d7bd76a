package main

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"

	"quittance/client"
	"quittance/client/api"
)

// peopleOperations returns the operations of people and keys.
func peopleOperations() map[string]operation {
	return map[string]operation{
		"login": of(func(ctx context.Context, c *client.Client, _ arguments) (any, error) { return c.Login(ctx) }),
		"change_password": of(func(ctx context.Context, c *client.Client, a struct {
			Password string `json:"password"`
		}) (any, error) {
			return nil, c.ChangePassword(ctx, a.Password)
		}),
		"second_factor.begin_totp": of(func(ctx context.Context, c *client.Client, _ arguments) (any,
			error) {
			return c.BeginTOTP(ctx)
		}),

		"users.update": of(func(ctx context.Context, c *client.Client, a struct {
			arguments
			Body api.UserChange `json:"body"`
		}) (any, error) {
			return c.ChangeUser(ctx, a.ID, a.Body, a.options()...)
		}),
		"invitations.create": create(withID(invite, func(made api.NewInvitation) string { return made.ID })),
		"invitations.revoke": change((*client.Client).RevokeInvitation),
		"api_keys.create": create(withID((*client.Client).CreateAPIKey,
			func(made api.NewAPIKey) string { return made.ID })),
		"api_keys.revoke": change((*client.Client).RevokeAPIKey),

		"users.list": list(func(ctx context.Context, c *client.Client, a arguments) iter.Seq2[api.User, error] {
			return c.AllUsers(ctx, a.PerPage)
		}),
		"invitations.list": list(func(ctx context.Context, c *client.Client, a arguments) iter.Seq2[api.Invitation, error] {
			return c.AllInvitations(ctx, a.PerPage)
		}),
		"api_keys.list": list(func(ctx context.Context, c *client.Client, a arguments) iter.Seq2[api.APIKey, error] {
			return c.AllAPIKeys(ctx, a.PerPage)
		}),
		"sessions.list": list(func(ctx context.Context, c *client.Client, a arguments) iter.Seq2[api.Session, error] {
			return c.AllSessions(ctx, "", a.PerPage)
		}),
		"audit.list": list(func(ctx context.Context, c *client.Client, a arguments) iter.Seq2[api.AuditEntry, error] {
			return c.AllAuditEntries(ctx, client.AuditQuery{Paging: a.page(), Act: a.Query.Act, SubjectID: a.Query.SubjectID})
		}),
	}
}

func invite(c *client.Client, ctx context.Context, body api.InvitationRequest, options ...client.CallOption) (api.NewInvitation, error) { //nolint:revive // the order of a method expression
	return c.InviteUser(ctx, *body.Email, *body.Role, options...)
}

// fileOperations returns the operations of files, and those of a recipient.
func fileOperations() map[string]operation {
	type withFile struct {
		arguments
		File string `json:"file"`
	}
	type withFormat struct {
		arguments
		Format api.ExportFormat `json:"format"`
	}
	return map[string]operation{
		"invoices.import_file": of(func(ctx context.Context, c *client.Client, a withFile) (any, error) {
			return c.ImportInvoices(ctx, []byte(a.File), a.options()...)
		}),
		"invoices.check_import": of(func(ctx context.Context, c *client.Client, a withFile) (any, error) {
			return c.CheckImport(ctx, []byte(a.File))
		}),
		"invoices.export": of(func(ctx context.Context, c *client.Client, a withFormat) (any, error) {
			file, err := c.ExportInvoices(ctx, client.InvoiceQuery{ExternalID: a.Query.ExternalID}, a.Format)
			if err != nil {
				return nil, err
			}
			text, err := io.ReadAll(file)
			return strings.TrimPrefix(string(text), "\ufeff"), errors.Join(err, file.Close())
		}),
		"recipients.lookup": of(func(ctx context.Context, c *client.Client, a struct {
			Body struct{ Scheme, ID string }
		}) (any, error) {
			return c.LookUpRecipient(ctx, a.Body.Scheme, a.Body.ID)
		}),
	}
}
