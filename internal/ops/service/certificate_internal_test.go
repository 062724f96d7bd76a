package service

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
)

// writeCertificate writes a certificate with the given serial number, and its key.
// It is valid for as many hours as the serial number says.
func writeCertificate(t *testing.T, chain, key string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	kit.Must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(serial),
		NotAfter: time.Now().Add(time.Duration(serial) * time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	kit.Must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	kit.Must(t, err)
	kit.Must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	kit.Must(t, os.WriteFile(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
}

// TestCertificateRenewal checks that a renewed certificate is used without a restart. If it cannot be loaded, the
// previous one stays in use. A key file that others can read is refused.
func TestCertificateRenewal(t *testing.T) {
	dir := t.TempDir()
	chain, key := filepath.Join(dir, "chain.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, chain, key, 1)
	files, err := readCertificate(chain, key, time.Now, slog.New(slog.NewTextHandler(t.Output(), nil)))
	kit.Must(t, err)
	serial := func() int64 {
		t.Helper()
		files.checked = time.Time{} // as if the interval between two checks had passed
		got, err := files.get(&tls.ClientHelloInfo{})
		kit.Must(t, err)
		return got.Leaf.SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Fatalf("certificate %d", got)
	}
	writeCertificate(t, chain, key, 2)
	kit.Must(t, os.Chtimes(chain, time.Time{}, time.Now().Add(time.Minute)))
	if got := serial(); got != 2 {
		t.Errorf("certificate %d after the renewal", got)
	}
	kit.Must(t, os.WriteFile(chain, []byte("half a certif"), 0o600))
	if got := serial(); got != 2 {
		t.Errorf("certificate %d while the file is being written", got)
	}
	writeCertificate(t, chain, key, 3)
	kit.Must(t, os.Chmod(key, 0o644))
	if got := serial(); got != 2 {
		t.Errorf("certificate %d with a key that others can read", got)
	}
	if _, err := readCertificate(chain, key, time.Now, slog.New(slog.DiscardHandler)); !errors.Is(err,
		secret.ErrPrivateKeyMode) {
		t.Errorf("a start with a key that others can read: %v", err)
	}
	kit.Must(t, os.Chmod(key, 0o640)) // its group may read it
	if got := serial(); got != 3 {
		t.Errorf("certificate %d after the mode was corrected", got)
	}
	writeCertificate(t, chain, key, 5)
	kit.Must(t, os.Chtimes(chain, time.Time{}, time.Now().Add(2*time.Minute)))
	files.checked = time.Time{}
	if left := time.Until(files.expiry()); left < 4*time.Hour || left > 5*time.Hour {
		t.Errorf("the certificate expires in %s after a renewal without a handshake, want 5 hours", left)
	}
}

// TestProductionVerifiesTheDatabase checks that production does not start with a database connection that does not
// verify the server.
func TestProductionVerifiesTheDatabase(t *testing.T) {
	config := Config{Environment: Production, Database: "postgres://db.example/quittance"}
	if err := config.check(); !errors.Is(err, base.ErrUnverifiedServer) {
		t.Errorf("production: %v", err)
	}
	for _, environment := range []string{Local, Sandbox} {
		config.Environment = environment
		if err := config.check(); errors.Is(err, base.ErrUnverifiedServer) {
			t.Errorf("%s: %v", environment, err)
		}
	}
	config = Config{Environment: Production, Database: "postgres://db.example/quittance?sslmode=verify-full"}
	if err := config.check(); errors.Is(err, base.ErrUnverifiedServer) {
		t.Errorf("verified: %v", err)
	}
}
