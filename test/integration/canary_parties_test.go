package integration_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// echoes lists the ways in which the echoing provider repeats the credential of a call, by recipient_network_id. Those
// with a status use it for the response.
var echoes = []string{"plain", "header", "media-type", "message", "message-base64", "message-hex", "message-escaped",
	"message-percent", "reference", "word", "status-200", "status-400", "status-401", "status-404", "status-429",
	"status-500", "redirect"}

// echoingProvider speaks the provider protocol, and its responses repeat the credential wherever possible.
type echoingProvider struct {
	mu    sync.Mutex
	asked map[string]string // reference to recipient
	hung  chan struct{}     // receives once a submission hangs
	over  chan struct{}     // ends those
	traceSeen
}

func startEchoingProvider(t *testing.T) (*echoingProvider, *httptest.Server) {
	p := &echoingProvider{asked: map[string]string{}, hung: make(chan struct{}, 1), over: make(chan struct{})}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(p.over) })
	return p, server
}

// ServeHTTP implements [http.Handler].
func (p *echoingProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.look(r.Header)
	credential := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch reference, status := strings.CutPrefix(r.URL.Path, "/v1/documents/"); {
	case r.URL.Path == "/v1/documents":
		var document struct {
			Reference string
			Invoice   struct {
				Recipient string `json:"recipient_network_id"`
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&document); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		p.mu.Lock()
		p.asked[document.Reference] = document.Invoice.Recipient
		p.mu.Unlock()
		if document.Invoice.Recipient == "hang" {
			p.hung <- struct{}{}
			<-p.over
			return
		}
		answerEcho(w, document.Reference, document.Invoice.Recipient, credential)
	case status:
		p.mu.Lock()
		recipient := p.asked[reference]
		p.mu.Unlock()
		answerEcho(w, reference, recipient, credential)
	case r.URL.Path == "/v1/purchases":
		entry := func(id, supplier string) map[string]any {
			return map[string]any{"id": id, "document_type": "invoice", "invoice_number": id, "supplier_name": supplier,
				"currency": "AED", "total_amount": 1, "received_at": time.Now().UTC().Format(time.RFC3339),
				"media_type": "application/xml"}
		}
		writeJSON(w, http.StatusOK, map[string]any{"purchases": []any{entry("P-1", "Harmless LLC"), entry("P-2", credential),
			entry("P-3", "Harmless LLC"), entry(credential, "Harmless LLC")}, "next_cursor": "c1", "has_more": false})
	case r.URL.Path == "/v1/purchases/P-3/document":
		w.Header().Set("Content-Type", "application/xml; x="+credential)
		fmt.Fprintf(w, "<a>%s</a>", base64.StdEncoding.EncodeToString([]byte("xx"+credential)))
	default:
		fmt.Fprint(w, "<a>a document</a>")
	}
}

// answerEcho answers with a document that contains the credential.
func answerEcho(w http.ResponseWriter, reference, kind, credential string) {
	word, message, providerReference := "accepted", "nothing", "R-"+reference
	switch kind {
	case "header":
		w.Header().Set("X-Debug-Authorization", "Bearer "+credential)
	case "media-type":
		w.Header().Set("Content-Type", "application/json; x="+credential)
	case "message":
		message = "your credential is " + credential
	case "message-base64":
		message = base64.StdEncoding.EncodeToString([]byte("Bearer " + credential))
	case "message-hex":
		message = hex.EncodeToString([]byte(credential))
	case "message-escaped":
		message = canaryForms(credential)["unicode"]
	case "message-percent":
		message = url.QueryEscape(credential)
	case "reference":
		providerReference = credential
	case "word":
		word = credential
	case "redirect":
		w.Header().Set("Location", "https://elsewhere.invalid/?credential="+url.QueryEscape(credential))
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	}
	var status int
	if _, err := fmt.Sscanf(kind, "status-%d", &status); err == nil {
		w.WriteHeader(status)
		fmt.Fprintf(w, "no document, but %s", credential)
		return
	}
	state := map[string]any{"value": word, "terminal": true}
	writeJSON(w, http.StatusOK, map[string]any{"reference": reference, "provider_reference": providerReference,
		"status": "accepted", "sequence": 1, "reported_at": time.Now().UTC().Format(time.RFC3339),
		"messages": []any{map[string]any{"code": "ECHO", "text": message}},
		"states": map[string]any{"submission_state": state, "provider_invoice_state": state, "tax_authority_state": state,
			"receiver_state": state}})
}

// writeJSON writes a response and ignores errors, because a disconnected caller loses only its own response.
func writeJSON(w http.ResponseWriter, status int, value any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

// echoingReceiver is a failing webhook destination whose error page shows the request and the signing secret, in
// another encoding at each path.
type echoingReceiver struct {
	mu      sync.Mutex
	secrets map[string]string // by path
	traceSeen
}

func startEchoingReceiver(t *testing.T, dir string) (r *echoingReceiver, address, authority string) {
	r = &echoingReceiver{secrets: map[string]string{}}
	server := httptest.NewUnstartedServer(r)
	// the sender crashes in the middle of a handshake
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	server.StartTLS()
	t.Cleanup(server.Close)
	authority = filepath.Join(dir, "receiver-ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	return r, server.URL, authority
}

// trust sets the secret of a path.
func (r *echoingReceiver) trust(path, secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets[path] = secret
}

// ServeHTTP implements [http.Handler]. The path is /form/status.
func (r *echoingReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.look(request.Header)
	r.mu.Lock()
	secret := r.secrets[request.URL.Path]
	r.mu.Unlock()
	var form string
	status := http.StatusInternalServerError
	// The test chooses the paths.
	_, _ = fmt.Sscanf(request.URL.Path, "/%d/%s", &status, &form)
	w.WriteHeader(status)
	fmt.Fprintf(w, "%s: signature %s is wrong\n", marker, request.Header.Get("X-Webhook-Signature"))
	switch {
	case secret == "" || form == "none":
	case form == "cut":
		// The part of the response that the service keeps ends within the secret.
		fmt.Fprintf(w, "%*s%s", 1024-len(secret)*2/3-len(marker+
			": signature  is wrong\n")-len(request.Header.Get("X-Webhook-Signature")), "", secret)
	default:
		fmt.Fprintf(w, "WEBHOOK_SECRET=%s\n", canaryForms(secret)[strings.ReplaceAll(form, "_", " ")])
	}
}
