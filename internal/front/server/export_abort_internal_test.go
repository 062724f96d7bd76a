package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"quittance/internal/document/tabular"
	"quittance/internal/front/export"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
)

// TestFailureEndsExport fails if a file that could not be made whole looks like a whole one: CSV, which is sent while
// its rows are read, must end with an error of the connection, and XLSX must be an error response. Afterwards the
// company can make as many files as before.
func TestFailureEndsExport(t *testing.T) {
	exporter := export.New(0)
	columns := []tabular.Column{{Name: "text"}}
	failing := func(rows int) export.List {
		return export.List{Name: "list", Columns: columns, Rows: func(context.Context) (iter.Seq2[[]string, error], error) {
			return func(yield func([]string, error) bool) {
				for range rows {
					if !yield([]string{strings.Repeat("x", 1000)}, nil) {
						return
					}
				}
				yield(nil, errors.New(inside))
			}, nil
		}}
	}
	var log bytes.Buffer
	serve := func(rows int, format tabular.Format) operation {
		return operation{serve: func(ctx context.Context, _ *call) (int, any, error) {
			file, err := exporter.Open(ctx, base.ID{1}, failing(rows), format)
			return http.StatusOK, exportResponse{file}, err
		}}
	}
	running, _ := newTestServer(t, &log, route{method: http.MethodGet, path: "/few", needs: access.Public,
		operation: serve(1, tabular.CSV)},
		route{method: http.MethodGet, path: "/many", needs: access.Public, operation: serve(1000, tabular.CSV)},
		route{method: http.MethodGet, path: "/workbook", needs: access.Public, operation: serve(1000, tabular.XLSX)})
	for range 5 { // more than a company may make at a time
		for _, path := range []string{"/few", "/many"} {
			response, err := http.Get(running.URL + path)
			if err == nil {
				_, err = io.ReadAll(response.Body)
				response.Body.Close()
			}
			if err == nil {
				t.Errorf("%s: the response ends like a whole file", path)
			}
		}
		wantErrorResponse(t, running.URL+"/workbook", http.StatusInternalServerError, "internal")
	}
	if count := strings.Count(log.String(), inside); count < 15 {
		t.Errorf("the log has the cause %d times: %s", count, log.String())
	}
}
