package purchase_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/test/ledgertest"
)

// shown formats the values of a revision that come from the metadata.
func shown(r api.IncomingRevision) string {
	out := []string{}
	for _, value := range []*string{r.DocumentType, r.InvoiceNumber, r.SupplierName, r.SupplierNetworkID, r.IssueDate,
		r.DueDate, r.Currency} {
		if value == nil {
			out = append(out, "-")
			continue
		}
		out = append(out, *value)
	}
	if r.TotalAmount != nil {
		out = append(out, r.TotalAmount.String())
	}
	if r.ReceivedAt != nil {
		out = append(out, r.ReceivedAt.Format("2006-01-02T15:04:05.999999999Z07:00"))
	}
	return strings.Join(out, "|")
}

// hostile lists entries that no provider should send, with the values that are shown. Every entry is retained, with or
// without an identifier.
var hostile = []struct{ name, id, entry, shown string }{
	{"ordinary", "ok",
		`{"id":"ok","document_type":"credit_note","invoice_number":"N 1","supplier_name":"Söhne","supplier_network_id":"0235:1","issue_date":"2026-02-28","due_date":"2024-02-29","currency":"JPY","total_amount":100.00,"received_at":"2026-03-01T09:00:00.1234567+04:00"}`,
		"credit_note|N 1|Söhne|0235:1|2026-02-28|2024-02-29|JPY|100.00|2026-03-01T05:00:00.123456Z"},
	{"nothing but an id", "bare", `{"id":"bare"}`, "-|-|-|-|-|-|-"},
	{"nulls", "nulls", `{"id":"nulls","document_type":null,"total_amount":null,"issue_date":null}`, "-|-|-|-|-|-|-"},
	{"NUL and control characters", "nul",
		`{"id":"nul","document_type":"invoice","invoice_number":"a\u0000b","supplier_name":"a\u001bb","supplier_network_id":"a\nb","currency":"A\u0000D"}`, "invoice|-|-|-|-|-|-"},
	{"C1 and DEL", "c1", `{"id":"c1","document_type":"invoice","invoice_number":"a\u007f","supplier_name":"\u0085x"}`,
		"invoice|-|-|-|-|-|-"},
	{"bidirectional marks stay", "bidi", `{"id":"bidi","document_type":"invoice","supplier_name":"a\u202eb"}`,
		"invoice|-|a\u202eb|-|-|-|-"},
	{"NUL in the document type", "nultype", `{"id":"nultype","document_type":"in\u0000voice","invoice_number":"N"}`,
		"unreadable|N|-|-|-|-|-"},
	{"huge texts", "huge", `{"id":"huge","document_type":"invoice","invoice_number":"` + strings.Repeat("9", 65) +
		`","supplier_name":"` + strings.Repeat("x", 100_000) + `"}`, "invoice|-|-|-|-|-|-"},
	{"the longest texts", "long", `{"id":"long","document_type":"` + strings.Repeat("t", 64) + `","invoice_number":"` +
		strings.Repeat("𝄞", 64) + `"}`, strings.Repeat("t", 64) + "|" + strings.Repeat("𝄞", 64) + "|-|-|-|-|-"},
	{"a number of 19 digits", "19", `{"id":"19","document_type":"invoice","total_amount":1234567890123456789}`,
		"invoice|-|-|-|-|-|-"},
	{"seven decimals", "7d", `{"id":"7d","document_type":"invoice","total_amount":0.1234567}`, "invoice|-|-|-|-|-|-"},
	{"out of all bounds", "1e400", `{"id":"1e400","document_type":"invoice","total_amount":1e400}`, "invoice|-|-|-|-|-|-"},
	{"an exponent", "1e2", `{"id":"1e2","document_type":"invoice","total_amount":-1.50e2}`, "invoice|-|-|-|-|-|-|-150"},
	{"18 digits", "18", `{"id":"18","document_type":"invoice","total_amount":123456789012.345678}`,
		"invoice|-|-|-|-|-|-|123456789012.345678"},
	{"an amount as text", "text", `{"id":"text","document_type":"invoice","invoice_number":"N","total_amount":"12.00"}`,
		"unreadable|N|-|-|-|-|-"},
	{"wrong types", "types",
		`{"id":"types","document_type":["invoice"],"invoice_number":7,"supplier_name":{},"currency":"AED"}`,
		"unreadable|-|-|-|-|-|AED"},
	{"a member twice", "twice", `{"id":"twice","document_type":"invoice","currency":"AED","currency":"USD"}`,
		"unreadable|-|-|-|-|-|-"},
	{"invalid UTF-8", "utf8", `{"id":"utf8","document_type":"invoice","supplier_name":"` + "\xff\xfe" + `"}`,
		"unreadable|-|-|-|-|-|-"},
	{"half a surrogate", "half", `{"id":"half","document_type":"invoice","supplier_name":"\ud800"}`,
		"unreadable|-|-|-|-|-|-"},
	{"dates that are none", "dates",
		`{"id":"dates","document_type":"invoice","issue_date":"2026-02-29","due_date":"28.02.2026","received_at":"yesterday"}`, "invoice|-|-|-|-|-|-"},
	{"dates with more", "dates2",
		`{"id":"dates2","document_type":"invoice","issue_date":"2026-02-28T00:00:00Z","due_date":" 2026-02-28","received_at":"2026-02-28"}`, "invoice|-|-|-|-|-|-"},
	{"the ends of time", "time",
		`{"id":"time","document_type":"invoice","issue_date":"0000-01-01","due_date":"9999-12-31","received_at":"9999-12-31T23:59:59.999999999Z"}`, "invoice|-|-|-|0000-01-01|9999-12-31|-|9999-12-31T23:59:59.999999Z"},
	{"currencies that are none", "cur", `{"id":"cur","document_type":"invoice","currency":"aed"}`, "invoice|-|-|-|-|-|-"},
	{"SQL", "sql", `{"id":"sql","document_type":"invoice","supplier_name":"'; drop table incoming; --"}`,
		"invoice|-|'; drop table incoming; --|-|-|-|-"},
	{"a path for an id", "../../documents", `{"id":"../../documents","document_type":"invoice"}`, "invoice|-|-|-|-|-|-"},
	{"a digest in capitals", "sum", `{"id":"sum","document_type":"invoice","sha256":"` + strings.Repeat("AB", 32) + `"}`,
		"invoice|-|-|-|-|-|-"},
	{"NUL in the id", "sha256:" + hashed("a\x00b"), `{"id":"a\u0000b","document_type":"invoice"}`, "invoice|-|-|-|-|-|-"},
	{"an id of 300 characters", "sha256:" + hashed(strings.Repeat("i", 300)),
		`{"id":"` + strings.Repeat("i", 300) + `","document_type":"invoice"}`, "invoice|-|-|-|-|-|-"},
	{"the longest id", strings.Repeat("𝄞", 256), `{"id":"` + strings.Repeat("𝄞", 256) + `","document_type":"invoice"}`,
		"invoice|-|-|-|-|-|-"},
	{"no id", "sha256:" + hashed(`{"document_type":"invoice","invoice_number":"N"}`),
		`{"document_type":"invoice","invoice_number":"N"}`, "unreadable|N|-|-|-|-|-"},
	{"an id that is a number", "sha256:" + hashed(`{"id":7}`), `{"id":7}`, "unreadable|-|-|-|-|-|-"},
	{"no object", "sha256:" + hashed(`"just a text"`), `"just a text"`, "unreadable|-|-|-|-|-|-"},
	{"null", "sha256:" + hashed(`null`), `null`, "unreadable|-|-|-|-|-|-"},
	{"an array", "sha256:" + hashed(`[[[1]]]`), `[[[1]]]`, "unreadable|-|-|-|-|-|-"},
}

