package server_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"quittance/client/api"
	"quittance/test/kit"
)

// wantSummary fails the test unless row is the list entry of whole: all its fields except the items, and their number.
func wantSummary(t *testing.T, row, whole string) {
	t.Helper()
	var got, want map[string]any
	for text, into := range map[string]*map[string]any{row: &got, whole: &want} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	items, _ := want["items"].([]any)
	want["item_count"] = float64(len(items))
	for _, list := range []string{"items", "allowances", "charges", "preceding_invoices"} {
		delete(want, list)
	}
	if missing, ok := want["missing"].([]any); ok {
		warnings, _ := want["warnings"].(map[string]any)
		want["missing_count"], want["warning_count"] = float64(len(missing)), float64(len(warnings))
		want["missing"] = missing[:min(len(missing), api.MaxSummaryPaths)]
	}
	wantEqual(t, "the entry of the list", got, want)
}

// wantEqual fails the test unless two values are equal, and shows their differences. A nil map equals an empty one.
func wantEqual(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// TestListEntriesMatchInvoices checks that an entry of the list equals the invoice without its items, whether it is
// complete or submitted or not.
func TestListEntriesMatchInvoices(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		c := s.connected(t)
		var ids []string
		for _, body := range []string{least, complete, edit(edit(complete, "due_date", `"2020-01-01"`), "items[0].unit_code",
			`"no such unit"`),
			edit(least, "items", `[`+strings.Repeat(`{"name":"x","quantity":1,"net_unit_price":1},`, 40)+
				`{"name":"x","quantity":1,"net_unit_price":1}]`)} {
			ids = append(ids, c.draft(t, body))
		}
		c.post(t, invoicesPath+"/"+ids[1]+"/submit", "").want(t, http.StatusOK, "")
		kit.Until(t, "the four states", func() bool {
			return c.get(t, invoicesPath+"/"+ids[1]).raw(t,
				"/data/submission/next_check_at") == "null"
		})
		slices.Reverse(ids) // newest first
		list := c.get(t, invoicesPath)
		for n, id := range ids {
			wantSummary(t, list.raw(t, "/data/"+strconv.Itoa(n)), c.get(t, invoicesPath+"/"+id).raw(t, "/data"))
		}
	})
}

// TestSummariesHaveEveryField checks that the list entries of invoices and credit notes have every field of the whole
// object except its items, allowances, charges and preceding invoices.
func TestSummariesHaveEveryField(t *testing.T) {
	for _, pair := range []struct {
		whole, row reflect.Type
		more       []string
	}{
		{reflect.TypeFor[api.Invoice](), reflect.TypeFor[api.InvoiceSummary](),
			[]string{"item_count", "missing_count", "warning_count"}},
		{reflect.TypeFor[api.CreditNote](), reflect.TypeFor[api.CreditNoteSummary](), []string{"item_count"}},
	} {
		want, got := fieldNames(pair.whole), fieldNames(pair.row)
		for _, list := range []string{"items", "allowances", "charges", "preceding_invoices"} {
			delete(want, list)
		}
		for _, name := range pair.more {
			want[name] = got[name]
		}
		if !maps.Equal(want, got) {
			t.Errorf("%s has %v\n%s has %v", pair.row, got, pair.whole, want)
		}
	}
}

// fieldNames returns the JSON names of a type's fields, with their types.
func fieldNames(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && !field.Anonymous {
			out[name] = field.Type
		}
	}
	return out
}

// lengths are the greatest lengths, in characters, of fields whose tags have no bound, because their source bounds
// them.
var lengths = map[string]int{
	"submission_state": 256, "provider_invoice_state": 256, "tax_authority_state": 256, "receiver_state": 256,
	"value": 256, "words": 256, "provider_reference": 256, "provider_document_id": 256, "document_type": 64,
	"supplier_name": 256, "supplier_network_id": 64, "media_type": 255, "call": 6, "url": 2048, "description": 1024,
	"deactivation_reason": 64, "event": 64, "state": 64, "reason": 1024, "outcome": 64, "by": 256, "decision": 64,
	"kind": 7, "credit_note_number": 64, "environment": 64, "currency": 3, "buyer_country": 2, "transaction_flags": 8,
	"issue_time": 5, "events": 64, "country": 2,
	"meaning": 8,
}

