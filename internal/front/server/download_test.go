package server_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ops/service"
	"quittance/test/accounttest"
	"quittance/test/kit"
)

// TestDownloadsAreUnchanged checks that documents are downloaded byte for byte over HTTP/1.1 and HTTP/2, even if they
// are full of lines that look like the response of an HTTP server, at every offset. The connection can be used for the
// next download.
func TestDownloadsAreUnchanged(t *testing.T) {
	t.Parallel()
	const line = "HTTP/1.1 400 x\r\n\r\n"
	documents := map[string][]byte{"large": bytes.Repeat([]byte(line), 10<<20/len(line))}
	for shift := range len(line) {
		documents[fmt.Sprintf("offset-%02d", shift)] = []byte(strings.Repeat("x", shift) + strings.Repeat(line,
			32<<10/len(line)))
	}
	certificate, key, authority := keyPair(t)
	running := serveService(t, io.Discard, func(c *service.Config) { c.TLSCert, c.TLSKey = certificate, key })
	email, paths := withIncoming(t, running.DB(), documents)
	for _, protocol := range []int{1, 2} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: protocol == 2}
		if protocol == 1 {
			transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
		}
		defer transport.CloseIdleConnections()
		client := loggedIn(t, "https://"+running.Address(), email, transport)
		for id, path := range paths {
			response, err := client.Get("https://" + running.Address() + path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(response.Body)
			if err != nil {
				t.Errorf("%s over HTTP/%d: %v", id, protocol, err)
			}
			if err := response.Body.Close(); err != nil {
				t.Fatal(err)
			}
			if response.ProtoMajor != protocol || response.StatusCode != http.StatusOK ||
				sha256.Sum256(got) != sha256.Sum256(documents[id]) {
				t.Errorf("%s over %s: %d, %d bytes; want %d bytes over HTTP/%d", id, response.Proto, response.StatusCode, len(got),
					len(documents[id]), protocol)
			}
		}
	}
}

// withIncoming creates a company with retained documents. It returns the e-mail address of its user, and the path of
// each document in the console.
func withIncoming(t *testing.T, db *base.DB, documents map[string][]byte) (email string, paths map[string]string) {
	t.Helper()
	hash, err := accounttest.Cheap().Hash(password)
	if err != nil {
		t.Fatal(err)
	}
	email = "reader@example.com"
	made, err := identity.CreateAccount(t.Context(), db, "Reader LLC", identity.NewUser{Email: email, Name: "Reader",
		PasswordHash: hash})
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := db.Tenant(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	for id, body := range documents {
		document := incoming.NewIncoming{ProviderDocumentID: id, MediaType: "application/xml", Metadata: []byte(`{}`),
			Body: body, Retained: true}
		if err := incoming.Seed(t.Context(), tenant, []incoming.NewIncoming{document}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := view.Of(tenant).IncomingInvoices(t.Context(), view.IncomingFilter{}, 1, 100)
	if err != nil || len(found.Entries) != len(documents) {
		t.Fatalf("%d of %d documents are retained: %v", len(found.Entries), len(documents), err)
	}
	paths = map[string]string{}
	for _, i := range found.Entries {
		paths[i.ProviderDocumentID] = "/incoming/" + i.ID.String() + "/revisions/1/document"
	}
	return email, paths
}

// loggedIn returns a client with a session of the console.
func loggedIn(t *testing.T, base, email string, transport http.RoundTripper) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Transport: transport, Timeout: kit.Patience(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/login",
		strings.NewReader(url.Values{"email": {email}, "password": {password}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", base)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusSeeOther {
		t.Fatalf("the login answered %d", response.StatusCode)
	}
	return client
}
