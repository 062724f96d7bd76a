package conformance_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"quittance/client"
	"quittance/client/api"
	"quittance/sdk/samples"
	"quittance/test/kit"
)

// answered is a request with its response.
type answered struct {
	method, path string
	status       int
	body         []byte // of JSON
}

// recorder stands before the service and records what passes.
type recorder struct {
	*httptest.Server
	mu      sync.Mutex
	answers []answered
}

func newRecorder(t *testing.T, target string) *recorder {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	forward := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) },
		ModifyResponse: func(response *http.Response) error {
			a := answered{method: response.Request.Method, path: response.Request.URL.EscapedPath(), status: response.StatusCode}
			if response.Header.Get("Content-Type") == "application/json" {
				body, err := io.ReadAll(response.Body)
				if err != nil {
					return err
				}
				a.body, response.Body = body, io.NopCloser(bytes.NewReader(body))
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.answers = append(r.answers, a)
			return nil
		},
	}
	r.Server = httptest.NewServer(forward)
	return r
}

// sampleBench is a sandbox with what the samples need.
type sampleBench struct {
	*sandbox
	client             *client.Client
	gorunner, modules  string
	colleague          string // identifier of a user
	sent               api.Invoice
	incoming, document string // an incoming e-invoice with an attachment, and that
}

