package console

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/access"
	"quittance/internal/asset"
	"quittance/internal/store"
	"quittance/internal/submission"
	"quittance/internal/view"
)

// request is one HTTP request and the state of its response.
type request struct {
	*Console
	// pages are the pages in the language of the reader.
	pages  *templates
	w      http.ResponseWriter
	r      *http.Request
	source string
	// admission bounds the resources of the request.
	admission Admission
	// form is the form of a POST, once it is read.
	form url.Values
	// file is the file of a POST to a route that takes one.
	file store.Upload
	// session is the session of the caller; its Tenant is nil when the caller is not logged in.
	session store.Session
	// values are the values of the route's {parameters}.
	values map[string]string
	// holdsLargePage reports that the request holds a slot for a large page. reserved is the memory, in bytes, that it has
	// reserved beside its body.
	holdsLargePage bool
	// logged is an internal error that the response does not show.
	logged   error
	reserved int
	// broken reports that the response is not whole.
	broken bool
}

// id returns a parameter of the path as an identifier. An invalid identifier is treated like that of another company:
// as not found.
func (req *request) id(name string) (store.ID, error) {
	id, err := store.ParseID(req.values[name])
	if err != nil || id.IsZero() { // the store does not accept a zero identifier
		return store.ID{}, store.ErrNotFound
	}
	return id, nil
}

// profile returns the profile of the seller, which some advice depends on.
func (req *request) profile() *api.Profile { return &req.session.Account.Profile }

// seller returns what the company's drafts need for submission.
func (req *request) seller() view.Seller {
	return view.SellerOf(&req.session.Account, submission.Unsupported(&req.session.Account))
}

// isFragment reports whether a live part of a page is polling.
func (req *request) isFragment() bool { return req.r.Header.Get("HX-Request") == "true" }

// notice is a message above a page about the action that was just taken.
type notice struct {
	// Good reports whether the action succeeded.
	Good bool
	Text string
	// Link is the address of the thing it is about, or "".
	Link string
}

// pageData is the data of the layout template.
type pageData struct {
	// Title is the title of the page, without the product name.
	Title string
	// Section is the current entry of the navigation.
	Section string
	Notice  *notice
	// Export is the control that offers the list of the page as a file; nil for none.
	Export *exportMenu
	// Body is the data of the page's own template.
	Body any

	Company string
	// Role is that of the user; "" if nobody is logged in.
	Role        access.Role
	Environment string
	LoggedIn    bool
	// MayManageWebhooks reports that the user may create subscriptions.
	MayManageWebhooks bool
	Sections          []sectionGroup
	// Languages are the other languages that the page can have, and Path is where it is. A page that a form opens has the
	// input of that form in Reopen, which the choice of a language sends again.
	Languages []languageChoice
	Path      string
	Reopen    []preservedField
}

// IsSynthetic reports that this is not a production environment.
func (s pageData) IsSynthetic() bool { return s.Environment != "production" }

// page responds with a page: the template file of the given name, in the layout.
func (req *request) page(status int, name string, p pageData) error {
	p.Company, p.LoggedIn, p.Environment = req.session.Account.Company, req.session.Tenant != nil &&
		!req.session.PasswordChangeRequired && !req.session.FactorRequired, req.Environment
	p.Role = req.session.Role
	p.Languages, p.Path = req.otherLanguages(), req.pagePath(status)
	p.Sections = sectionsFor(req.session.Permissions)
	p.MayManageWebhooks = req.session.Permissions.Has(access.ManageWebhooks)
	if p.Notice == nil {
		p.Notice = req.pages.notice(req.r.URL.Query().Get(noticeParameter))
	}
	return req.render(status, name, "layout", p)
}

// render responds with one template of a page's file.
func (req *request) render(status int, page, name string, data any) error {
	html := req.buffers.get()
	if err := req.pages.execute(html, page, name, data); err != nil {
		req.buffers.put(html)
		return err
	}
	return req.send(status, "text/html; charset=utf-8", html)
}