// TestHostileMetadata checks that every entry is retained on both engines, and none stops the others. An unusable value
// is null, and an unreadable entry is retained as unreadable. The same entry in a later run is not a new revision.
func TestHostileMetadata(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		var list []string
		for _, h := range hostile {
			list = append(list, h.entry)
		}
		s := newScriptedProvider(t)
		s.page = func(w http.ResponseWriter, _ string, _ int) { send(w, pageOf("end", false, list...)) }
		b := newBench(t, engine, s.URL)
		for run := 1; b.cursor(t) != "end"; run++ { // one of them announces a wrong digest, so it is requested again
			if b.syncRun(t); run > 5 {
				t.Fatal("the page is never given up")
			}
		}
		got := b.retained(t)
		for _, h := range hostile {
			i, found := got[h.id]
			if !found {
				t.Errorf("%s is not there", h.name)
				continue
			}
			if shown(i.IncomingRevision) != h.shown {
				t.Errorf("%s: shown\n%.200s, want\n%.200s", h.name, shown(i.IncomingRevision), h.shown)
			}
			if i.Evidence.MetadataSHA256 != hashed(h.entry) {
				t.Errorf("%s: the metadata is not retained unchanged", h.name)
			}
		}
		if len(got) != len(hostile) {
			t.Errorf("%d are retained, want %d", len(got), len(hostile))
		}
		if sum := got["sum"].Evidence.ClaimedSHA256; sum == nil || *sum != strings.Repeat("ab", 32) ||
			got["sum"].SHA256 != hashed("document sum") {
			t.Errorf("a wrong claim: %+v", got["sum"])
		}
		if path := got["../../documents"]; path.SHA256 != hashed("document ../../documents") {
			t.Error("an id walked up the path")
		}
		b.syncRun(t)
		if again := b.kinds(t); again[api.EventIncomingReceived] != len(hostile) || again[api.EventIncomingRevised] != 0 {
			t.Errorf("after another run there are the events %v", again)
		}
	})
}

