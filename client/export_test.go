package client_test

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"quittance/client"
	"quittance/client/api"
)

// TestBrokenExport fails if a file that the service could not finish is read like a whole one, or if a refusal is read
// as a file.
func TestBrokenExport(t *testing.T) {
	s := newService(t)
	s.script = []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "\ufeffid\r\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}, write(422, `{"error":{"code":"too_many_rows","message":"m","details":{"rows":[]}}}`)}
	c := newClient(t, s.configure(&sleeps{}))
	file, err := c.ExportInvoices(t.Context(), client.InvoiceQuery{}, api.ExportCSV)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(file); err == nil || string(text) != "\ufeffid\r\n" {
		t.Errorf("read %q: %v", text, err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	_, err = c.ExportInvoices(t.Context(), client.InvoiceQuery{}, api.ExportCSV)
	if failed, ok := errors.AsType[*api.Error](err); !ok || failed.Code != api.CodeTooManyRows {
		t.Errorf("error %v", err)
	}
}
