package console

import (
	"bytes"
	"fmt"
	"net/http"
	"path"
	"strings"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
	"quittance/internal/exchange/submission"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// Request is one HTTP request and the state of its response.
type Request struct {
	*Console
	page.Request
	// Words are the texts in the language of the reader.
	Words *Words
	// Admission bounds the resources of the request.
	Admission Admission
	// File is the file of a POST to a route that takes one.
	File invoices.Upload
	// Session is the session of the caller; its Tenant is nil when the caller is not logged in.
	Session base.Session
	// holdsLargePage reports that the request holds a slot for a large page. reserved is the memory, in bytes, that it has
	// reserved beside its body.
	holdsLargePage bool
	// Logged is an internal error that the response does not show.
	Logged   error
	reserved int
	// broken reports that the response is not whole.
	broken bool
}

// Profile returns the profile of the seller, which some advice depends on.
func (req *Request) Profile() *api.Profile { return &req.Session.Account.Profile }

// Seller returns what the company's drafts need for submission.
func (req *Request) Seller() view.Seller {
	return view.SellerOf(&req.Session.Account, submission.Unsupported(&req.Session.Account))
}

// Arithmetic returns how the format of the company's connection computes amounts.
func (req *Request) Arithmetic() invoice.Arithmetic {
	return document.Profile(req.Session.Account.Format).Arithmetic()
}

// frame completes the layout of a page with what the reader may see.
func (req *Request) frame(status int, layout *page.Layout) {
	layout.Company, layout.LoggedIn = req.Session.Account.Company, req.Session.Tenant != nil &&
		!req.Session.PasswordChangeRequired && !req.Session.FactorRequired
	layout.Role, layout.Path = string(req.Session.Role), req.pagePath(status)
	layout.Sections = sectionsFor(req.sections, req.Session.Permissions)
}

// hold reserves the memory of a response, which is rendered, while its reader is slow.
func (req *Request) hold(bytes int) error {
	req.releaseLargePage()
	return req.Reserve(bytes)
}

// Attachment responds with bytes that others wrote. The browser stores them and never shows them in this origin. The
// caller reserved memory for them before reading them.
func (req *Request) Attachment(name string, body []byte) error {
	return req.Attach(fmt.Sprintf(`attachment; filename="%s"`, strings.Map(safeFileNameRune, name)),
		"application/octet-stream", int64(len(body)), bytes.NewReader(body))
}

// SendFile sends an attachment of a document, with a media type that the browser does not render as a page.
func (req *Request) SendFile(file *view.Attachment) error {
	return req.Attach(file.Disposition(), file.MediaType, file.Size, file.Content)
}

// SendMade sends a file that was just made, or returns the error that prevented it.
func (req *Request) SendMade(file view.Attachment, err error) error {
	if err != nil {
		return err
	}
	return req.SendFile(&file)
}

// safeFileNameRune keeps the characters that every system allows in a file name and replaces the others.
func safeFileNameRune(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '.' || r == '_' {
		return r
	}
	return '_'
}

// Part responds with one template of a page's file.
func (req *Request) Part(page, name string, data any) error {
	return req.Render(http.StatusOK, page, name, data)
}

// Deref returns the text, or "" for nil.
func Deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// pagePath returns the address of the page that a request shows, which chooseLanguage leads back to. A form that was
// sent leads to the page that it belongs to: the nearest one above its address. The page of an error does not repeat
// the address that it is about.
func (req *Request) pagePath(status int) string {
	query, at := req.R.URL.Query(), req.R.URL.EscapedPath()
	query.Del(page.NoticeParameter)
	switch {
	case req.R.Method == http.MethodPost:
		if next := req.Form.Get("next"); next != "" { // a login leads there
			query.Set("next", next)
		}
		for _, found := req.PageAt(at); found == nil && at != "/"; _, found = req.PageAt(at) {
			at = path.Dir(at)
		}
	case status != http.StatusOK:
		return "/"
	}
	return strings.TrimSuffix(at+"?"+query.Encode(), "?")
}
