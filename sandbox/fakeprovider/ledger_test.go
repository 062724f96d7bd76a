package fakeprovider_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"quittance/internal/platform/secret"
	"quittance/sandbox/fakeprovider"
)

// open opens a ledger and closes it with the test, unless the test closes it.
func open(t *testing.T, dir string) *fakeprovider.Ledger {
	t.Helper()
	ledger, err := fakeprovider.OpenLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ledger.Close(); err != nil {
			t.Error(err)
		}
	})
	return ledger
}

// accept accepts a document with its own body.
func accept(t *testing.T, ledger *fakeprovider.Ledger, reference string) fakeprovider.LedgerDocument {
	t.Helper()
	doc, err := ledger.Accept(fakeprovider.LedgerDocument{
		Reference: reference, ProviderReference: "P-" + reference, AcceptedAt: time.Unix(1_700_000_000, 0).UTC(),
		Plan: fakeprovider.Plan{{Status: "accepted"}},
	}, []byte(`{"reference":"`+reference+`","text":"<é>"}`))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// file returns the ledger's file in a directory.
// wantEqual fails the test unless two values are equal, and shows their differences.
func wantEqual(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func file(dir string) string { return filepath.Join(dir, "provider-ledger.jsonl") }

func TestAReopenedLedgerIsTheSame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on", "demand")
	ledger := open(t, dir)
	for i := range 20 {
		accept(t, ledger, fmt.Sprintf("ref-%d", i%15))
	}
	if _, err := ledger.Accept(fakeprovider.LedgerDocument{Reference: "ref-0"}, []byte("other")); !errors.Is(err,
		fakeprovider.ErrReferenceReused) {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "one", "two"} {
		if _, err := ledger.AddPurchase(fakeprovider.Purchase{ID: "p", MediaType: "text/plain"}, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	documents, purchases := ledger.Documents(), ledger.PurchaseList()
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Accept(fakeprovider.LedgerDocument{Reference: "late"}, nil); !errors.Is(err,
		fakeprovider.ErrLedgerClosed) {
		t.Fatal(err)
	}
	again := open(t, dir)
	if len(documents) != 15 || len(purchases) != 2 {
		t.Fatalf("%d documents and %d purchases, want 15 and 2", len(documents), len(purchases))
	}
	wantEqual(t, "documents after the ledger was opened again", again.Documents(), documents)
	wantEqual(t, "purchases after the ledger was opened again", again.PurchaseList(), purchases)
	if d, _ := again.Document("ref-0"); d.Received != 3 || d.Accepted != 1 || d.Conflicts != 1 {
		t.Fatalf("%+v", d)
	}
	if body, found, err := again.Body("ref-7"); err != nil || !found ||
		string(body) != `{"reference":"ref-7","text":"<é>"}` {
		t.Fatalf("%q %v %v", body, found, err)
	}
	if p, text, found, err := again.PurchaseDocument("p"); err != nil || !found || string(text) != "two" ||
		p.MediaType != "text/plain" {
		t.Fatalf("%+v %q %v %v", p, text, found, err)
	}
}

// TestATornTailIsRemoved cuts the file at every byte of its last line, whose request was not answered.
func TestATornTailIsRemoved(t *testing.T) {
	dir := t.TempDir()
	ledger := open(t, dir)
	accept(t, ledger, "ref-1")
	accept(t, ledger, "ref-2")
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file(dir))
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.IndexByte(whole, '\n') + 1
	tails := [][]byte{[]byte("{\"kind\":\"docu\n"), bytes.Repeat([]byte{0}, 100)}
	for cut := last; cut < len(whole); cut++ {
		tails = append(tails, whole[last:cut])
	}
	for _, tail := range tails {
		torn := t.TempDir()
		if err := os.WriteFile(file(torn), append(bytes.Clone(whole[:last]), tail...), 0o600); err != nil {
			t.Fatal(err)
		}
		ledger, err := fakeprovider.OpenLedger(torn)
		if err != nil {
			t.Fatalf("tail %q: %v", tail, err)
		}
		if docs := ledger.Documents(); len(docs) != 1 || docs[0].Reference != "ref-1" {
			t.Fatalf("tail %q: %+v", tail, docs)
		}
		accept(t, ledger, "ref-2")
		if err := ledger.Close(); err != nil {
			t.Fatal(err)
		}
		if now, err := os.ReadFile(file(torn)); err != nil || !bytes.Equal(now, whole) {
			t.Fatalf("tail %q: %v, file %s", tail, err, now)
		}
	}
}

func TestACorruptLedgerIsRefused(t *testing.T) {
	for _, text := range []string{
		"garbage\n{\"kind\":\"repeat\",\"reference\":\"a\"}\n", "{\"kind\":\"repeat\",\"reference\":\"a\"}\n",
		"{\"kind\":\"later\"}\n", "{\"kind\":\"document\"}\n", "{\"kind\":\"purchase\"}\n",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(file(dir), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := fakeprovider.OpenLedger(dir); !errors.Is(err, fakeprovider.ErrLedgerCorrupt) {
			t.Errorf("%q: %v", text, err)
		}
		if now, err := os.ReadFile(file(dir)); err != nil || string(now) != text {
			t.Errorf("a refused ledger was changed to %q, %v", now, err)
		}
	}
}

// TestAcceptancesAreCounted checks that the number of acceptances is counted from the file, so that a second one would
// show.
func TestAcceptancesAreCounted(t *testing.T) {
	dir := t.TempDir()
	line := `{"kind":"document","document":{"reference":"a","sha256":"x"},"body":"{}"}` + "\n"
	if err := os.WriteFile(file(dir), []byte(line+line), 0o600); err != nil {
		t.Fatal(err)
	}
	if docs := open(t, dir).Documents(); len(docs) != 1 || docs[0].Accepted != 2 {
		t.Fatalf("%+v", docs)
	}
}

func TestALedgerHasOneOwner(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	if _, err := fakeprovider.OpenLedger(dir); !errors.Is(err, fakeprovider.ErrLedgerInUse) {
		t.Fatal(err)
	}
}

func TestRacingWritesAreDurable(t *testing.T) {
	dir := t.TempDir()
	ledger := open(t, dir)
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			accept(t, ledger, fmt.Sprintf("ref-%d", i%50))
			if _, err := ledger.AddPurchase(fakeprovider.Purchase{ID: fmt.Sprintf("p-%d", i%10)}, []byte("same")); err != nil {
				t.Error(err)
			}
			text, err := os.ReadFile(file(dir))
			if err != nil || !bytes.Contains(text, fmt.Appendf(nil, `"reference":"ref-%d"`, i%50)) {
				t.Errorf("ref-%d was accepted and is not in the file: %v", i%50, err)
			}
		})
	}
	group.Wait()
	docs := ledger.Documents()
	for _, d := range docs {
		if d.Received != 4 || d.Accepted != 1 || d.Conflicts != 0 {
			t.Errorf("%+v", d)
		}
	}
	if len(docs) != 50 || len(ledger.PurchaseList()) != 10 {
		t.Errorf("%d documents, %d purchases", len(docs), len(ledger.PurchaseList()))
	}
}