// send writes a response, compressed when the caller accepts it, and returns the buffer to its pool. It ignores write
// errors, because a client may disconnect.
func (req *request) send(status int, mediaType string, body *bytes.Buffer) error {
	header := req.w.Header()
	if body.Len() > minCompressed && asset.AcceptsGzip(req.r.Header.Get("Accept-Encoding")) {
		packed := req.buffers.get()
		if req.gzip.compress(packed, body.Bytes()) == nil { // writing to a buffer does not fail
			header.Set("Content-Encoding", "gzip")
			body, packed = packed, body
		}
		req.buffers.put(packed)
	}
	defer req.buffers.put(body)
	req.releaseLargePage()
	if err := req.reserve(body.Len()); err != nil { // the reader may be slow
		header.Del("Content-Encoding")
		return err
	}
	header.Set("Content-Type", mediaType)
	header.Add("Vary", "Accept-Encoding")
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	req.w.WriteHeader(status)
	_, _ = req.w.Write(body.Bytes())
	return nil
}

// minCompressed is the size in bytes from which responses are compressed. Smaller ones fit into one packet.
const minCompressed = 1200

// redirect redirects the browser to a path of the console, which it requests with GET.
func (req *request) redirect(path string) error {
	http.Redirect(req.w, req.r, path, http.StatusSeeOther)
	return nil
}

// noticeParameter is the query parameter that names the notice of a page. The script removes it from the address.
const noticeParameter = "notice"

// withFlash returns a path with a notice for its page. key is a key below "flash." in the messages; it begins with
// "good." or "bad.".
func withFlash(path, key string) string {
	return path + "?" + url.Values{noticeParameter: {key}}.Encode()
}

// paging is the position in a list.
type paging struct {
	Page, PerPage, Total int
	path                 string
	query                url.Values
}

// The page sizes of lists.
const (
	defaultPerPage = 50
	maxPerPage     = 100
)

// paging reads the position in a list from the query. Invalid numbers mean the first page, because people may type an
// address.
func (req *request) paging() paging {
	query := req.r.URL.Query()
	query.Del("seen")
	query.Del(noticeParameter)
	number := func(name string, absent int) int {
		n, err := strconv.Atoi(query.Get(name))
		if err != nil || n < 1 {
			return absent
		}
		return n
	}
	return paging{Page: number("page", 1), PerPage: min(number("per", defaultPerPage), maxPerPage), path: req.r.URL.Path,
		query: query}
}

// Last returns the number of the last page; pages are numbered from 1.
func (p paging) Last() int { return max(1, (p.Total+p.PerPage-1)/p.PerPage) }

// First returns the number of the first entry on the page, from 1, or 0 when the page is empty.
func (p paging) First() int {
	if p.Through() == 0 {
		return 0
	}
	return (p.Page-1)*p.PerPage + 1
}

// Through returns the number of the last entry on the page, or 0 when the page is empty.
func (p paging) Through() int {
	if p.Page > p.Last() {
		return 0
	}
	return min(p.Page*p.PerPage, p.Total)
}

// Link returns the address of another page of the same list.
func (p paging) Link(page int) string {
	query := url.Values{}
	maps.Copy(query, p.query)
	query.Set("page", strconv.Itoa(page))
	return p.path + "?" + query.Encode()
}

// Previous returns the number of the previous page, or 0.
func (p paging) Previous() int { return min(p.Page-1, p.Last()) }

// Next returns the number of the next page, or 0.
func (p paging) Next() int {
	if p.Page >= p.Last() {
		return 0
	}
	return p.Page + 1
}

// attachment responds with bytes that others wrote. The browser stores them and never shows them in this origin. The
// caller reserved memory for them before reading them.
func (req *request) attachment(name string, body []byte) error {
	header := req.w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s"`, strings.Map(safeFileNameRune, name)))
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	req.w.WriteHeader(http.StatusOK)
	_, _ = req.w.Write(body)
	return nil
}

// sendFile sends an attachment of a document, with a media type that the browser does not render as a page.
func (req *request) sendFile(file *view.Attachment) error {
	header := req.w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Content-Disposition", file.Disposition())
	header.Set("Content-Type", file.MediaType)
	header.Set("Content-Length", strconv.FormatInt(file.Size, 10))
	req.w.WriteHeader(http.StatusOK)
	_, _ = io.Copy(req.w, file.Content)
	return nil
}

// safeFileNameRune keeps the characters that every system allows in a file name and replaces the others.
func safeFileNameRune(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '.' || r == '_' {
		return r
	}
	return '_'
}
