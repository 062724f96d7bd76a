package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// fromNothing returns the three scripts in the first section of the operations guide: prepare, serve, check.
func fromNothing(t *testing.T) [3]string {
	t.Helper()
	_, section, found := strings.Cut(guides(t)["docs/operations.md"], "## From nothing to production\n")
	section, _, ended := strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1)
	if !found || !ended || len(blocks) != 3 {
		t.Fatalf("the guide has %d scripts there", len(blocks))
	}
	return [3]string{blocks[0][1], blocks[1][1], blocks[2][1]}
}

// writeCertificate writes a certificate for 127.0.0.1 and more addresses, and its key.
func writeCertificate(t *testing.T, dir string, more ...net.IP) (certificate string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: append(more, net.IPv4(127, 0, 0, 1)), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate = filepath.Join(dir, "cert.pem")
	for path, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der}, filepath.Join(dir, "cert-key.pem"): {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate
}

// TestFromNothingToProduction runs the first section of the operations guide as written, except for addresses: the
// prepared deployment must serve in production, over TLS, and submit.
func TestFromNothingToProduction(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	provider := newDoor(t, filepath.Join(dir, "provider"))
	certificate := writeCertificate(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "credential.txt"), []byte(fleetCredential), 0o600); err != nil {
		t.Fatal(err)
	}
	addresses := strings.NewReplacer("https://gateway.example", provider.url, "0.0.0.0:8443", "127.0.0.1:0", "127.0.0.1:9090", "127.0.0.1:0")
	scripts := fromNothing(t)
	const database = `DB="--database sqlite:quittance.db --key-file key.json"`
	if !strings.Contains(scripts[0], database) {
		t.Fatalf("the first script does not set %s", database)
	}
	shell := func(script string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "sh", "-eu", "-c", addresses.Replace(script))
		command.Dir, command.Env = dir, bareEnvironment(dir)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	shell(scripts[0])

	words := shellWords(strings.ReplaceAll(addresses.Replace(scripts[1]), "$DB", "--database sqlite:quittance.db --key-file key.json"))
	server, err := start(dir, "serve", words[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.stop(); err != nil {
			t.Error(err)
		}
	})
	listen, err := server.says(regexp.MustCompile(`listen=(\S+)`))
	if err != nil {
		t.Fatal(err)
	}
	caller, err := newCaller(certificate)
	if err != nil {
		t.Fatal(err)
	}
	call := func(method, path, token, body string, status int) response {
		t.Helper()
		got, err := caller.call(method, "https://"+listen+path, token, body)
		if err != nil || got.status != status {
			t.Fatalf("%s %s: %d, %v: %s", method, path, got.status, err, got.body)
		}
		return got
	}
	call(http.MethodGet, "/readyz", "", "", http.StatusOK)
	var account struct{ Email, Password string }
	text, err := os.ReadFile(filepath.Join(dir, "account.json"))
	if err == nil {
		err = json.Unmarshal(text, &account)
	}
	if err != nil {
		t.Fatal(err)
	}
	token := valueAt(t, call(http.MethodPost, atAuth+"login", "", `{"email":"`+account.Email+`","password":"`+account.Password+`"}`, http.StatusOK), "/data/token")
	invoice := valueAt(t, call(http.MethodPost, atInvoices, token, exampleDraft(time.Now()), http.StatusCreated), "/data/id")
	call(http.MethodPost, atInvoices+"/"+invoice+"/submit", token, "", http.StatusOK)

	// The approval of another release does not cover this one. With both approved, the servers of both can submit. The
	// earlier approval stays in the audit log.
	approve := func(releases string) {
		t.Helper()
		connection := valueAt(t, response{body: []byte(shell("cat connection.json"))}, "/connection_id")
		shell(database + "\nquittance connection approve " + connection + " $DB --by Bob --contract C-2026-8 --release " + releases)
	}
	second := strings.Replace(exampleDraft(time.Now()), "INV-1", "INV-2", 1)
	invoice = valueAt(t, call(http.MethodPost, atInvoices, token, second, http.StatusCreated), "/data/id")
	approve("9.9.9")
	if code := valueAt(t, call(http.MethodPost, atInvoices+"/"+invoice+"/submit", token, "", http.StatusConflict), "/error/code"); code != "production_not_approved" {
		t.Errorf("with the approval of another release: %s", code)
	}
	approve("9.9.9," + version())
	call(http.MethodPost, atInvoices+"/"+invoice+"/submit", token, "", http.StatusOK)

	looked := shell(database + "\n" + scripts[2])
	for _, want := range []string{"quittance " + version(), "APPROVED_AT", "APPROVAL_RELEASE", "9.9.9," + version(), `"before_contract":"C-2026-7"`, "connection.approve", "database.migrate"} {
		if !strings.Contains(looked, want) {
			t.Errorf("without %q: %s", want, looked)
		}
	}
}
