package console

import (
	"bytes"
	"fmt"
	"strings"

	"quittance/client/api"
	"quittance/internal/exchange/submission"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// request is one HTTP request and the state of its response.
type request struct {
	*Console
	page.Request
	// words are the texts in the language of the reader.
	words *words
	// admission bounds the resources of the request.
	admission Admission
	// file is the file of a POST to a route that takes one.
	file invoices.Upload
	// session is the session of the caller; its Tenant is nil when the caller is not logged in.
	session base.Session
	// holdsLargePage reports that the request holds a slot for a large page. reserved is the memory, in bytes, that it has
	// reserved beside its body.
	holdsLargePage bool
	// logged is an internal error that the response does not show.
	logged   error
	reserved int
	// broken reports that the response is not whole.
	broken bool
}

// profile returns the profile of the seller, which some advice depends on.
func (req *request) profile() *api.Profile { return &req.session.Account.Profile }

// seller returns what the company's drafts need for submission.
func (req *request) seller() view.Seller {
	return view.SellerOf(&req.session.Account, submission.Unsupported(&req.session.Account))
}

// frame completes the layout of a page with what the reader may see.
func (req *request) frame(status int, layout *page.Layout) {
	layout.Company, layout.LoggedIn = req.session.Account.Company, req.session.Tenant != nil &&
		!req.session.PasswordChangeRequired && !req.session.FactorRequired
	layout.Role, layout.Path = string(req.session.Role), req.pagePath(status)
	layout.Sections = sectionsFor(req.session.Permissions)
}

// hold reserves the memory of a response, which is rendered, while its reader is slow.
func (req *request) hold(bytes int) error {
	req.releaseLargePage()
	return req.reserve(bytes)
}

// attachment responds with bytes that others wrote. The browser stores them and never shows them in this origin. The
// caller reserved memory for them before reading them.
func (req *request) attachment(name string, body []byte) error {
	return req.Attach(fmt.Sprintf(`attachment; filename="%s"`, strings.Map(safeFileNameRune, name)),
		"application/octet-stream", int64(len(body)), bytes.NewReader(body))
}

// sendFile sends an attachment of a document, with a media type that the browser does not render as a page.
func (req *request) sendFile(file *view.Attachment) error {
	return req.Attach(file.Disposition(), file.MediaType, file.Size, file.Content)
}

// safeFileNameRune keeps the characters that every system allows in a file name and replaces the others.
func safeFileNameRune(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '.' || r == '_' {
		return r
	}
	return '_'
}
