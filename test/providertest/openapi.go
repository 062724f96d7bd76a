package providertest

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
)

// ReadDescription reads an OpenAPI document. Its validator is strict: parameters and properties that are not described
// are errors. A fault may have a status that is not described.
func ReadDescription(file string) (validator.Validator, error) {
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

// DescribedBy serves with a handler, and fails the test at a request or response that does not follow a description.
func DescribedBy(t *testing.T, description validator.Validator, handler http.Handler) http.Handler {
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
