package conformance_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client"
	"quittance/client/api"
	"quittance/client/receiver"
	"quittance/test/kit"
)

// blocks returns the blocks of a language in a page of the guides, with their lines.
func blocks(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		found = append(found, block[1])
	}
	return found
}

// TestPageCalls runs the shell commands of the pages, block by block in one directory each. curl fails if the response
// is an error. The values of a page are replaced by those of a sandbox.
func TestPageCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and starts the binary; make test runs it")
	}
	s := startSandbox(t)
	c, err := client.New(client.Config{BaseURL: s.BaseURL, Email: s.Email, Password: s.Password})
	if err != nil {
		t.Fatal(err)
	}
	draft, err := c.CreateInvoice(t.Context(), completeDraft())
	if err != nil {
		t.Fatal(err)
	}
	login, err := c.Login(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	feed, err := c.Events(t.Context(), "", 1)
	if err != nil {
		t.Fatal(err)
	}
	received, err := url.Parse(s.ReceiverURL)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{
		"http://127.0.0.1:8080": s.BaseURL,
		"qk_sandbox_…":          s.key,
		"owner@example.com":     s.Email,
		`"password":"…"`:        `"password":"` + s.Password + `"`,
		"./sandbox":             s.DataDir,
		":PORT/":                ":" + received.Port() + "/",
		"2027-03-01T00:00:00Z":  time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339),
	}
	environment := []string{"TOKEN=" + login.Token, "ID=" + draft.ID, "CURSOR=" + feed.Pagination.NextCursor,
		"API=" + s.BaseURL + "/api/v1", "TIMESTAMP=" + vectorTimestamp, "SECRET=" + vectorSecret}
	for page, runs := range map[string]int{"docs/access.md": 1, "docs/errors.md": 1, "docs/guide.md": 6,
		"docs/webhooks.md": 4, "docs/sandbox.md": 5, "docs/sdk.md": 1} {
		t.Run(page, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"body.json": vectorBody, ".curlrc": "fail\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Link(s.ready, filepath.Join(dir, "ready.json")); err != nil {
				t.Fatal(err)
			}
			ran := 0
			state := "" // what earlier blocks have set
			for _, block := range blocks(t, page, "sh") {
				if !regexp.MustCompile(`(?m)^[^#]*\b(curl|openssl)\b|ready\.json\)`).MatchString(block) ||
					strings.HasPrefix(block, "quittance ") {
					continue // TestGuideCommandLines has those of this program
				}
				for _, value := range slices.Sorted(maps.Keys(values)) {
					block = strings.ReplaceAll(block, value, values[value])
				}
				ran++
				printed := runShell(t, dir, state+block, append(environment, "CURL_HOME="+dir))
				if strings.Contains(block, "dgst") && !strings.HasPrefix(printed, vectorSignature) {
					t.Errorf("openssl printed %s", printed)
				}
				if page == "docs/sdk.md" { // the programs of the page have got what they need
					if got, want := runShell(t, dir, block+"echo $QUITTANCE_URL $QUITTANCE_API_KEY", environment), s.BaseURL+" "+
						s.APIKey+"\n"; got != want {
						t.Errorf("the programs get %q, want %q", got, want)
					}
				}
				if assignments := regexp.MustCompile(`(?m)^(?:export )?[A-Z_]+=.*$`).FindAllString(block,
					-1); strings.Contains(block, "ready.json") {
					state = strings.Join(assignments, "\n") + "\n"
				}
			}
			if ran != runs {
				t.Errorf("%d blocks ran, want %d", ran, runs)
			}
		})
	}
}

// runShell runs a script that ends at its first error, and returns what it printed.
func runShell(t *testing.T, dir, script string, environment []string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-eu", "-o", "pipefail", "-c", script)
	command.Dir, command.Env = dir, append(os.Environ(), environment...)
	var log bytes.Buffer
	command.Stderr = &log
	printed, err := command.Output()
	if err != nil {
		t.Errorf("%v: %s%s\n%s", err, printed, log.Bytes(), script)
	}
	return string(printed)
}

// The example of docs/webhooks.md.
const (
	vectorSecret    = "whsec_this-is-an-example-and-signs-nothing-at-all"
	vectorTimestamp = "2026-03-01T09:30:00.000000Z"
	vectorBody      = `{"schema_version":"service-webhook-v2","id":"0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90"}`
	vectorSignature = "bfa4070535a39003625f2b391408588ef11b7c72e6173dce9067717a5212454b"
)

