package console

import (
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"quittance/internal/fairlimit"
)

// Forms are read into the JSON that the API would have been sent, and checked by the API's own decoder: a rule stands
// once. A field that is left empty is absent, as in that JSON.

// maxFormFields bounds the fields of a form: a thousand lines of a draft, and what stands above them.
const maxFormFields = 18_000

// largeForm is how much more than MaxBody a large form may have: escapes make three bytes of one.
const largeFormFactor = 4

// errForm says that a form could not be read.
var errForm = errors.New("form")

// The bounds of forms that are not large: what the largest page of check boxes sends, with room to spare.
const (
	maxSmallForm       = 64 << 10
	maxSmallFormFields = 1_000
)

// formType is the one media type that forms are sent in.
const formType = "application/x-www-form-urlencoded"

// readForm reads the form of a POST into v.form, within the bounds of its route. Nothing else has a body that is read. What
// a browser sends as multipart/form-data is refused: no form here has files.
func (req *request) readForm(rt *route) error {
	if req.r.Method != http.MethodPost {
		return nil
	}
	most, fields := min(maxSmallForm, req.MaxBody), maxSmallFormFields
	if rt.large {
		most, fields = largeFormFactor*req.MaxBody, maxFormFields
	}
	if err := req.readFields(most, fields); err != nil {
		return err
	}
	if rt.large && !validUTF8(req.form) { // it becomes JSON
		return &problem{status: http.StatusBadRequest, cause: errForm}
	}
	return nil
}

// readFields reads a form of at most so many bytes and fields.
func (req *request) readFields(most int64, fields int) error {
	if req.r.ContentLength != 0 {
		if mediaType, _, err := mime.ParseMediaType(req.r.Header.Get("Content-Type")); err != nil || mediaType != formType {
			return &problem{status: http.StatusUnsupportedMediaType, cause: errForm}
		}
	}
	body, err := req.admission.ReadBody(req.r.Context(), most)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return &problem{status: http.StatusRequestEntityTooLarge, cause: err}
	}
	if errors.Is(err, fairlimit.ErrFull) {
		return err
	}
	if err != nil { // the client broke off, or was too slow
		return &problem{status: http.StatusBadRequest, cause: fmt.Errorf("%w: %w", errForm, err)}
	}
	if req.session.Tenant != nil { // nobody else has a page made of it
		if err := req.acquireLargePage(0, len(body), formFactor); err != nil {
			return err
		}
	}
	if req.form, err = parseFields(string(body), fields); err != nil {
		return &problem{status: http.StatusBadRequest, cause: fmt.Errorf("%w: %w", errForm, err)}
	}
	return nil
}

// unicode tells whether a form is UTF-8, as browsers send it.
func validUTF8(form url.Values) bool {
	for name, values := range form {
		if !utf8.ValidString(name) || slices.ContainsFunc(values, func(value string) bool { return !utf8.ValidString(value) }) {
			return false
		}
	}
	return true
}

// errFields says that a form has too many fields.
var errFields = errors.New("fields")

// parseFields reads a form's text of at most so many fields (WHATWG URL, section 5.1).
func parseFields(text string, most int) (url.Values, error) {
	if strings.Count(text, "&") >= most {
		return nil, fmt.Errorf("%w: more than %d fields", errFields, most)
	}
	form := url.Values{}
	for pair := range strings.SplitSeq(text, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, nameErr := url.QueryUnescape(name)
		value, err := url.QueryUnescape(value)
		if err := errors.Join(nameErr, err); err != nil {
			return nil, err
		}
		form[name] = append(form[name], value)
	}
	return form, nil
}

// jsonObject writes an object member by member, leaving out what is empty.
type jsonObject struct{ out []byte }

// raw adds a member whose value is JSON already.
func (object *jsonObject) addRaw(name string, value []byte) {
	separator := byte(',')
	if len(object.out) == 0 {
		separator = '{'
	}
	object.out = append(object.out, separator, '"')
	object.out = append(append(object.out, name...), '"', ':')
	object.out = append(object.out, value...)
}

// words adds a text as it was typed, none when nothing was.
func (object *jsonObject) addText(name, typed string) {
	if typed != "" {
		object.addRaw(name, quoted(typed))
	}
}

// number adds a decimal digit for digit, none when nothing was typed. What is no number stays a text, so that the decoder
// says what is wrong with it.
func (object *jsonObject) addNumber(name, typed string) {
	trimmed := strings.TrimSpace(typed)
	if trimmed == "" {
		return
	}
	if value := jsontext.Value(trimmed); value.Kind() == '0' && value.IsValid() {
		object.addRaw(name, value)
		return
	}
	object.addRaw(name, quoted(typed))
}

// bytes is the object.
func (object *jsonObject) encoded() []byte {
	if len(object.out) == 0 {
		return []byte("{}")
	}
	return append(object.out, '}')
}

// quoted is a text as JSON; large forms were found to be UTF-8.
func quoted(text string) []byte {
	out, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return []byte(`""`)
	}
	return out
}

// jsonArray joins values.
func jsonArray(values [][]byte) []byte {
	out := []byte{'['}
	for n, value := range values {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, value...)
	}
	return append(out, ']')
}

// keptPage repeats a form whose session has ended, so that nothing is lost that was typed.
type preservedFormPage struct {
	Action string
	Fields []preservedField
}

// keptField is one field of it.
type preservedField struct{ Name, Value string }

// The bounds of a form that is kept across a login, and how much of it costs as much as a request: everybody may send one.
const (
	maxPreservedForm          = 128 << 10
	maxPreservedFields        = 2_500
	preservedFieldsPerRequest = 250
)

// keep answers a form of somebody who is no longer logged in: with what was typed, for the time after the next login. It
// reads nothing of anybody's. What is too large for that is still in the browser, behind its button to go back.
func (req *request) preserveForm() error {
	if req.isFragment() {
		req.w.Header().Set("HX-Reswap", "none") // the part for the totals says it
		return req.part("preserved", "logged-out", nil)
	}
	err := req.readFields(min(maxPreservedForm, largeFormFactor*req.MaxBody), maxPreservedFields)
	if shown, ok := errors.AsType[*problem](err); ok && (shown.status == http.StatusRequestEntityTooLarge || errors.Is(err, errFields)) {
		return &problem{status: http.StatusRequestEntityTooLarge, messageKey: "preserved", cause: err}
	}
	if err != nil {
		return err
	}
	if !validUTF8(req.form) {
		return &problem{status: http.StatusBadRequest, cause: errForm}
	}
	p := preservedFormPage{Action: req.r.URL.EscapedPath()}
	for _, name := range slices.Sorted(maps.Keys(req.form)) {
		for _, value := range req.form[name] {
			if name != "do" {
				p.Fields = append(p.Fields, preservedField{name, value})
			}
		}
	}
	if cost := int64(len(p.Fields) / preservedFieldsPerRequest); cost > 0 {
		if err := req.admission.Charge(cost); err != nil {
			return err
		}
	}
	title, err := req.pages.messages.text("preserved.title")
	if err != nil {
		return err
	}
	return req.page(http.StatusUnauthorized, "preserved", pageData{Title: title, Body: p})
}
