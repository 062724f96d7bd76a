package console

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/front/page"
	"quittance/internal/platform/problem"
)

// A form is converted to the JSON of the equivalent API request and validated by the API's decoder, so that each rule
// exists once. An empty field is absent from the JSON.

// maxFormFields bounds the fields of a form: a thousand lines of a draft and the fields above them.
const maxFormFields = 18_000

// largeFormFactor is the ratio of the largest form to MaxBody: percent-encoding turns one byte into three.
const largeFormFactor = 4

// The bounds of forms that are not large. The largest page of check boxes stays well below them.
const (
	maxSmallForm       = 64 << 10
	maxSmallFormFields = 1_000
)

// readForm reads the form of a POST into req.Form, within the bounds of its route. It rejects multipart/form-data,
// except on routes that take a file. Other requests have no body that is read.
func (req *request) readForm(rt *route) error {
	if req.R.Method != http.MethodPost {
		return nil
	}
	if rt.takesFile {
		return req.readUpload()
	}
	most, fields := min(maxSmallForm, req.MaxBody), maxSmallFormFields
	if rt.large {
		most, fields = largeFormFactor*req.MaxBody, maxFormFields
	}
	if err := req.readFields(most, fields); err != nil {
		return err
	}
	if rt.large && !page.IsUTF8(req.Form) { // it is converted to JSON
		return problem.For(api.CodeMalformedRequest).Because(page.ErrForm)
	}
	return nil
}

// readFields reads a form with at most the given numbers of bytes and fields.
func (req *request) readFields(most int64, fields int) error {
	return req.ReadForm(page.FormBounds{Bytes: most, Fields: fields},
		func(ctx context.Context, most int64) ([]byte, error) {
			body, err := req.admission.ReadBody(ctx, most)
			if err == nil && req.session.Tenant != nil { // others get no page that is made of the form
				err = req.acquireLargePage(0, len(body), formFactor)
			}
			return body, err
		})
}

// jsonObject builds a JSON object member by member and leaves out empty values.
type jsonObject struct{ out []byte }

// addRaw adds a member whose value is JSON.
func (object *jsonObject) addRaw(name string, value []byte) {
	separator := byte(',')
	if len(object.out) == 0 {
		separator = '{'
	}
	object.out = append(object.out, separator, '"')
	object.out = append(append(object.out, name...), '"', ':')
	object.out = append(object.out, value...)
}

// addText adds a text, unless it is empty.
func (object *jsonObject) addText(name, typed string) {
	if typed != "" {
		object.addRaw(name, quoted(typed))
	}
}

// addNumber adds a decimal digit for digit, unless it is empty. Invalid input stays a text, so that the decoder reports
// what is wrong with it.
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

// encoded returns the object.
func (object *jsonObject) encoded() []byte {
	if len(object.out) == 0 {
		return []byte("{}")
	}
	return append(object.out, '}')
}

// quoted returns a text as JSON. Large forms are known to be UTF-8.
func quoted(text string) []byte {
	out, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return []byte(`""`)
	}
	return out
}

// jsonArray returns an array of JSON values.
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

// preservedFormPage repeats a submitted form whose session has ended, so that the input is not lost.
type preservedFormPage struct {
	Action string
	Fields []page.Field
}

// The bounds of a form that is preserved across a login, and how many fields count as one request: anybody may send
// such a form.
const (
	maxPreservedForm          = 128 << 10
	maxPreservedFields        = 2_500
	preservedFieldsPerRequest = 250
)

// preserveForm answers the form of a user who is no longer logged in with a page that contains the input, to be sent
// again after the next login. It reads no stored data. The browser can still go back to a form that is too large for
// this.
func (req *request) preserveForm() error {
	if req.IsFragment() { // the part with the totals shows the message
		return req.part("preserved", "logged-out", nil)
	}
	err := req.readFields(min(maxPreservedForm, largeFormFactor*req.MaxBody), maxPreservedFields)
	if errors.Is(err, problem.For(api.CodePayloadTooLarge)) || errors.Is(err, page.ErrFields) {
		return errPreserved.Because(err)
	}
	if err != nil {
		return err
	}
	if !page.IsUTF8(req.Form) {
		return problem.For(api.CodeMalformedRequest).Because(page.ErrForm)
	}
	form := preservedFormPage{Action: req.R.URL.EscapedPath()}
	for _, name := range slices.Sorted(maps.Keys(req.Form)) {
		for _, value := range req.Form[name] {
			if name != "do" {
				form.Fields = append(form.Fields, page.Field{Name: name, Value: value})
			}
		}
	}
	if cost := int64(len(form.Fields) / preservedFieldsPerRequest); cost > 0 {
		if err := req.admission.Charge(cost); err != nil {
			return err
		}
	}
	return req.Show(http.StatusUnauthorized, "preserved", "preserved.title", page.Layout{Body: form})
}