// longest returns the length of the longest JSON text of a type, in bytes. It fails the test if a part has no known
// bound.
func longest(t *testing.T, name string, field reflect.StructField, of reflect.Type) int {
	t.Helper()
	const escaped = 6 // \u001f: no character takes more
	number := func(tag string) int { n, _ := strconv.Atoi(field.Tag.Get(tag)); return n }
	switch {
	case of == reflect.TypeFor[time.Time]():
		return 30
	case of == reflect.TypeFor[api.Decimal](), of == reflect.TypeFor[api.Amount]():
		return 64
	case of == reflect.TypeFor[api.Faults]():
		// The first paths of the draft and every field of the profile, each with at most two faults. A fault, with its rule
		// and its message, takes less than 256 bytes.
		return (api.MaxSummaryPaths + reflect.TypeFor[api.Profile]().NumField()) * (64 + 2*256)
	case name == "missing":
		return api.MaxSummaryPaths * 64
	case of.Kind() == reflect.Pointer:
		return max(4, longest(t, name, field, of.Elem()))
	case of.Kind() == reflect.Struct:
		sum := 2
		for _, inner := range reflect.VisibleFields(of) {
			innerName, _, _ := strings.Cut(inner.Tag.Get("json"), ",")
			if inner.Anonymous || innerName == "" || len(inner.Index) > 1 && !of.FieldByIndex(inner.Index[:1]).Anonymous {
				continue
			}
			sum += len(innerName) + 4 + longest(t, innerName, inner, inner.Type)
		}
		return sum
	case of.Kind() == reflect.Map: // a word of each dimension
		return 4*(32+escaped*lengths[name]) + 2
	case of.Kind() == reflect.Slice: // of event kinds
		return len(api.EventKinds)*(escaped*lengths[name]+3) + 2
	case of.Kind() == reflect.String:
		characters := max(number("maxLength"), lengths[name])
		switch {
		case field.Tag.Get("format") == "uuid", field.Tag.Get("format") == "date":
			characters = 36
		case slices.Contains([]string{"sha256", "digest", "previous", "metadata_sha256", "claimed_sha256"}, name):
			characters = 64
		}
		if characters == 0 {
			characters = 64
			if !slices.Contains([]string{"invoice_number", "reason_code"}, name) {
				t.Errorf("%s has no known bound", name)
			}
		}
		if number("maxLength") > 0 && field.Tag.Get("text") != "any" {
			return 4*characters + 2 // no control characters, which the API refuses: none takes more in UTF-8
		}
		return escaped*characters + 2
	}
	return 24 // a number or a flag
}

// TestPagesAreBounded checks that a hundred of the longest entries of any list with page numbers take less than 12 MiB,
// so that a page never has to end early.
func TestPagesAreBounded(t *testing.T) {
	const pageBytes, perPage = 12 << 20, 100
	for _, row := range []reflect.Type{reflect.TypeFor[api.InvoiceSummary](), reflect.TypeFor[api.CreditNoteSummary](),
		reflect.TypeFor[api.IncomingInvoice](), reflect.TypeFor[api.IncomingRevision](),
		reflect.TypeFor[api.SubmissionRecord](), reflect.TypeFor[api.Evidence](), reflect.TypeFor[api.Subscription](),
		reflect.TypeFor[api.Delivery]()} {
		bytes := longest(t, row.Name(), reflect.StructField{}, row)
		t.Logf("%s: at most %d bytes", row, bytes)
		if bytes*perPage > pageBytes {
			t.Errorf("%d entries of %s may have %d bytes", perPage, row, bytes*perPage)
		}
	}
}