// TestLargeDocument checks that a document larger than 10 MiB leaves its metadata and its digest, and one that is too
// large to read only its metadata. A smaller document is retained completely.
func TestLargeDocument(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		sizes := map[string]int{"small": 10 << 20, "large": 10<<20 + 1, "endless": 64<<20 + 1}
		s := newScriptedProvider(t)
		s.page = onePage(entry("small"), entry("large"), entry("endless"))
		s.document = func(w http.ResponseWriter, id string, _ int) { send(w, strings.Repeat("x", sizes[id])) }
		b := newBench(t, engine, s.URL)
		b.syncRun(t)
		got := b.retained(t)
		for id, size := range sizes {
			i, sum := got[id], hashed(entry(id))
			if id != "endless" {
				sum = hashed(strings.Repeat("x", size))
			}
			if i.SHA256 != sum || i.Evidence.DocumentRetained != (id == "small") ||
				(i.Evidence.Size == nil) != (id == "endless") || *i.DocumentType != "invoice" {
				t.Errorf("%s is %+v", id, i)
			}
			if i.Evidence.Size != nil && *i.Evidence.Size != int64(size) {
				t.Errorf("%s has the size %d", id, *i.Evidence.Size)
			}
		}
	})
}

// TestEcho checks that a document or an entry that echoes our credential is withheld, and the others are shown. An echo
// in the list outside its entries affects none of them.
func TestEcho(t *testing.T) {
	s := newScriptedProvider(t)
	s.page = func(w http.ResponseWriter, _ string, _ int) {
		w.Header().Set("X-Debug", "Bearer "+credential)
		send(w,
			fmt.Sprintf(
				`{"echo":%q,"purchases":[%s,%s,{"id":"entry","supplier_name":%q},{"id":%[4]q}],"next_cursor":"c","has_more":false}`,
				credential, entry("body"), entry("clean"), base64.StdEncoding.EncodeToString([]byte(credential))))
	}
	s.document = func(w http.ResponseWriter, id string, _ int) {
		if id == "body" {
			w.Header().Set("X-Debug", credential)
		}
		send(w, "document "+id)
	}
	b := newBench(t, ledgertest.SQLite, s.URL)
	b.syncRun(t)
	got := b.retained(t)
	if len(got) != 4 {
		t.Fatalf("retained %+v", got)
	}
	if clean := got["clean"]; clean.Evidence.Withheld || *clean.InvoiceNumber != "N-clean" {
		t.Errorf("a clean document is %+v", clean)
	}
	if body := got["body"]; !body.Evidence.Withheld || body.Evidence.MediaType != "" || *body.InvoiceNumber != "N-body" ||
		*body.DocumentType != "invoice" {
		t.Errorf("a document with an echo is %+v", body)
	}
	if e := got["entry"]; !e.Evidence.Withheld || shown(e.IncomingRevision) != "unreadable|-|-|-|-|-|-" ||
		e.SHA256 != hashed("document entry") {
		t.Errorf("an entry with an echo is %+v", e)
	}
	for id, i := range got {
		text := fmt.Sprintf("%s %+v %s", id, i, shown(i.IncomingRevision))
		if strings.Contains(text, credential) || strings.Contains(text,
			base64.StdEncoding.EncodeToString([]byte(credential))) {
			t.Errorf("shown: %s", text)
		}
	}
}
