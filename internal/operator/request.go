package operator

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/problem"
	"quittance/internal/store"
)

// request is one HTTP request and the state of its response.
type request struct {
	*Pages
	w      http.ResponseWriter
	r      *http.Request
	source string
	// session is the session of the operator; zero for somebody who is not logged in.
	session store.OperatorSession
	// values are the values of the route's {parameters}.
	values map[string]string
	// route and status are for the log.
	route  string
	status int
}

func (req *request) loggedIn() bool { return !req.session.Operator.IsZero() }

// id returns a parameter of the path as an identifier. An invalid one is not found.
func (req *request) id(name string) (store.ID, error) {
	id, err := store.ParseID(req.values[name])
	if err != nil || id.IsZero() {
		return store.ID{}, store.ErrNotFound
	}
	return id, nil
}

// page is the data of the layout, which is that of the console.
type page struct {
	Title   string
	Section string
	Notice  *notice
	Body    any

	Company     string
	Environment string
	LoggedIn    bool
	Sections    []sectionGroup
	// Role is empty, because operators have none. Languages is empty: these pages are in English. Path is for the choice
	// of a language.
	Role      string
	Languages []string
	Path      string
}

// IsSynthetic reports that this is not a production environment.
func (p page) IsSynthetic() bool { return p.Environment != "production" }

// notice is a message above a page about the act that was just done.
type notice struct {
	Good       bool
	Text, Link string
}

// noticeParameter is the query parameter that names the notice of a page.
const noticeParameter = "notice"

// maxPerPage is the number of rows on a page of a list.
const maxPerPage = 50

// show responds with a page: the template of the given name, with the title that a key names.
func (req *request) show(status int, name, title string, p page) error {
	var err error
	if p.Title == "" {
		if p.Title, err = req.design.Text(title); err != nil {
			return err
		}
	}
	p.Company, p.LoggedIn, p.Environment, p.Sections = req.session.Email, req.loggedIn(), req.Environment, sections
	if p.Notice == nil {
		if text, good := req.design.Notice(req.r.URL.Query().Get(noticeParameter)); text != "" {
			p.Notice = &notice{Good: good, Text: text}
		}
	}
	var html bytes.Buffer
	if err := req.design.Execute(&html, name, p); err != nil {
		return err
	}
	req.status = status
	header := req.w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(html.Len()))
	req.w.WriteHeader(status)
	_, _ = req.w.Write(html.Bytes()) // a client may disconnect
	return nil
}

// redirect redirects the browser to a path, which it requests with GET.
func (req *request) redirect(path string) error {
	req.status = http.StatusSeeOther
	http.Redirect(req.w, req.r, path, http.StatusSeeOther)
	return nil
}

// redirectWith redirects to a page with the notice of an act.
func (req *request) redirectWith(path, notice string) error {
	return req.redirect(path + "?" + url.Values{noticeParameter: {notice}}.Encode())
}

// The errors that only these pages report.
var (
	errReason = problem.Named("reason", api.CodeValidationFailed, "the reason is missing or not valid")
	errLine   = problem.Named("line", api.CodeValidationFailed, "a field is missing or not valid")
	errFilter = problem.Named("filter", api.CodeMalformedRequest, "the filter is not valid")
)

// problemPage is the view model of an error page, which is that of the console.
type problemPage struct {
	Status          int
	Text, RequestID string
}

// respondError responds with the page of an error. It returns internal errors.
func (req *request) respondError(err error) error {
	p := problem.Of(err)
	p.SetHeader(req.w.Header())
	title, text := req.design.ProblemTexts(p)
	shown := req.show(p.Status(), "error", "", page{Title: title, Body: problemPage{Status: p.Status(), Text: text,
		RequestID: req.w.Header().Get(api.HeaderRequestID)}})
	if shown != nil { // the layout itself is broken
		http.Error(req.w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
	}
	if p.Status() < http.StatusInternalServerError {
		return shown
	}
	return errors.Join(err, shown)
}

// maxReason is the number of characters of the longest reason.
const maxReason = 1024

// actContext returns a context for an act with the reason in the form. It returns a problem if there is none.
func (req *request) actContext() (ctx context.Context, reason string, err error) {
	reason = strings.TrimSpace(strings.ReplaceAll(req.r.PostForm.Get("reason"), "\r\n", "\n"))
	if reason == "" || !utf8.ValidString(reason) || utf8.RuneCountInString(reason) > maxReason ||
		strings.ContainsFunc(reason, func(r rune) bool {
			return r < ' ' && r != '\n' && r != '\t' || r == 0x7f ||
				r == utf8.RuneError
		}) {
		return nil, "", errReason
	}
	actor := store.ActorOf(req.r.Context())
	actor.Reason = reason
	return store.WithActor(req.r.Context(), actor), reason, nil
}

// line returns a field of the form that is one line of 1 to 256 characters.
func (req *request) line(name string) (string, error) {
	text := strings.TrimSpace(req.r.PostForm.Get(name))
	if text == "" || !utf8.ValidString(text) || utf8.RuneCountInString(text) > 256 ||
		strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }) {
		return "", errLine
	}
	return text, nil
}

// act is the form of an act: a button that opens a dialog, which asks for the reason.
type act struct {
	// ID identifies the form on its page, Path is where it is sent, and Key the key of its texts below "op.act.".
	ID, Path, Key string
	// Of is what the act is about.
	Of string
	// Danger says that it takes something away.
	Danger bool
	// Fields are asked for beside the reason.
	Fields []actField
	// Hidden is the value of the field decision; "" for none.
	Decision string
}

// actField is a field of one line.
type actField struct{ Name, Value string }

// next returns the address of the next page of a list, which begins after a position: "" for the last page.
func next(path string, query url.Values, more bool, position string) string {
	if !more {
		return ""
	}
	query.Set("after", position)
	return path + "?" + query.Encode()
}

// parsePosition reads what [formatPosition] wrote; anything else is the beginning of the list.
func parsePosition(text string) store.ListPosition {
	at, id, _ := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(at, 10, 64)
	parsed, idErr := store.ParseID(id)
	if err != nil || idErr != nil {
		return store.ListPosition{}
	}
	return store.ListPosition{At: instant(micros), ID: parsed}
}

// formatPosition returns a position as a parameter of an address.
func formatPosition(p store.ListPosition) string {
	return strconv.FormatInt(p.At.UnixMicro(), 10) + "." + p.ID.String()
}
