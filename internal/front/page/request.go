package page

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/asset"
	"quittance/internal/platform/problem"
)

// Request is one request for a page and the state of its response.
type Request struct {
	*Kit
	// Pages are the pages in the language of the reader.
	Pages *Pages
	W     http.ResponseWriter
	R     *http.Request
	// Source is the address of the client, for limits.
	Source string
	// Values are the values of the {parameters} of the route.
	Values map[string]string
	// Form is the form of a POST, once it is read.
	Form url.Values
	// Frame completes the layout of a page, which has the given status, with what the surface knows of its reader.
	Frame func(status int, layout *Layout)
	// Hold reserves the memory that a response takes while the client reads it, in bytes; nil if there is no limit.
	Hold func(bytes int) error
	// Status is the status of the response, once it is sent.
	Status int
}

// Layout is the data of the layout, in which every page is shown.
type Layout struct {
	// Title is the title of the page, without the product name.
	Title string
	// Section is the current entry of the navigation.
	Section string
	Notice  *Notice
	// Export is the control that offers the list of the page as a file; nil for none.
	Export any
	// Body is the data of the page's own template.
	Body any

	// Company is the name of the reader's company, and Role the reader's role in it; "" if there is none.
	Company, Role string
	Environment   string
	LoggedIn      bool
	Sections      []SectionGroup
	// Languages are the other languages that the page can have, and Path is where it is. A page that a form opens has the
	// input of that form in Reopen, which the choice of a language sends again.
	Languages []LanguageChoice
	Path      string
	Reopen    []Field
}

// IsSynthetic reports that this is not a production environment.
func (l Layout) IsSynthetic() bool { return l.Environment != "production" }

// Section is one entry of the navigation.
type Section struct {
	// Name is its key below "nav." in the texts, what a page says it belongs to, and its icon n-NAME in the sprite.
	Name, Path string
}

// SectionGroup is a group of the navigation. The layout puts the last one at the bottom.
type SectionGroup struct {
	// Name is the key of the heading below "nav.group." in the texts, or "" for none.
	Name     string
	Sections []Section
}

// Field is a field of a form that is sent again.
type Field struct{ Name, Value string }

// Notice is a message above a page about the action that was just taken.
type Notice struct {
	// Good reports whether the action succeeded.
	Good bool
	Text string
	// Link is the address of the thing it is about, or "".
	Link string
}

// NoticeParameter is the query parameter that names the notice of a page. The script removes it from the address.
const NoticeParameter = "notice"

// WithNotice returns a path with a notice for its page. key is a key below "flash." in the texts; it begins with
// "good." or "bad.".
func WithNotice(path, key string) string {
	return path + "?" + url.Values{NoticeParameter: {key}}.Encode()
}

// Notice returns the notice of a key, and nil for an unknown key, because the key comes from the address.
func (t Texts) Notice(key string) *Notice {
	text, known := t.Lookup("flash." + key)
	if !known {
		return nil
	}
	return &Notice{Good: strings.HasPrefix(key, "good."), Text: text}
}

