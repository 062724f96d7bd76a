package pdf

import (
	"runtime"
	"strings"
	"testing"

	"quittance/client/api"
)

// TestHostileTextsAreCut: texts whose direction changes with every letter are the dearest to shape. A document full of
// them has a file, for which at most a quarter of what shaping all of them would take is allocated.
func TestHostileTextsAreCut(t *testing.T) {
	const most = 1200 << 20 // bytes; all of them would take 5 GiB
	d := &api.ParsedDocument{Type: api.ReceivedInvoice}
	hostile := strings.Repeat("aب", 900)
	for range 250 {
		d.Lines = append(d.Lines, api.ParsedLine{Name: &hostile, Description: &hostile, Allowances: []api.ParsedAllowance{}})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	file, err := Render(t.Context(), &Document{Content: d})
	runtime.ReadMemStats(&after)
	if err != nil || len(file) == 0 {
		t.Fatalf("%d bytes: %v", len(file), err)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > most {
		t.Errorf("%d bytes were allocated, want at most %d", allocated, most)
	}
}
