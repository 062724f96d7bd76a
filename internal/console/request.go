package console

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"quittance/api"
	"quittance/internal/asset"
	"quittance/internal/store"
)

// visit is one request on its way to its answer.
type request struct {
	*Console
	w      http.ResponseWriter
	r      *http.Request
	source string
	// admission bounds what the request takes.
	admission Admission
	// form is what was sent with a POST, once it is read.
	form url.Values
	// session is who is logged in; its Tenant is nil when nobody is.
	session store.Session
	// values are those of the route's {parameters}.
	values map[string]string
	// large tells that the request has a place among the large pages that are being made, and reserved how many bytes it has
	// room for beside its body.
	holdsLargePage bool
	reserved       int
}

// id returns a parameter of the path as an identifier. What is none is as unknown as another company's.
func (req *request) id(name string) (store.ID, error) {
	id, err := store.ParseID(req.values[name])
	if err != nil || id.IsZero() { // the store binds no zero identifier
		return store.ID{}, store.ErrNotFound
	}
	return id, nil
}

// profile is the seller's, for the advice that depends on it.
func (req *request) profile() *api.Profile { return &req.session.Account.Profile }

// fragment tells whether the caller is a live part of a page that wants to know what is new.
func (req *request) isFragment() bool { return req.r.Header.Get("HX-Request") == "true" }

// notice is a sentence above a page about what has just been done.
type notice struct {
	// Good tells whether it went as it was meant to.
	Good bool
	Text string
	// Link leads to what it is about; "" for nothing else.
	Link string
}

// shown is what a template is given.
type pageData struct {
	// Title is the page's own, without the name of the product.
	Title string
	// Section is the entry of the navigation that is marked.
	Section string
	Notice  *notice
	// Body is the page's.
	Body any

	Company     string
	Environment string
	LoggedIn    bool
	Sections    []section
}

// Synthetic tells that the pages are no production's.
func (s pageData) IsSynthetic() bool { return s.Environment != "production" }

// page answers with a page: the file of this name in templates, in the layout of all.
func (req *request) page(status int, name string, p pageData) error {
	p.Company, p.LoggedIn, p.Environment = req.session.Account.Company, req.session.Tenant != nil && !req.session.PasswordChangeRequired, req.Environment
	p.Sections = sections
	if p.Notice == nil {
		p.Notice = req.pages.notice(req.r.URL.Query().Get("said"))
	}
	return req.render(status, name, "layout", p)
}

// render answers with a template of a page's file.
func (req *request) render(status int, page, name string, data any) error {
	html := req.buffers.get()
	if err := req.pages.execute(html, page, name, data); err != nil {
		req.buffers.put(html)
		return err
	}
	return req.send(status, "text/html; charset=utf-8", html)
}

// send writes an answer, compressed when the caller takes that, and keeps no more than what it writes. It puts the buffer
// back. Who hangs up is no failure of ours.
func (req *request) send(status int, mediaType string, body *bytes.Buffer) error {
	header := req.w.Header()
	if body.Len() > minCompressed && asset.AcceptsGzip(req.r.Header.Get("Accept-Encoding")) {
		packed := req.buffers.get()
		if req.gzip.compress(packed, body.Bytes()) == nil { // a buffer takes everything
			header.Set("Content-Encoding", "gzip")
			body, packed = packed, body
		}
		req.buffers.put(packed)
	}
	defer req.buffers.put(body)
	req.releaseLargePage()
	if err := req.reserve(body.Len()); err != nil { // it waits for a reader who may be slow
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

// leastCompressed is the size in bytes below which an answer fits into one packet as it is.
const minCompressed = 1200

// redirect sends the browser on with a GET. path is a path of ours.
func (req *request) redirect(path string) error {
	http.Redirect(req.w, req.r, path, http.StatusSeeOther)
	return nil
}

// said is a path with the notice that its page shows: a key below "flash." in the messages, beginning with good. or bad.
func withFlash(path, key string) string { return path + "?" + url.Values{"said": {key}}.Encode() }

// paging is where a list stands.
type paging struct {
	Page, PerPage, Total int
	path                 string
	query                url.Values
}

// The sizes of a page of a list.
const (
	defaultPerPage = 50
	maxPerPage     = 100
)

// paging reads which page of a list is asked for. What is no number is the first page: an address may be typed.
func (req *request) paging() paging {
	query := req.r.URL.Query()
	query.Del("seen")
	query.Del("said")
	number := func(name string, absent int) int {
		n, err := strconv.Atoi(query.Get(name))
		if err != nil || n < 1 {
			return absent
		}
		return n
	}
	return paging{Page: number("page", 1), PerPage: min(number("per", defaultPerPage), maxPerPage), path: req.r.URL.Path, query: query}
}

// Last is the number of the last page, from 1.
func (p paging) Last() int { return max(1, (p.Total+p.PerPage-1)/p.PerPage) }

// First and Through are the numbers of the first and the last entry of the page, from 1; 0 when it is empty.
func (p paging) First() int {
	if p.Through() == 0 {
		return 0
	}
	return (p.Page-1)*p.PerPage + 1
}

// Through is the number of the page's last entry.
func (p paging) Through() int {
	if p.Page > p.Last() {
		return 0
	}
	return min(p.Page*p.PerPage, p.Total)
}

// To is the address of another page of the same list.
func (p paging) Link(page int) string {
	query := url.Values{}
	maps.Copy(query, p.query)
	query.Set("page", strconv.Itoa(page))
	return p.path + "?" + query.Encode()
}

// Back and On are the numbers of the neighbours, 0 where there is none.
func (p paging) Previous() int { return min(p.Page-1, p.Last()) }

// On is the number of the next page.
func (p paging) Next() int {
	if p.Page >= p.Last() {
		return 0
	}
	return p.Page + 1
}

// attachment answers with bytes that others wrote: to be stored, never to be shown in this origin. Its room was reserved
// before they were read.
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

// plain keeps the characters that a file name has on every system.
func safeFileNameRune(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '.' || r == '_' {
		return r
	}
	return '_'
}