// Serve sets the headers of every page and runs do, which responds to the request. An error or a panic in it fails only
// this request, with the page of the error. Serve returns internal errors, for the log.
func (req *Request) Serve(do func() error) (err error) {
	secureHeaders(req.W.Header())
	defer func() {
		if cause := recover(); cause != nil {
			err = req.respondError(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	if err := do(); err != nil {
		return req.respondError(err)
	}
	return nil
}

// ID returns a parameter of the path as an identifier. An invalid identifier is treated like that of another company:
// as not found.
func (req *Request) ID(name string) (base.ID, error) {
	id, err := base.ParseID(req.Values[name])
	if err != nil || id.IsZero() { // the ledger does not accept a zero identifier
		return base.ID{}, base.ErrNotFound
	}
	return id, nil
}

// Text returns a text in the language of the reader; see [Texts.Text].
func (req *Request) Text(key string, values ...any) (string, error) {
	return req.Pages.Texts.Text(key, values...)
}

// TextOr returns a text in the language of the reader; see [Texts.TextOr].
func (req *Request) TextOr(key, otherwise string) string {
	return req.Pages.Texts.TextOr(key, otherwise)
}

// IsFragment reports whether a live part of a page is polling.
func (req *Request) IsFragment() bool { return req.R.Header.Get("HX-Request") == "true" }

// Show responds with a page: the template file of the given name, in the layout. title is the key of its title, or ""
// if the layout has one, and of are the values of its placeholders.
func (req *Request) Show(status int, name, title string, layout Layout, of ...any) error {
	if title != "" {
		var err error
		if layout.Title, err = req.Text(title, of...); err != nil {
			return err
		}
	}
	layout.Environment, layout.Languages = req.config.Environment, req.otherLanguages()
	req.Frame(status, &layout)
	if layout.Notice == nil {
		layout.Notice = req.Pages.Texts.Notice(req.R.URL.Query().Get(NoticeParameter))
	}
	return req.Render(status, name, "layout", layout)
}

// Render responds with one template of a page's file.
func (req *Request) Render(status int, page, name string, data any) error {
	html := req.buffers.get()
	if err := req.Pages.Execute(html, page, name, data); err != nil {
		req.buffers.put(html)
		return err
	}
	return req.Send(status, "text/html; charset=utf-8", html)
}

// Part returns one template of a page's file, to be part of a page.
func (req *Request) Part(page, name string, data any) (template.HTML, error) {
	html := req.buffers.get()
	defer req.buffers.put(html)
	if err := req.Pages.Execute(html, page, name, data); err != nil {
		return "", err
	}
	return template.HTML(html.String()), nil //nolint:gosec // html/template rendered and escaped it
}

// Send writes a response, compressed when the caller accepts it. It ignores write errors, because a client may
// disconnect. The buffer must not be used afterwards.
func (req *Request) Send(status int, mediaType string, body *bytes.Buffer) error {
	header := req.W.Header()
	if body.Len() > minCompressed && asset.AcceptsGzip(req.R.Header.Get("Accept-Encoding")) {
		packed := req.buffers.get()
		if req.gzip.compress(packed, body.Bytes()) == nil { // writing to a buffer does not fail
			header.Set("Content-Encoding", "gzip")
			body, packed = packed, body
		}
		req.buffers.put(packed)
	}
	defer req.buffers.put(body)
	if req.Hold != nil {
		if err := req.Hold(body.Len()); err != nil { // the reader may be slow
			header.Del("Content-Encoding")
			return err
		}
	}
	header.Set("Content-Type", mediaType)
	header.Add("Vary", "Accept-Encoding")
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	req.Status = status
	req.W.WriteHeader(status)
	_, _ = req.W.Write(body.Bytes())
	return nil
}

// minCompressed is the size in bytes from which responses are compressed. Smaller ones fit into one packet.
const minCompressed = 1200

// Redirect redirects the browser to a path of the surface, which it requests with GET.
func (req *Request) Redirect(path string) error {
	req.Status = http.StatusSeeOther
	http.Redirect(req.W, req.R, path, req.Status)
	return nil
}

// Attach responds with content that others wrote, of a size in bytes. The browser stores it and never shows it in this
// origin.
func (req *Request) Attach(disposition, mediaType string, size int64, content io.Reader) error {
	header := req.W.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Content-Disposition", disposition)
	header.Set("Content-Type", mediaType)
	header.Set("Content-Length", strconv.FormatInt(size, 10))
	req.Status = http.StatusOK
	req.W.WriteHeader(req.Status)
	_, _ = io.Copy(req.W, content) // a client may disconnect
	return nil
}

// problemPage is the view model of the page of an error. It contains nothing about the cause.
type problemPage struct {
	Status int
	// Text is the advice below the title, or "".
	Text      string
	RequestID string
}

// problem returns the title and the advice of the page about a problem: the texts of its name, or else of its code. A
// problem with neither is not expected on a page of this surface; it has general ones.
func (t Texts) problem(p *problem.Problem) (title, text string, expected bool) {
	keys := []string{p.Name(), string(p.Code())}
	if p.Code() == api.CodeInternal && p.Status() < http.StatusInternalServerError {
		keys = keys[:1] // the API does not report it
	}
	general := "other"
	if p.Status() >= http.StatusInternalServerError {
		general = string(api.CodeInternal)
	}
	for n, key := range append(keys, general) {
		if title, known := t.Lookup("error." + key + ".title"); known {
			return title, t.TextOr("error."+key+".text", ""), n < len(keys)
		}
	}
	return http.StatusText(p.Status()), "", false
}

// respondError responds with the page of an error. It returns internal errors, and those that nobody expected on a
// page, for the log.
func (req *Request) respondError(err error) error {
	p := problem.Of(err)
	p.SetHeader(req.W.Header())
	title, text, expected := req.Pages.Texts.problem(p)
	shownErr := req.Show(p.Status(), "error", "", Layout{Title: title,
		Body: problemPage{Status: p.Status(), Text: text, RequestID: req.W.Header().Get(api.HeaderRequestID)}})
	if shownErr != nil { // the layout itself is broken
		shownErr = errors.Join(shownErr, req.Send(http.StatusInternalServerError, "text/plain; charset=utf-8",
			bytes.NewBufferString(http.StatusText(http.StatusInternalServerError)+"\n")))
	}
	if expected && p.Status() < http.StatusInternalServerError {
		return shownErr
	}
	return errors.Join(err, shownErr)
}
