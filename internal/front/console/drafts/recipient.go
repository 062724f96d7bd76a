package drafts

import (
	"errors"
	"slices"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/exchange/submission"
	"quittance/internal/front/console"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/strictjson"
)

// recipients is the API's decoder of look-ups.
var recipients = strictjson.For[api.RecipientQuery]() //nolint:gochecknoglobals // a plan of a type, read only

// recipientNote is what a form says about its recipient.
type recipientNote struct {
	// Class and Icon are those of the note, and Text is what it says.
	Class, Icon, Text string
}

// lookUpRecipient responds with what the provider says about the recipient in a form. It stores nothing.
func lookUpRecipient(req *console.Request) error {
	values, _, err := readInput(req.Words, readDraftForm(req.Form)) // a type that stands for several schemes is none yet
	if err != nil {
		return err
	}
	var query strictjson.Object
	query.AddText("scheme", values.Fields["buyer_endpoint_scheme"])
	query.AddText("id", values.Fields["recipient_network_id"])
	body, err := strictjson.Parse(query.Append(nil))
	if err != nil {
		return problem.For(api.CodeMalformedRequest).Because(err)
	}
	wanted, faults := recipients.Decode(body)
	if len(faults.With(invoice.RecipientFaults(&wanted))) > 0 {
		return respondRecipient(req, recipientOf, "incomplete")
	}
	found, err := req.Submissions.LookUpRecipient(req.R.Context(), req.Session.Tenant, *wanted.Scheme, *wanted.ID)
	accepted, own := profileNames(req.Words.Messages, found.Profiles...), req.Session.Account.Format
	switch {
	case errors.Is(err, invoices.ErrConnectionRequired):
		return respondRecipient(req, flashOf, "connection")
	case errors.Is(err, invoices.ErrNotApproved):
		return respondRecipient(req, flashOf, "not_approved")
	case errors.Is(err, submission.ErrBusy):
		return respondRecipient(req, flashOf, "busy")
	case err != nil:
		return err
	case found.Found == nil:
		return respondRecipient(req, recipientOf, "unknown")
	case !*found.Found:
		return respondRecipient(req, recipientOf, "not_found")
	case accepted == "":
		return respondRecipient(req, recipientOf, "found")
	case own != "" && !slices.Contains(found.Profiles, own):
		return respondRecipient(req, recipientOf, "other_format", profileNames(req.Words.Messages, own), accepted)
	}
	return respondRecipient(req, recipientOf, "accepts", accepted)
}

// profileNames returns the names of document formats for people. One that this version does not know keeps its code.
func profileNames(c console.Catalogue, profiles ...string) string {
	names := make([]string, len(profiles))
	for n, profile := range profiles {
		names[n] = c.TextOr("document.profile."+profile, profile)
	}
	return strings.Join(names, c.Comma())
}

// The families of the messages of a note.
const (
	recipientOf = "recipient."
	flashOf     = "flash.bad."
)

// respondRecipient responds with the note of a message.
func respondRecipient(req *console.Request, family, key string, values ...any) error {
	text, err := req.Text(family+key, values...)
	if err != nil {
		return err
	}
	note := recipientNote{Class: "warned", Icon: "warn", Text: text}
	if key == "found" || key == "accepts" {
		note.Class, note.Icon = "hint", "good"
	}
	return req.Part("draft", "recipient", note)
}