// killDir is the variable that makes the test below run as the process to kill.
const killDir = "QUITTANCE_TEST_PROVIDER_DIR"

// TestAcknowledgedSurvivesKill runs a provider sandbox in another process, kills it with SIGKILL during submissions,
// and compares its responses with its ledger.
func TestAcknowledgedSurvivesKill(t *testing.T) {
	if dir := os.Getenv(killDir); dir != "" {
		serveUntilKilled(t, dir)
		return
	}
	dir := t.TempDir()
	acknowledged := map[string]fakeprovider.Report{}
	for round := range 3 {
		url, kill := startVictim(t, dir)
		maps.Copy(acknowledged, submitUntilDead(t, url, round, 40, kill))
	}
	s := start(t, dir, nil)
	docs := map[string]fakeprovider.LedgerDocument{}
	for _, d := range s.Ledger().Documents() {
		if _, twice := docs[d.Reference]; twice || d.Accepted != 1 {
			t.Errorf("%s was accepted more than once", d.Reference)
		}
		docs[d.Reference] = d
	}
	for reference, report := range acknowledged {
		d, ok := docs[reference]
		if !ok || d.ProviderReference != report.ProviderReference {
			t.Errorf("%s was answered with %+v, the ledger has %+v", reference, report, d)
			continue
		}
		wantEqual(t, "the report on "+reference, d.Report(d.AcceptedAt), report)
	}
	if len(acknowledged) < 120 {
		t.Errorf("only %d answers", len(acknowledged))
	}
}

// serveUntilKilled is the other process. Its clock does not move, so that a report is that of the acceptance.
func serveUntilKilled(t *testing.T, dir string) {
	clock := &handClock{}
	server, err := fakeprovider.New(fakeprovider.Options{Dir: dir, Credential: secret.New(credential), Clock: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("listening on", httptest.NewServer(server).URL)
	// Standard input is a pipe from the parent, so that this process ends with it.
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Fatal(err)
	}
}

// startVictim starts the other process and returns its address and a function that kills it.
func startVictim(t *testing.T, dir string) (url string, kill func()) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAcknowledgedSurvivesKill$")
	command.Env = append(os.Environ(), killDir+"="+dir)
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	first, err := bufio.NewReader(stdout).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(first), "listening on ")
	if err != nil || !found {
		t.Fatalf("the other process says %q, %v", first, err)
	}
	return url, sync.OnceFunc(func() {
		if err := command.Process.Kill(); err != nil {
			t.Error(err)
		}
		stdin.Close()
		if err := command.Wait(); command.ProcessState == nil {
			t.Error(err)
		}
	})
}

// submitUntilDead submits concurrently, kills the process after some responses, and returns the responses.
func submitUntilDead(t *testing.T, url string, round, enough int, kill func()) map[string]fakeprovider.Report {
	t.Helper()
	acknowledged := map[string]fakeprovider.Report{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for side := range 8 {
		group.Go(func() {
			for n := 0; ; n++ {
				reference := fmt.Sprintf("ref-%d-%d-%d", round, side, n)
				report, ok := submitTo(t, url, reference)
				if !ok {
					return
				}
				mu.Lock()
				acknowledged[reference] = report
				full := len(acknowledged) >= enough
				mu.Unlock()
				if full {
					kill()
				}
			}
		})
	}
	group.Wait()
	return acknowledged
}

// submitTo submits a document; ok is false without a complete response.
func submitTo(t *testing.T, url, reference string) (report fakeprovider.Report, ok bool) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/documents",
		strings.NewReader(document(t, reference, nil)))
	if err != nil {
		t.Error(err)
		return report, false
	}
	request.Header.Set("Authorization", "Bearer "+credential)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return report, false
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return report, false
	}
	if err := json.Unmarshal(text, &report); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%d %s: %v", response.StatusCode, text, err)
		return report, false
	}
	return report, true
}

func BenchmarkLedgerAccept(b *testing.B) {
	ledger, err := fakeprovider.OpenLedger(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = ledger.Close() })
	var n sync.Mutex
	next := 0
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n.Lock()
			next++
			reference := fmt.Sprintf("ref-%d", next)
			n.Unlock()
			if _, err := ledger.Accept(fakeprovider.LedgerDocument{Reference: reference},
				[]byte(`{"reference":"x"}`)); err != nil {
				b.Error(err)
			}
		}
	})
}
