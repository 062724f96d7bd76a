package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/front/page"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
)

// MaxEntries is the number of entries of lists, such as allowances and charges, that the form of a draft can have. The
// API takes more, up to 60 for each line, which would make a form of more than a hundred megabytes.
const MaxEntries = 2_000

// maxFormFields bounds the fields of a form: a thousand lines of a draft, each with the box that saves it, the fields
// above them, and the entries of lists, each with two fields that say where it belongs.
var maxFormFields = 1000*(reflect.TypeFor[api.Item]().NumField()+2) + //nolint:gochecknoglobals // a constant
	MaxEntries*(reflect.TypeFor[api.LineAllowance]().NumField()+2)

// largeFormFactor is the ratio of the largest form to MaxBody: percent-encoding turns one byte into three.
const largeFormFactor = 4

// The bounds of forms that are not large. The largest page of check boxes stays well below them.
const (
	maxSmallForm       = 64 << 10
	maxSmallFormFields = 1_000
)

// readForm reads the form of a POST into req.Form, within the bounds of its route. It rejects multipart/form-data,
// except on routes that take a file. Other requests have no body that is read.
func (req *Request) readForm(rt *Route) error {
	if req.R.Method != http.MethodPost {
		return nil
	}
	if rt.TakesFile {
		return req.readUpload()
	}
	most, fields := min(maxSmallForm, req.MaxBody), maxSmallFormFields
	if rt.Large {
		most, fields = largeFormFactor*req.MaxBody, maxFormFields
	}
	if err := req.readFields(most, fields); err != nil {
		return err
	}
	if rt.Large && !page.IsUTF8(req.Form) { // it is converted to JSON
		return problem.For(api.CodeMalformedRequest).Because(page.ErrForm)
	}
	return nil
}

// readFields reads a form with at most the given numbers of bytes and fields.
func (req *Request) readFields(most int64, fields int) error {
	return req.ReadForm(page.FormBounds{Bytes: most, Fields: fields},
		func(ctx context.Context, most int64) ([]byte, error) {
			body, err := req.Admission.ReadBody(ctx, most)
			if err == nil && req.Session.Tenant != nil { // others get no page that is made of the form
				err = req.AcquireLargePage(0, len(body), formFactor)
			}
			return body, err
		})
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
func (req *Request) preserveForm() error {
	if req.IsFragment() { // the part with the totals shows the message
		return req.Part("preserved", "logged-out", nil)
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
		if err := req.Admission.Charge(cost); err != nil {
			return err
		}
	}
	return req.Show(http.StatusUnauthorized, "preserved", "preserved.title", page.Layout{Body: form})
}

// NewKey returns a random key for a form.
func (req *Request) NewKey() (string, error) {
	var random [16]byte
	if _, err := io.ReadFull(req.Random, random[:]); err != nil {
		return "", fmt.Errorf("console: key of a form: %w", err)
	}
	return hex.EncodeToString(random[:]), nil
}

// FormTTL is how long sending a form again has no further effect.
const FormTTL = 24 * time.Hour

// Once runs act, which returns the identifier of what it has created, unless the form has already done so with the same
// input: then it returns that identifier.
func (req *Request) Once(input any, act func(ctx context.Context, tenant *base.Tenant) (id string,
	err error)) (again string, err error) {
	text, err := json.Marshal(input)
	if err != nil {
		return "", fmt.Errorf("console: input of a form: %w", err)
	}
	// A form with other input counts as another form.
	sum := sha256.Sum256(append([]byte(req.Form.Get("key")+"\x00"), text...))
	reply, replayed, err := invoices.Idempotent(req.R.Context(), req.Session.Tenant,
		"console form "+hex.EncodeToString(sum[:]), sum, FormTTL,
		func(ctx context.Context, tenant *base.Tenant) (invoices.IdempotentResponse, error) {
			id, err := act(ctx, tenant)
			return invoices.IdempotentResponse{Status: http.StatusCreated, Body: []byte(id)}, err
		})
	if replayed {
		again = string(reply.Body)
	}
	return again, err
}

// TypedRule is the prefix of the rules that only typed input can break. The message of such a fault is complete.
const TypedRule = "typed_"
