package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"quittance/client/api"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
	"quittance/sandbox"
)

// run starts a sandbox on a data directory and returns it with a function that ends it.
func run(t *testing.T, data string, edits ...func(*sandbox.Config)) (*sandbox.Sandbox, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	log := slog.New(slog.DiscardHandler)
	config := sandbox.Config{Data: data, ProviderListen: "127.0.0.1:0", Pace: 10 * time.Millisecond, Log: log,
		Service: service.Config{Listen: "127.0.0.1:0", MaxBody: 1 << 20, TokenTTL: time.Hour, IdempotencyTTL: time.Hour,
			LoginRate: 10, PollFirst: 20 * time.Millisecond, PollMax: time.Second, ProviderTimeout: time.Minute,
			PurchaseInterval: time.Minute, RetryFirst: 50 * time.Millisecond, RetryAttempts: 3, AttemptTimeout: time.Minute,
			PrintTimeout: 10 * time.Minute, ImportTimeout: 10 * time.Minute, Grace: time.Minute, Version: "test", Log: log}}
	for _, edit := range edits {
		edit(&config)
	}
	s, err := sandbox.Start(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.Run(ctx, func(sandbox.Info) error { close(ready); return nil })
	}()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	stopped := false
	stop := func() {
		cancel()
		if stopped {
			return
		}
		stopped = true
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return s, stop
}

// call makes one API call and decodes its data.
func call(t *testing.T, base, token, method, path string, body any, out any) int {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, base+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if out != nil && response.StatusCode < 300 {
		if err := json.Unmarshal(received, out); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, received)
		}
	}
	return response.StatusCode
}

func login(t *testing.T, info sandbox.Info, password string) (token string, status int) {
	t.Helper()
	var out api.Data[api.Login]
	status = call(t, info.BaseURL, "", http.MethodPost,
		"/api/v1/client/auth/login", api.LoginRequest{Email: &info.Email, Password: &password}, &out)
	return out.Data.Token, status
}

// contents is the content of a fresh sandbox.
func wantSeeded(t *testing.T, s *sandbox.Sandbox, token string) {
	t.Helper()
	base := s.Info.BaseURL
	var drafts api.List[api.Invoice]
	call(t, base, token, http.MethodGet, "/api/v1/client/invoices?submitted=false", nil, &drafts)
	if drafts.Pagination.Total != 25 || len(drafts.Data) != 25 {
		t.Errorf("%d drafts", drafts.Pagination.Total)
	}
	for _, draft := range drafts.Data {
		if !draft.Complete || len(draft.Warnings) > 0 || draft.Submission != nil {
			t.Errorf("draft %s: missing %v, warnings %v", *draft.InvoiceNumber, draft.Missing, draft.Warnings)
		}
	}
	var notes api.List[api.CreditNote]
	call(t, base, token, http.MethodGet, "/api/v1/client/credit-notes", nil, &notes)
	if notes.Pagination.Total != 10 {
		t.Errorf("%d credit notes", notes.Pagination.Total)
	}
	for _, note := range notes.Data {
		if status := call(t, base, token, http.MethodGet, "/api/v1/client/invoices/"+note.InvoiceID, nil,
			nil); status != http.StatusOK || note.Submitted {
			t.Errorf("credit note %s: its invoice answers %d", note.CreditNoteNumber, status)
		}
	}
	var incoming api.List[api.IncomingInvoice]
	call(t, base, token, http.MethodGet, "/api/v1/client/incoming-invoices", nil, &incoming)
	revised := 0
	for _, document := range incoming.Data {
		if document.Evidence.Digest == "" || document.SHA256 == "" {
			t.Errorf("incoming %s has no evidence", document.ProviderDocumentID)
		}
		if document.Revision > 1 {
			revised++
		}
	}
	if incoming.Pagination.Total != 5 || revised != 1 {
		t.Errorf("%d incoming e-invoices, %d of them revised", incoming.Pagination.Total, revised)
	}
	var subscriptions api.List[api.Subscription]
	call(t, base, token, http.MethodGet, "/api/v1/webhooks/subscriptions", nil, &subscriptions)
	if subscriptions.Pagination.Total != 2 {
		t.Errorf("%d subscriptions", subscriptions.Pagination.Total)
	}
	var delivered api.List[api.Delivery]
	call(t, base, token, http.MethodGet, "/api/v1/webhooks/deliveries?state=delivered", nil, &delivered)
	if delivered.Pagination.Total != 12 {
		t.Errorf("%d events were really delivered", delivered.Pagination.Total)
	}
}

