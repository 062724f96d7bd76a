package console

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/document/tabular"
	"quittance/internal/front/page"
	"quittance/internal/platform/problem"
)

const (
	// maxUpload is the size in bytes of the largest form with a file: the file and the headers around it.
	maxUpload = tabular.MaxBytes + 64<<10
	// maxFileName is the number of characters of a file's name that are kept.
	maxFileName = 100
)

// readUpload reads the file of a form into req.file.
func (req *Request) readUpload() error {
	mediaType, parameters, err := mime.ParseMediaType(req.R.Header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/form-data" {
		return problem.For(api.CodeUnsupportedMediaType).Because(page.ErrForm)
	}
	body, err := req.Admission.ReadBody(req.R.Context(), maxUpload)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return ErrUpload.Because(err)
	}
	if err != nil {
		return page.BodyError(err)
	}
	parts := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil // there is no file
		}
		if err != nil {
			return problem.For(api.CodeMalformedRequest).Because(fmt.Errorf("%w: %w", page.ErrForm, err))
		}
		if part.FormName() != "file" {
			continue
		}
		if req.File.Body, err = io.ReadAll(part); err != nil {
			return problem.For(api.CodeMalformedRequest).Because(fmt.Errorf("%w: %w", page.ErrForm, err))
		}
		req.File.Name = fileName(part.FileName())
		return nil
	}
}

// fileName returns a name that a browser has sent, as it can be stored and shown.
func fileName(sent string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, sent))
	return string(runes[:min(len(runes), maxFileName)])
}
