package drill_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client"
	"quittance/internal/exchange/webhook"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ops/service"
	"quittance/sandbox"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
	"quittance/tools/load/drill"
	"quittance/tools/load/rig"
)

// startSandbox runs a sandbox, whose webhooks may reach this machine, until the test ends.
func startSandbox(t *testing.T) sandbox.Info {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(context.Background())
	started, err := sandbox.Start(ctx, sandbox.Config{Data: t.TempDir(), ProviderListen: "127.0.0.1:0",
		Pace: 20 * time.Millisecond, Empty: true, Now: time.Now, Log: quiet,
		Service: service.Config{Listen: "127.0.0.1:0", MaxBody: 1 << 20, TokenTTL: time.Hour, IdempotencyTTL: time.Hour,
			PollFirst: 20 * time.Millisecond, PollMax: time.Second, ProviderTimeout: time.Minute,
			PurchaseInterval: 100 * time.Millisecond, RetryFirst: 50 * time.Millisecond, RetryAttempts: 12,
			AttemptTimeout: time.Minute, PrintTimeout: time.Minute, ImportTimeout: time.Minute,
			Grace: 10 * time.Second, Version: "test", Log: quiet,
			Destinations: webhook.Policy{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	connections, err := invoices.Connections(ctx, started.DB(), nil)
	if err == nil {
		_, err = invoices.ConfirmCreditNotes(ctx, started.DB(), connections[0].ID, "C-1", "provider protocol")
	}
	if err != nil {
		t.Error(err)
	}
	ready, ended := make(chan sandbox.Info, 1), make(chan error, 1)
	go func() {
		ended <- started.Run(ctx, func(info sandbox.Info) error {
			info, err := started.WithAPIKey(ctx, info)
			ready <- info
			return err
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return <-ready
}

// drilled is a deployment of one company after a load, which has had no disaster.
type drilled struct {
	server  sandbox.Info
	options drill.CheckOptions
}

// newDrilled runs the load until every kind of fact is in the journals.
func newDrilled(t *testing.T) drilled {
	t.Helper()
	server := startSandbox(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "company.key"), server.APIKey)
	write(t, filepath.Join(dir, "servers"), server.BaseURL)
	d := drilled{server: server, options: drill.CheckOptions{Keys: dir, Servers: drill.Servers(filepath.Join(dir, "servers")),
		Journal: filepath.Join(dir, "journal"), Receipts: filepath.Join(dir, "receipts"), Provider: server.ProviderURL,
		ProviderCredential: server.ProviderCredential, Patience: kit.Patience(), Now: time.Now}}
	listening, ended := make(chan string, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		ended <- drill.Receive(ctx, drill.ReceiveOptions{Listen: "127.0.0.1:0", Identity: server.DataDir,
			Journal: d.options.Receipts, Now: time.Now, Ready: func(url string) error { listening <- url; return nil }})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	loading, enough := context.WithCancel(t.Context())
	defer enough()
	loaded := make(chan error, 1)
	go func() {
		loaded <- drill.Load(loading, drill.LoadOptions{Keys: dir, Servers: d.options.Servers, Journal: d.options.Journal,
			Receiver: <-listening, Provider: server.ProviderURL, ProviderCredential: server.ProviderCredential, Now: time.Now})
	}()
	kit.Until(t, "a credit note is submitted and a webhook received", func() bool {
		select {
		case err := <-loaded:
			t.Fatalf("the load has ended: %v", err)
		default:
		}
		return bytes.Contains(read(d.options.Journal), []byte(`"kind":"credit_note_submission"`)) &&
			bytes.Contains(read(d.options.Receipts), []byte(`"kind":"receipt"`))
	})
	enough()
	if err := <-loaded; err != nil {
		t.Fatal(err)
	}
	return d
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// read returns the contents of a file; a file that does not exist yet has none.
func read(path string) []byte {
	text, _ := os.ReadFile(path)
	return text
}

// TestCheckFindsEveryLoss checks that a deployment without a disaster has everything, and that a check finds each
// single fact that the deployment does not have, or has otherwise.
func TestCheckFindsEveryLoss(t *testing.T) {
	t.Parallel()
	d := newDrilled(t)
	report, err := drill.Check(t.Context(), d.options)
	if err != nil || report.Losses != 0 {
		t.Fatalf("without a disaster: %v, %q", err, report.Lost)
	}
	for kind, n := range report.Acknowledged {
		intended := slices.Contains([]drill.Kind{"changing", "submitting", "credit_note_submitting"}, kind)
		if found := report.Found[kind]; !intended && found != n {
			t.Errorf("%d of %d facts of the kind %s were found", found, n, kind)
		}
	}
	const another = "01890a5d-ac96-774b-bcce-b302099a8057"
	replace := func(before, after string) func(fact []byte) []byte {
		return func(fact []byte) []byte { // the response comes last
			at := bytes.LastIndex(fact, []byte(before))
			if at < 0 {
				return fact
			}
			return slices.Concat(fact[:at], []byte(after), fact[at+len(before):])
		}
	}
	newID := func(fact []byte) []byte { return replaceMember(t, fact, "id", another) }
	for _, test := range []struct {
		name, kind string
		change     func(fact []byte) []byte
		want       string
	}{
		{"draft", "draft", newID, "was acknowledged at"},
		{"contents of a draft", "draft", replace(`"Palm Trading LLC"`, `"Date Trading LLC"`), "other contents"},
		{"idempotency key", "draft", replace(`"key":"drill-`, `"key":"other-`), "repeated creation"},
		{"change", "change", replace(`"buyer_reference":"changed`, `"buyer_reference":"has changed`), "other contents"},
		{"submission", "submission", func(fact []byte) []byte { return replaceSubmission(t, fact, another) },
			"does not exist"},
		{"state", "submission", replace(`"reported_at":"20`, `"reported_at":"30`), "is older now"},
		{"credit note", "credit_note", newID, "does not exist"},
		{"contents of a credit note", "credit_note", replace(`"name":"Consulting"`, `"name":"Insulting"`), "other contents"},
		{"submission of a credit note", "credit_note_submission",
			func(fact []byte) []byte { return replaceSubmission(t, fact, another) }, "does not exist"},
		{"subscription", "subscription", newID, "is not active"},
		{"event", "event", newID, "does not exist"},
		{"position of an event", "event", replace(`"position":1,`, `"position":2,`), "has changed"},
		{"contents of an event", "event", replace(`"invoice_number":"`, `"invoice_number":"NOT-`), "has changed"},
		{"webhook", "receipt", newID, "does not exist"},
		{"incoming e-invoice", "purchase", newID, "has not arrived"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			changed := d.options
			changed.Patience = time.Second
			file := &changed.Journal
			if test.kind == "receipt" {
				file = &changed.Receipts
			}
			*file = alter(t, *file, test.kind, test.change)
			wantLoss(t, changed, test.want)
		})
	}
	t.Run("a webhook that has not arrived", func(t *testing.T) {
		t.Parallel()
		changed := d.options
		changed.Patience = time.Second
		changed.Receipts = filepath.Join(t.TempDir(), "receipts")
		lines := slices.Collect(bytes.Lines(read(d.options.Receipts)))
		write(t, changed.Receipts, string(bytes.Join(lines[1:], nil)))
		wantLoss(t, changed, "has not arrived")
	})
	t.Run("a provider that has lost the documents", func(t *testing.T) {
		t.Parallel()
		changed := d.options
		changed.Provider = otherLedger(t, d.options,
			func(fakeprovider.LedgerDocument) []fakeprovider.LedgerDocument { return nil })
		wantLoss(t, changed, "the provider does not have")
	})
	t.Run("a document that the service does not know", func(t *testing.T) {
		t.Parallel()
		changed := d.options
		changed.Provider = otherLedger(t, d.options,
			func(document fakeprovider.LedgerDocument) []fakeprovider.LedgerDocument {
				unknown := document
				unknown.Reference, unknown.InvoiceNumber = another, "OTHER-"+document.Reference
				return []fakeprovider.LedgerDocument{document, unknown}
			})
		wantLoss(t, changed, "which the service does not know")
	})
	t.Run("a submission that got no answer", func(t *testing.T) { // not parallel: it adds a document
		service, err := client.New(client.Config{BaseURL: d.server.BaseURL, APIKey: d.server.APIKey})
		kit.Must(t, err)
		draft, err := service.CreateInvoice(t.Context(), rig.Draft("UNANSWERED", rig.Ordinary, 1, time.Now()))
		kit.Must(t, err)
		changed := d.options
		changed.Journal = filepath.Join(t.TempDir(), "journal")
		write(t, changed.Journal, string(read(d.options.Journal))+
			fmt.Sprintf(`{"company":"company","kind":"submitting","id":%q}`+"\n", draft.ID))
		if report, err := drill.Check(t.Context(), changed); err != nil || report.Losses != 0 {
			t.Errorf("%v, %q", err, report.Lost)
		}
		draft, err = service.Invoice(t.Context(), draft.ID)
		if err != nil || draft.Submission == nil {
			t.Errorf("it is not repeated, as a customer would do: %v", err)
		}
	})
	t.Run("a document that was accepted twice", func(t *testing.T) {
		t.Parallel()
		changed := d.options
		changed.Provider = otherLedger(t, d.options,
			func(document fakeprovider.LedgerDocument) []fakeprovider.LedgerDocument {
				document.Accepted++
				return []fakeprovider.LedgerDocument{document}
			})
		wantLoss(t, changed, "more than one document")
	})
	t.Run("an empty journal", func(t *testing.T) {
		t.Parallel()
		changed := d.options
		changed.Journal = filepath.Join(t.TempDir(), "journal")
		write(t, changed.Journal, "")
		if _, err := drill.Check(t.Context(), changed); err == nil {
			t.Error("it proves nothing, but passes")
		}
	})
}

// TestLoadBeginsWithEverySubscription checks that nothing runs, and so nothing uses the journal after it is closed,
// when the service refuses the subscription of a later company.
func TestLoadBeginsWithEverySubscription(t *testing.T) {
	t.Parallel()
	calls := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusServiceUnavailable
		switch {
		case !strings.HasSuffix(r.URL.Path, "/subscriptions"):
			select {
			case calls <- r.Method + " " + r.URL.Path:
			default:
			}
		case r.Header.Get("Authorization") == "Bearer first":
			status = http.StatusCreated
		default: // it is refused when a call of the first company has come, which must not happen
			select {
			case call := <-calls:
				calls <- call
			case <-time.After(time.Second):
			}
			status = http.StatusForbidden
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w,
			`{"data":{"id":"01890a5d-ac96-774b-bcce-b302099a8057"},"error":{"code":"forbidden","message":"refused"}}`)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "1.key"), "first")
	write(t, filepath.Join(dir, "2.key"), "second")
	write(t, filepath.Join(dir, "servers"), server.URL)
	ctx, cancel := context.WithTimeout(t.Context(), kit.Patience())
	defer cancel()
	err := drill.Load(ctx, drill.LoadOptions{Keys: dir, Servers: drill.Servers(filepath.Join(dir, "servers")),
		Journal:  filepath.Join(dir, "journal"),
		Receiver: "https://127.0.0.1:1", Provider: server.URL, Now: time.Now})
	if err == nil || !strings.Contains(err.Error(), "company 2, subscription") {
		t.Errorf("the load ends with %v", err)
	}
	if len(calls) > 0 || bytes.Count(read(filepath.Join(dir, "journal")), []byte("\n")) != 1 {
		t.Errorf("a company has begun: %d calls, journal:\n%s", len(calls), read(filepath.Join(dir, "journal")))
	}
}

// wantLoss checks that a check reports a loss with a text.
func wantLoss(t *testing.T, options drill.CheckOptions, want string) {
	t.Helper()
	report, err := drill.Check(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if report.Losses == 0 || !slices.ContainsFunc(report.Lost,
		func(lost string) bool { return strings.Contains(lost, want) }) {
		t.Errorf("%d losses, %q, none of which says %q", report.Losses, report.Lost, want)
	}
}

// alter copies a journal, in which it changes the first fact of a kind that change changes.
func alter(t *testing.T, path, kind string, change func([]byte) []byte) string {
	t.Helper()
	var out bytes.Buffer
	done := false
	for line := range bytes.Lines(read(path)) {
		if !done && bytes.Contains(line, fmt.Appendf(nil, `"kind":%q`, kind)) {
			after := change(bytes.Clone(line))
			done, line = !bytes.Equal(after, line), after
		}
		out.Write(line)
	}
	if !done {
		t.Fatalf("no fact of the kind %s could be changed", kind)
	}
	copied := filepath.Join(t.TempDir(), "journal")
	write(t, copied, out.String())
	return copied
}

// replaceMember replaces a member of a fact.
func replaceMember(t *testing.T, line []byte, name, value string) []byte {
	t.Helper()
	var fact map[string]json.RawMessage
	err := json.Unmarshal(line, &fact)
	fact[name] = fmt.Appendf(nil, "%q", value)
	text, marshalErr := json.Marshal(fact)
	if err := errors.Join(err, marshalErr); err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// replaceSubmission replaces the identifier of the submission in the response of a fact.
func replaceSubmission(t *testing.T, line []byte, id string) []byte {
	t.Helper()
	var fact struct {
		Response struct {
			Submission struct {
				ID string `json:"id"`
			} `json:"submission"`
		} `json:"response"`
	}
	if err := json.Unmarshal(line, &fact); err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(line, []byte(fact.Response.Submission.ID), []byte(id))
}

// otherLedger serves the ledger of a provider with other documents in place of each, and returns its address.
func otherLedger(t *testing.T, options drill.CheckOptions,
	instead func(fakeprovider.LedgerDocument) []fakeprovider.LedgerDocument) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, options.Provider+"/control/ledger",
		http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+options.ProviderCredential)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var before, after struct {
		Documents []fakeprovider.LedgerDocument `json:"documents"`
	}
	if err := json.NewDecoder(response.Body).Decode(&before); err != nil || len(before.Documents) == 0 {
		t.Fatalf("%d documents: %v", len(before.Documents), err)
	}
	for _, document := range before.Documents {
		after.Documents = append(after.Documents, instead(document)...)
	}
	text, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	// the check may disconnect
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
	t.Cleanup(server.Close)
	return server.URL
}
