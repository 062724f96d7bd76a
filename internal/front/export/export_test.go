package export_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"testing"

	"quittance/internal/document/tabular"
	"quittance/internal/front/export"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/fairlimit"
)

// TestExportsAreBounded checks that a company can make two files at a time, and as many again when they are closed.
func TestExportsAreBounded(t *testing.T) {
	exporter := export.New(0)
	empty := export.List{Name: "list", Columns: []tabular.Column{{Name: "text"}},
		Rows: func(context.Context) (iter.Seq2[[]string, error], error) {
			return func(func([]string, error) bool) {}, nil
		}}
	open := func(company base.ID) *export.File {
		t.Helper()
		file, err := exporter.Open(t.Context(), company, empty, tabular.XLSX)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	first, second := open(base.ID{1}), open(base.ID{1})
	if _, err := exporter.Open(t.Context(), base.ID{1}, empty, tabular.CSV); !errors.Is(err, fairlimit.ErrFull) {
		t.Errorf("the third file of a company: %v", err)
	}
	for _, file := range []*export.File{first, second, open(base.ID{2})} {
		var out bytes.Buffer
		if _, err := file.WriteTo(&out); err != nil || out.Len() == 0 {
			t.Errorf("%d bytes: %v", out.Len(), err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := open(base.ID{1}).Close(); err != nil {
		t.Error(err)
	}
}
