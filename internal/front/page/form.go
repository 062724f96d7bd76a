package page

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/platform/fairlimit"
	"quittance/internal/platform/problem"
)

// ErrForm reports that a form could not be read.
var ErrForm = errors.New("form")

// ErrFields reports that a form has too many fields.
var ErrFields = errors.New("fields")

// formType is the media type of forms without a file.
const formType = "application/x-www-form-urlencoded"

// CheckOrigin returns an error for a form that another site has sent in the name of the reader.
func (req *Request) CheckOrigin() error {
	if err := req.origins.Check(req.R); err != nil {
		return problem.ErrCrossSite.Because(err)
	}
	return nil
}

// FormBounds are the largest numbers of bytes and of fields of a form.
type FormBounds struct {
	Bytes  int64
	Fields int
}

// ReadForm reads a form of the media type application/x-www-form-urlencoded into Form. read returns the body, or
// [*http.MaxBytesError] if it has more bytes than the given number.
func (req *Request) ReadForm(most FormBounds, read func(ctx context.Context, most int64) ([]byte, error)) error {
	if req.R.ContentLength != 0 {
		if mediaType, _, err := mime.ParseMediaType(req.R.Header.Get("Content-Type")); err != nil || mediaType != formType {
			return problem.For(api.CodeUnsupportedMediaType).Because(ErrForm)
		}
	}
	body, err := read(req.R.Context(), most.Bytes)
	if err != nil {
		return BodyError(err)
	}
	if req.Form, err = parseFields(string(body), most.Fields); err != nil {
		return problem.For(api.CodeMalformedRequest).Because(fmt.Errorf("%w: %w", ErrForm, err))
	}
	return nil
}

// BodyError returns the problem with a body that could not be read: it is too large, or there is no place for it, or
// the client disconnected or was too slow.
func BodyError(err error) error {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return problem.For(api.CodePayloadTooLarge).Because(err)
	}
	if errors.Is(err, fairlimit.ErrFull) {
		return err
	}
	return problem.For(api.CodeMalformedRequest).Because(fmt.Errorf("%w: %w", ErrForm, err))
}

// IsUTF8 reports whether a form is valid UTF-8.
func IsUTF8(form url.Values) bool {
	for name, values := range form {
		if !utf8.ValidString(name) || slices.ContainsFunc(values,
			func(value string) bool { return !utf8.ValidString(value) }) {
			return false
		}
	}
	return true
}

// parseFields parses a form with at most the given number of fields (WHATWG URL, section 5.1).
func parseFields(text string, most int) (url.Values, error) {
	if strings.Count(text, "&") >= most {
		return nil, fmt.Errorf("%w: more than %d fields", ErrFields, most)
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