// TestFreshSandbox checks that a fresh sandbox has the specified content, its events are really delivered and verify,
// nothing was submitted, and the files that contain secrets are private.
func TestFreshSandbox(t *testing.T) {
	t.Parallel()
	s, _ := run(t, t.TempDir())
	token, _ := login(t, s.Info, s.Info.Password)
	wantSeeded(t, s, token)
	callbacks := s.Receiver.Callbacks()
	for _, callback := range callbacks {
		if callback.Verified == nil || !*callback.Verified {
			t.Errorf("callback %s does not verify", callback.Event)
		}
	}
	if len(callbacks) != 12 || len(s.Provider.Ledger().Documents()) != 0 {
		t.Errorf("%d callbacks, %d documents at the provider", len(callbacks), len(s.Provider.Ledger().Documents()))
	}
	err := filepath.WalkDir(s.Info.DataDir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			return fmt.Errorf("%s is readable by others: %v", path, info.Mode())
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), s.Info.Password) || strings.Contains(string(text), token) {
			return fmt.Errorf("%s holds the password or a token", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRestartKeeps checks that a second start on the data directory seeds nothing, keeps addresses and credentials, and
// shows no password; the first password still works.
func TestRestartKeeps(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first, stop := run(t, data)
	before := first.Info
	stop()
	second, _ := run(t, data)
	after := second.Info
	if after.Password != "" || after.LoginURL != "" {
		t.Error("the second start shows a password or a login link")
	}
	password := before.Password
	before.Password, before.LoginURL = "", ""
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("the sandbox after a restart (-before +after):\n%s", d)
	}
	token, status := login(t, after, password)
	if status != http.StatusOK {
		t.Errorf("the first password gets %d", status)
	}
	wantSeeded(t, second, token)
}

// TestResetBesideARunningServer checks that after a reset the account has new data, its old token is invalid, and its
// old rows are not visible.
func TestResetBesideARunningServer(t *testing.T) {
	t.Parallel()
	s, _ := run(t, t.TempDir())
	token, _ := login(t, s.Info, s.Info.Password)
	var drafts api.List[api.Invoice]
	call(t, s.Info.BaseURL, token, http.MethodGet, "/api/v1/client/invoices", nil, &drafts)
	old := drafts.Data[0].ID
	if status := call(t, s.Info.BaseURL, token, http.MethodPost, "/api/v1/client/invoices/"+old+"/submit", struct{}{},
		nil); status != http.StatusOK {
		t.Fatalf("submit: %d", status)
	}

	layout := sandbox.Layout(s.Info.DataDir)
	account, receiver, err := layout.Defaults()
	if err != nil || receiver != s.Info.ReceiverURL {
		t.Fatal(receiver, err)
	}
	keys, err := secret.ReadKeyFile(layout.KeyFile())
	if err != nil {
		t.Fatal(err)
	}
	db, err := ledger.Open(t.Context(), layout.DefaultDatabase(), base.Options{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	made, err := sandbox.Reset(t.Context(), db, account, receiver, time.Now(), 2*time.Minute)
	if err != nil || made.Pending != 0 {
		t.Fatalf("%+v, %v", made, err)
	}
	if status := call(t, s.Info.BaseURL, token, http.MethodGet, "/api/v1/client/invoices", nil,
		nil); status != http.StatusUnauthorized {
		t.Errorf("the old token gets %d", status)
	}
	fresh, _ := login(t, s.Info, s.Info.Password)
	wantSeeded(t, s, fresh)
	if status := call(t, s.Info.BaseURL, fresh, http.MethodGet, "/api/v1/client/invoices/"+old, nil,
		nil); status != http.StatusNotFound {
		t.Errorf("an old invoice gets %d", status)
	}
	if _, err := sandbox.Reset(t.Context(), db, account, "http://127.0.0.1/hooks", time.Now(), time.Second); err == nil {
		t.Error("a receiver without TLS is accepted")
	}
	if _, err := sandbox.Reset(t.Context(), db, &base.ID{1}, receiver, time.Now(), time.Second); !errors.Is(err,
		base.ErrNotFound) {
		t.Errorf("an unknown account: %v", err)
	}
}
