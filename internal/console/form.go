package console

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Forms are read into the JSON that the API would have been sent, and checked by the API's own decoder: a rule stands
// once. A field that is left empty is absent, as in that JSON.

// maxFormFields bounds the fields of a form: a thousand lines of a draft, and what stands above them.
const maxFormFields = 18_000

// largeForm is how much more than MaxBody a large form may have: escapes make three bytes of one.
const largeForm = 4

// errForm says that a form could not be read.
var errForm = errors.New("form")

// readForm reads the form of an unsafe request, within MaxBody, or a multiple of it on a route of large forms.
func (v *visit) readForm(large bool) error {
	if v.r.Method != http.MethodPost {
		return nil
	}
	most := v.MaxBody
	if large {
		most *= largeForm
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, most)
	if err := v.parseForm(); err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return &problem{status: http.StatusRequestEntityTooLarge, cause: err}
		}
		return &problem{status: http.StatusBadRequest, cause: fmt.Errorf("%w: %w", errForm, err)}
	}
	if large && !unicode(v.r.PostForm) { // it becomes JSON
		return &problem{status: http.StatusBadRequest, cause: errForm}
	}
	return nil
}

// parseForm is ParseForm for more fields than net/url reads.
func (v *visit) parseForm() error {
	mediaType, _, err := mime.ParseMediaType(v.r.Header.Get("Content-Type"))
	if err == nil && mediaType == "application/x-www-form-urlencoded" {
		body, err := io.ReadAll(v.r.Body)
		if err != nil {
			return err
		}
		if v.r.PostForm, err = parseFields(string(body)); err != nil {
			return err
		}
	}
	return v.r.ParseForm() // adds the query
}

// unicode tells whether a form is UTF-8, as browsers send it.
func unicode(form url.Values) bool {
	for name, values := range form {
		if !utf8.ValidString(name) || slices.ContainsFunc(values, func(value string) bool { return !utf8.ValidString(value) }) {
			return false
		}
	}
	return true
}

// parseFields reads a form's text (WHATWG URL, section 5.1).
func parseFields(text string) (url.Values, error) {
	if strings.Count(text, "&") >= maxFormFields {
		return nil, fmt.Errorf("more than %d fields", maxFormFields)
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
type jsonObject struct{ text []byte }

// raw adds a member whose value is JSON already.
func (o *jsonObject) raw(name string, value []byte) {
	separator := byte(',')
	if len(o.text) == 0 {
		separator = '{'
	}
	o.text = append(o.text, separator, '"')
	o.text = append(append(o.text, name...), '"', ':')
	o.text = append(o.text, value...)
}

// words adds a text as it was typed, none when nothing was.
func (o *jsonObject) words(name, typed string) {
	if typed != "" {
		o.raw(name, quoted(typed))
	}
}

// number adds a decimal digit for digit, none when nothing was typed. What is no number stays a text, so that the decoder
// says what is wrong with it.
func (o *jsonObject) number(name, typed string) {
	trimmed := strings.TrimSpace(typed)
	if trimmed == "" {
		return
	}
	if value := jsontext.Value(trimmed); value.Kind() == '0' && value.IsValid() {
		o.raw(name, value)
		return
	}
	o.raw(name, quoted(typed))
}

// bytes is the object.
func (o *jsonObject) bytes() []byte {
	if len(o.text) == 0 {
		return []byte("{}")
	}
	return append(o.text, '}')
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
type keptPage struct {
	Action string
	Fields []keptField
}

// keptField is one field of it.
type keptField struct{ Name, Value string }

// keep answers a form of somebody who is no longer logged in: with what was typed, for the time after the next login. It
// reads nothing of anybody's.
func (v *visit) keep() error {
	if v.fragment() {
		v.w.Header().Set("HX-Reswap", "none") // the part for the totals says it
		return v.part("kept", "logged-out", nil)
	}
	if err := v.readForm(false); err != nil {
		return err
	}
	p := keptPage{Action: v.r.URL.EscapedPath()}
	for _, name := range slices.Sorted(maps.Keys(v.r.PostForm)) {
		for _, value := range v.r.PostForm[name] {
			if name != "do" {
				p.Fields = append(p.Fields, keptField{name, value})
			}
		}
	}
	title, err := v.pages.words.say("kept.title")
	if err != nil {
		return err
	}
	return v.page(http.StatusUnauthorized, "kept", shown{Title: title, Body: p})
}
