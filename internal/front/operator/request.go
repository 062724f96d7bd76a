package operator

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/front/page"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/lists"
	"quittance/internal/platform/problem"
)

// request is one HTTP request and the state of its response.
type request struct {
	*Pages
	page.Request
	// session is the session of the operator; zero for somebody who is not logged in.
	session identity.OperatorSession
	// route is for the log.
	route string
}

func (req *request) loggedIn() bool { return !req.session.Operator.IsZero() }

// maxPerPage is the number of rows on a page of a list.
const maxPerPage = 50

// frame completes the layout with what an operator may see. Operators have no role.
func (req *request) frame(_ int, layout *page.Layout) {
	layout.Company, layout.LoggedIn, layout.Sections = req.session.Email, req.loggedIn(), sections
}

// The errors that only these pages report.
var (
	errReason = problem.Named("reason", api.CodeValidationFailed, "the reason is missing or not valid")
	errLine   = problem.Named("line", api.CodeValidationFailed, "a field is missing or not valid")
	errFilter = problem.Named("filter", api.CodeMalformedRequest, "the filter is not valid")
)

// maxReason is the number of characters of the longest reason.
const maxReason = 1024

// actContext returns a context for an act with the reason in the form. It returns a problem if there is none.
func (req *request) actContext() (ctx context.Context, reason string, err error) {
	reason = strings.TrimSpace(strings.ReplaceAll(req.Form.Get("reason"), "\r\n", "\n"))
	if reason == "" || !utf8.ValidString(reason) || utf8.RuneCountInString(reason) > maxReason ||
		strings.ContainsFunc(reason, func(r rune) bool {
			return r < ' ' && r != '\n' && r != '\t' || r == 0x7f ||
				r == utf8.RuneError
		}) {
		return nil, "", errReason
	}
	actor := base.ActorOf(req.R.Context())
	actor.Reason = reason
	return base.WithActor(req.R.Context(), actor), reason, nil
}

// line returns a field of the form that is one line of 1 to 256 characters.
func (req *request) line(name string) (string, error) {
	text := strings.TrimSpace(req.Form.Get(name))
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
func parsePosition(text string) lists.ListPosition {
	at, id, _ := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(at, 10, 64)
	parsed, idErr := base.ParseID(id)
	if err != nil || idErr != nil {
		return lists.ListPosition{}
	}
	return lists.ListPosition{At: instant(micros), ID: parsed}
}

// formatPosition returns a position as a parameter of an address.
func formatPosition(p lists.ListPosition) string {
	return strconv.FormatInt(p.At.UnixMicro(), 10) + "." + p.ID.String()
}
