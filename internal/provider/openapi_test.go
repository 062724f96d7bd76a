package provider_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
)

// eInvoiceBEDescription is the provider's own description of the operations that the adapter uses, cut out of its
// OpenAPI document 1.1.0 (api/openapi.json of github.com/e-invoice-be/peppol-cli at db05da8, MIT License) without any
// other change.
var eInvoiceBEDescription = sync.OnceValues(func() (validator.Validator, error) {
	return readDescription("testdata/e-invoice-be/openapi.json")
})

// readDescription reads an OpenAPI document. Its validator is strict: parameters and properties that are not described
// are errors. A fault may have a status that is not described.
func readDescription(file string) (validator.Validator, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		return nil, err
	}
	v, errs := validator.NewValidator(document, config.WithStrictMode(), config.WithFormatAssertions(),
		config.WithoutResponseStatusValidation())
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return v, nil
}

// described serves with a handler, and fails the test at a request or response that does not follow e-invoice.be's
// description.
func described(t *testing.T, handler http.Handler) http.Handler {
	t.Helper()
	description, err := eInvoiceBEDescription()
	if err != nil {
		t.Fatal(err)
	}
	return describedBy(t, description, handler)
}

// describedBy serves with a handler, and fails the test at a request or response that does not follow a description.
func describedBy(t *testing.T, description validator.Validator, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if ok, faults := description.ValidateHttpRequestSync(r); !ok {
			for _, fault := range faults {
				t.Errorf("%s %s: %s: %s", r.Method, r.URL, fault.Message, fault.Reason)
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, r)
		response := recorder.Result()
		if ok, faults := description.ValidateHttpResponse(r, response); !ok {
			for _, fault := range faults {
				t.Errorf("%s %s: %d: %s: %s", r.Method, r.URL, response.StatusCode, fault.Message, fault.Reason)
			}
		}
		maps.Copy(w.Header(), recorder.Header())
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes()) // the adapter may have given up
	})
}