func newSampleBench(t *testing.T, operations []sampled) *sampleBench {
	t.Helper()
	b := &sampleBench{sandbox: startSandbox(t), gorunner: buildSamples(t, operations), modules: t.TempDir()}
	if err := os.Mkdir(filepath.Join(b.modules, "node_modules"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(absolute(t, "sdk/typescript"),
		filepath.Join(b.modules, "node_modules", "quittance")); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.client, err = client.New(client.Config{BaseURL: b.BaseURL, Email: b.Email, Password: b.Password}); err != nil {
		t.Fatal(err)
	}
	var connections []struct {
		ID      string `json:"connection_id"`
		Account string `json:"account_id"`
	}
	b.administer(t, &connections, "connection", "list")
	for _, c := range connections {
		if c.Account == b.AccountID {
			b.administer(t, nil, "connection", "confirm-credit-notes", c.ID, "--contract", "C-1", "--mapping", "UBL")
		}
	}
	b.user(t, "viewer")
	users := must(b.client.Users(t.Context(), client.Paging{}))(t)
	b.colleague = users.Data[len(users.Data)-1].ID
	b.sent = must(b.client.Submit(t.Context(), b.draft(t).ID))(t)
	kit.Until(t, "an incoming e-invoice with an attachment", func() bool {
		for _, entry := range must(b.client.IncomingInvoices(t.Context(), client.IncomingInvoiceQuery{}))(t).Data {
			detail := must(b.client.IncomingInvoice(t.Context(), entry.ID))(t)
			if detail.Parsed != nil && len(detail.Parsed.Attachments) > 0 {
				b.incoming, b.document = entry.ID, detail.Parsed.Attachments[0].ID
				return true
			}
		}
		return false
	})
	return b
}

// must returns a function that returns the value, or fails the test if there is an error.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// as returns a client that logs in with some variables.
func (b *sampleBench) as(t *testing.T, vars map[string]string) *client.Client {
	t.Helper()
	return must(client.New(client.Config{BaseURL: b.BaseURL, Email: vars["email"], Password: vars["password"]}))(t)
}

// draft creates a complete draft.
func (b *sampleBench) draft(t *testing.T) api.Invoice {
	t.Helper()
	all := must(samples.All())(t)
	var body api.Draft
	if err := json.Unmarshal([]byte(all["createInvoice"].Body), &body); err != nil {
		t.Fatal(err)
	}
	body.InvoiceNumber = new("INV-" + rand.Text()[:8])
	return must(b.client.CreateInvoice(t.Context(), body))(t)
}

// creditNote creates a credit note of an invoice.
func (b *sampleBench) creditNote(t *testing.T, invoice api.Invoice) string {
	t.Helper()
	return must(b.client.CreateCreditNote(t.Context(), api.CreditNoteRequest{InvoiceID: &invoice.ID,
		CreditNoteNumber: new("C-" + *invoice.InvoiceNumber), IssueDate: new("2026-03-15"),
		Reason: new("Two hours were not worked."), ReasonCode: new("DL8.61.1.C"), Kind: new(api.CreditKind("full"))}))(t).ID
}

// beginTOTP makes the secret of an authenticator app for the session of a token, and returns it.
func (b *sampleBench) beginTOTP(t *testing.T, token string) string {
	t.Helper()
	request := must(http.NewRequestWithContext(t.Context(), http.MethodPost, b.BaseURL+"/api/v1/client/auth/totp",
		http.NoBody))(t)
	request.Header.Set("Authorization", "Bearer "+token)
	response := must(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	var body api.Data[api.TOTPEnrollment]
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil || body.Data.Secret == "" {
		t.Fatalf("status %d: %v", response.StatusCode, err)
	}
	return body.Data.Secret
}

// prepare makes what the sample of an operation needs, and returns its variables. Users of their own keep the others
// logged in.
func (b *sampleBench) prepare(t *testing.T, operation string) map[string]string {
	t.Helper()
	ctx := t.Context()
	switch operation {
	case "changePassword":
		vars := b.user(t, "owner")
		vars["new_password"] = "another horse battery staple"
		return b.token(t, vars)
	case "changeAddress":
		vars := b.user(t, "owner")
		vars["new_email"] = "new-" + vars["email"]
		return b.token(t, vars)
	case "removeUser":
		vars := b.user(t, "viewer")
		for user, err := range b.client.AllUsers(ctx, 100) {
			if err != nil {
				t.Fatal(err)
			}
			if user.Email == vars["email"] {
				return b.owner(t, "user_id", user.ID)
			}
		}
		t.Fatal("the user is not in the list")
	case "endSession":
		vars := b.user(t, "owner")
		other := b.as(t, vars)
		vars["session_id"] = must(other.Sessions(ctx, "", client.Paging{}))(t).Data[0].ID
		return b.token(t, vars)
	case "confirmTOTP", "replaceRecoveryCodes", "disableTOTP":
		vars := b.token(t, b.user(t, "owner"))
		if operation == "confirmTOTP" {
			// for the shell: the other languages have a session of their own
			vars["code"] = totp(t, b.beginTOTP(t, vars["quittance_token"]))
			return vars
		}
		own := b.as(t, vars)
		enrollment := must(own.BeginTOTP(ctx))(t)
		codes := must(own.ConfirmTOTP(ctx, totp(t, enrollment.Secret), ""))(t).RecoveryCodes
		vars["code"], vars["login_code"] = codes[0], codes[1]
		return vars
	case "revokeAPIKey":
		key := must(b.client.CreateAPIKey(ctx, api.APIKeyRequest{Name: new("old"), Scopes: []string{"read"}}))(t)
		return b.owner(t, "api_key_id", key.ID)
	case "changeUser", "resetSecondFactor":
		return b.owner(t, "user_id", b.colleague)
	case "revokeInvitation":
		return b.owner(t, "invitation_id", must(b.client.InviteUser(ctx, "someone@example.com", "viewer"))(t).ID)
	case "readInvoice", "readInvoiceDocument", "readInvoicePDF", "patchInvoice", "deleteInvoice", "submitInvoice",
		"createCreditNote":
		return map[string]string{"invoice_id": b.draft(t).ID}
	case "listSubmissions", "listEvidence":
		return map[string]string{"invoice_id": b.sent.ID}
	case "readEvidence":
		return map[string]string{"evidence_id": must(b.client.Evidence(ctx, b.sent.ID, client.Paging{}))(t).Data[0].ID}
	case "readCreditNote", "readCreditNoteDocument", "readCreditNotePDF", "patchCreditNote", "voidCreditNote":
		return map[string]string{"credit_note_id": b.creditNote(t, b.draft(t))}
	case "submitCreditNote", "listCreditNoteSubmissions", "listCreditNoteEvidence":
		note := b.creditNote(t, must(b.client.Submit(ctx, b.draft(t).ID))(t))
		if operation != "submitCreditNote" {
			must(b.client.SubmitCreditNote(ctx, note))(t)
		}
		return map[string]string{"credit_note_id": note}
	case "readIncomingInvoice", "readIncomingPDF", "listRevisions", "readDocument", "readRevisionPDF", "readAttachment":
		return map[string]string{"incoming_invoice_id": b.incoming, "attachment": b.document}
	case "readCustomer", "patchCustomer", "deleteCustomer":
		return map[string]string{"customer_id": must(b.client.CreateCustomer(ctx,
			api.CustomerFields{RecipientName: new("Palm Trading LLC")}))(t).ID}
	case "readItem", "patchItem", "deleteItem":
		return map[string]string{"item_id": must(b.client.CreateItem(ctx,
			api.CatalogueItemFields{Name: new("Consulting")}))(t).ID}
	case "createSubscription":
		return map[string]string{"url": b.ReceiverURL}
	case "readSubscription", "deactivateSubscription":
		made := must(b.client.CreateSubscription(ctx, api.SubscriptionRequest{URL: &b.ReceiverURL}))(t)
		t.Cleanup(func() { // the company has a limit of active ones
			if _, err := b.client.DeactivateSubscription(context.WithoutCancel(ctx), made.ID); err != nil {
				t.Error(err)
			}
		})
		return map[string]string{"subscription_id": made.ID}
	case "listDeliveries", "readDelivery", "redeliver":
		vars := map[string]string{}
		kit.Until(t, "a delivery that arrived", func() bool {
			list := must(b.client.Deliveries(ctx, client.DeliveryQuery{State: api.DeliveryDelivered}))(t).Data
			if len(list) > 0 {
				vars["delivery_id"] = list[0].ID
			}
			return len(list) > 0
		})
		return vars
	}
	return b.token(t, b.user(t, "owner"))
}

// owner returns a variable with those of the owner, who has a token.
func (b *sampleBench) owner(t *testing.T, name, value string) map[string]string {
	t.Helper()
	return b.token(t, map[string]string{name: value, "email": b.Email, "password": b.Password})
}

// token adds the token of a login to some variables.
func (b *sampleBench) token(t *testing.T, vars map[string]string) map[string]string {
	t.Helper()
	login := must(b.as(t, vars).Login(t.Context()))(t)
	vars["quittance_token"] = login.Token
	return vars
}

// names are the variables of the samples.
func names() []string {
	var out []string
	for name := range samples.Variables() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// command returns the program of a sample: its bytes, after the lines that define the client and the variables. With an
// API key it uses that, otherwise it logs in.
func (b *sampleBench) command(t *testing.T, o sampled, program samples.Program) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	var command *exec.Cmd
	switch program.Language {
	case "shell":
		write("invoices.csv", must(samples.All())(t)[o.ID].File)
		command = exec.CommandContext(t.Context(), "bash",
			"-eu", write("sample.sh", program.Source+" --fail --silent --show-error\n"))
	case "go":
		command = exec.CommandContext(t.Context(), b.gorunner, o.ID)
	case "javascript":
		if err := os.Symlink(filepath.Join(b.modules, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		command = exec.CommandContext(t.Context(), "node", write("sample.mjs", javascriptSample(o.ID, program)))
	case "python":
		command = exec.CommandContext(t.Context(), "python3", "-B", write("sample.py", pythonSample(o.ID, program)))
	default:
		t.Fatalf("nothing runs %s", program.Language)
	}
	command.Dir = dir
	command.Env = append(os.Environ(), "PYTHONPATH="+absolute(t, "sdk/python"), "FILE="+must(samples.All())(t)[o.ID].File)
	if len(o.Scopes) > 0 {
		command.Env = append(command.Env, "QUITTANCE_API_KEY="+b.key)
	}
	return command
}

func javascriptSample(operation string, program samples.Program) string {
	var text strings.Builder
	text.WriteString(`import { Quittance } from "quittance";
const { QUITTANCE_URL: baseUrl, QUITTANCE_API_KEY: apiKey, LOGIN_CODE, FILE: file } = process.env;
`)
	for _, name := range names() {
		fmt.Fprintf(&text, "let %s = process.env.%s;\n", samples.CamelCase(name, "Id"), strings.ToUpper(name))
	}
	text.WriteString(
		"const quittance = new Quittance(apiKey ? { baseUrl, apiKey } : { baseUrl, email, password, otp: () => LOGIN_CODE });\nawait quittance.account.get();\n")
	if operation == "confirmTOTP" { // the session that asks for the secret confirms it
		text.WriteString(javascriptTOTP)
	}
	fmt.Fprintf(&text, "{\n%s\n}\n", program.Source)
	return text.String()
}

func pythonSample(operation string, program samples.Program) string {
	var text strings.Builder
	text.WriteString(`import os
from quittance import Client
base_url, api_key, file = os.environ["QUITTANCE_URL"], os.environ.get("QUITTANCE_API_KEY"), os.environ["FILE"].encode()
`)
	for _, name := range names() {
		fmt.Fprintf(&text, "%s = os.environ.get(%q, \"\")\n", name, strings.ToUpper(name))
	}
	fmt.Fprintf(&text,
		"client = Client(base_url, api_key=api_key) if api_key else Client(base_url, email=email, password=password, otp=lambda: os.environ[\"LOGIN_CODE\"])\nclient.account.get()\n")
	if operation == "confirmTOTP" {
		text.WriteString(pythonTOTP)
	}
	text.WriteString(program.Source + "\n")
	return text.String()
}

// buildSamples builds a program that runs the sample in Go that its argument names.
func buildSamples(t *testing.T, operations []sampled) string {
	t.Helper()
	var text, table, parameters, arguments strings.Builder
	for _, name := range names() {
		fmt.Fprintf(&parameters, ", %s string", samples.CamelCase(name, "ID"))
		fmt.Fprintf(&arguments, ", os.Getenv(%q)", strings.ToUpper(name))
	}
	text.WriteString(
		"package main\n\nimport (\n\"context\"\n\"crypto/hmac\"\n\"crypto/sha1\"\n\"encoding/base32\"\n\"encoding/binary\"\n\"fmt\"\n\"io\"\n\"os\"\n\"time\"\n\n\"quittance/client\"\n\"quittance/client/api\"\n)\n")
	for _, o := range operations {
		at := slices.IndexFunc(o.Samples, func(p samples.Program) bool { return p.Language == "go" })
		if at < 0 {
			t.Fatalf("%s has no sample in Go", o.ID)
		}
		fmt.Fprintf(&text,
			"\nfunc %s(ctx context.Context, quittance *client.Client, baseURL string, file []byte%s) error {\n{\n%s\n}\nreturn nil\n}\n", o.ID, parameters.String(), o.Samples[at].Source)
		fmt.Fprintf(&table, "%q: %s,\n", o.ID, o.ID)
	}
	fmt.Fprintf(&text, `
func main() {
	ctx, baseURL := context.Background(), os.Getenv("QUITTANCE_URL")
	config := client.Config{BaseURL: baseURL, APIKey: os.Getenv("QUITTANCE_API_KEY")}
	if config.APIKey == "" {
		config.Email, config.Password = os.Getenv("EMAIL"), os.Getenv("PASSWORD")
		config.OTP = func(context.Context) (string, error) { return os.Getenv("LOGIN_CODE"), nil }
	}
	quittance, err := client.New(config)
	if err == nil {
		_, err = quittance.Account(ctx)
	}
	if err == nil && os.Args[1] == "confirmTOTP" {
		enrollment, begun := quittance.BeginTOTP(ctx)
		if err = begun; err == nil {
			err = os.Setenv("CODE", totp(enrollment.Secret))
		}
	}
	if err == nil {
		err = table[os.Args[1]](ctx, quittance, baseURL, []byte(os.Getenv("FILE"))%s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var table = map[string]func(ctx context.Context, quittance *client.Client, baseURL string, file []byte%s) error{
%s}
`, arguments.String(), parameters.String(), table.String())
	text.WriteString(goTOTP)
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "samples")
	if err := os.WriteFile(source, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	kit.Must(t, kit.Build(t.Context(), program, source))
	return program
}

// shown returns a response as the reference shows it: without addresses of this machine and credentials, lists with
// their first two entries, or the first of each event, and long texts in base64 cut short.
func (b *sampleBench) shown(t *testing.T, body []byte) json.RawMessage {
	t.Helper()
	value := must(decode(body))(t)
	if envelope, ok := value.(map[string]any); ok {
		if list, ok := envelope["data"].([]any); ok {
			envelope["data"] = firstEntries(list)
		}
	}
	return must(json.Marshal(b.publish("", value)))(t)
}

// firstEntries returns the first two entries of a list, or the first one of each event.
func firstEntries(list []any) []any {
	kept := []any{}
	seen := map[any]bool{}
	for _, entry := range list {
		fields, _ := entry.(map[string]any)
		if kind := fields["event"]; kind != nil && !seen[kind] || kind == nil && len(kept) < 2 {
			kept, seen[kind] = append(kept, entry), true
		}
	}
	return kept
}

// publish returns a member of a response as the reference shows it.
func (b *sampleBench) publish(name string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		for member := range value {
			value[member] = b.publish(member, value[member])
		}
		return value
	case []any:
		for n := range value {
			value[n] = b.publish(name, value[n])
		}
		return value
	case string:
		switch {
		case name == "token":
			return "Zk3v…"
		case name == "key" || name == "secret":
			return regexp.MustCompile("^(qk_sandbox_|whsec_)?.*").ReplaceAllString(value, "${1}Zk3v…")
		case name == "otpauth_url":
			return "otpauth://totp/Quittance:owner@example.com?secret=Zk3v…"
		case name == "url" && !strings.Contains(value, "hooks"): // an invitation
			return "https://quittance.example.com/join#…"
		case strings.HasSuffix(name, "base64") && len(value) > 64:
			return value[:64]
		}
		value = regexp.MustCompile(`(user|owner)-[a-z0-9]+@(sandbox\.)?example(\.com)?`).ReplaceAllString(value,
			"owner@example.com")
		value = regexp.MustCompile(`https?://127\.0\.0\.1:\d+/hooks(/\w+)?`).ReplaceAllString(value,
			"https://hooks.example.com/quittance")
		return strings.ReplaceAll(strings.ReplaceAll(value, b.BaseURL, "https://quittance.example.com"), "127.0.0.1",
			"192.0.2.7")
	}
	return value
}