// completeDraft returns a draft that can be submitted.
func completeDraft() api.Draft {
	amount := func(text string) *api.Decimal { return new(api.MustDecimal(text)) }
	return api.Draft{InvoiceNumber: new("PAGE-1"), RecipientName: new("Palm Trading LLC"),
		RecipientNetworkID: new("1234567890"), BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Harbour Road"),
		BuyerCity: new("Dubai"), BuyerSubdivision: new("DXB"), BuyerCountry: new("AE"),
		TotalAmount: amount("1050.00"), Currency: new("AED"), IssueDate: new("2026-03-01"), DueDate: new("2026-03-31"),
		PaymentMeansCode: new("30"),
		Items: []api.Item{{Name: new("Consulting"), UnitCode: new("HUR"), Quantity: amount("10"),
			NetUnitPrice: amount("100.00"), VATCategory: new("S"), VATRate: amount("5")}}}
}

// TestPageReceivers runs the receivers of docs/webhooks.md, and sends each a callback, the same again, a tampered one,
// one that is too old, and signed ones that are no events.
func TestPageReceivers(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts the receivers; make test runs it")
	}
	certificate := ""
	for _, block := range blocks(t, "docs/webhooks.md", "sh") {
		if strings.HasPrefix(block, "openssl req") {
			certificate = block
		}
	}
	for language, program := range guidePrograms {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			// An address of its own, because the programs listen on fixed ports.
			host := fmt.Sprintf("127.%d.%d.%d", 64+rand.IntN(128), rand.IntN(256), 1+rand.IntN(254))
			runShell(t, dir, strings.ReplaceAll(certificate, "127.0.0.1", host), nil)
			texts := blocks(t, "docs/webhooks.md", language)
			if len(texts) != 1 {
				t.Fatalf("%d programs, want one", len(texts))
			}
			text := strings.ReplaceAll(texts[0], "127.0.0.1", host)
			address := host + ":" + regexp.MustCompile(`\b84[0-9]{2}\b`).FindString(text)
			file := filepath.Join(dir, program.file)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			command := program.command(t, file)
			if language == "go" { // go run would not hand on the signal that ends it
				kit.Must(t, kit.Build(t.Context(), filepath.Join(dir, "receiver"), file))
				command = exec.CommandContext(t.Context(), filepath.Join(dir, "receiver"))
			}
			if command.Env == nil {
				command.Env = os.Environ()
			}
			command.Dir, command.Env = dir, append(command.Env, "WEBHOOK_SECRET="+vectorSecret)
			callReceiver(t, command, dir, "https://"+address+"/hooks")
		})
	}
}

// callReceiver starts a receiver that has its certificate in dir, and calls it.
func callReceiver(t *testing.T, command *exec.Cmd, dir, address string) {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(dir, "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	caller := &http.Client{Transport: transport, Timeout: kit.Patience()}
	defer transport.CloseIdleConnections()
	log := &buffer{}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := command.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = command.Wait() // it was killed
	}()
	call := func(body, timestamp, id string) int {
		signature := receiver.Signature([]byte(vectorSecret), timestamp, []byte(body))
		status := 0
		kit.Eventually(t, func() error { // it may not listen yet
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
			kit.Must(t, err)
			request.Header = http.Header{"Content-Type": {"application/json"}, "X-Webhook-Event": {"einvoice.terminal"},
				"X-Webhook-Delivery": {id}, "X-Webhook-Timestamp": {timestamp}, "X-Webhook-Signature": {signature}}
			response, err := caller.Do(request)
			if err != nil {
				return fmt.Errorf("%w\n%s", err, log)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			status = response.StatusCode
			return response.Body.Close()
		})
		return status
	}
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	const id = "0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90"
	event := `{"schema_version":"service-webhook-v2","id":"` + id +
		`","event":"einvoice.terminal","resource_type":"submission","resource_id":"1","occurred_at":"` + now +
		`","payload":{}}`
	for n, test := range []struct {
		body, timestamp, id string
		accepted            bool
	}{
		{event, now, id, true},
		{event, now, id, true}, // a duplicate
		{event, now, "another", false},
		{event, "2020-01-01T00:00:00.000000Z", id, false},
		{event, "2026-03-01T09:30:00", id, false}, // without a zone
		{`{"event":"einvoice.terminal"}`, now, id, false},
		{`[]`, now, id, false},
		{`no JSON`, now, id, false},
	} {
		if status := call(test.body, test.timestamp, test.id); status/100 == 2 != test.accepted || !test.accepted &&
			status/100 != 4 {
			t.Errorf("call %d: %d\n%s", n, status, log)
		}
	}
	if handled := strings.Count(log.String(), "einvoice.terminal"); handled > 1 {
		t.Errorf("a duplicate was handled: %s", log)
	}
}
