package simulation

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	seeded "math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
)

// fixture is the start of every run: a database with two companies. It is made once, outside the bubbles.
type fixture struct {
	keys        *secret.Keyring
	database    []byte
	certificate tls.Certificate
	authorities *x509.CertPool
	companies   []companyFixture
}

type companyFixture struct {
	name       string
	account    base.ID
	token      string
	password   string
	credential string
	baseURL    string
}

// epoch is before every bubble's time, which begins with the year 2000.
var epoch = time.Date(1999, time.December, 31, 23, 0, 0, 0, time.UTC)

// hookHost is the only name of all receivers. The hooks of both companies are paths of it, as at a shared gateway.
const hookHost = "hooks.example.com"

// sharedFixture makes the fixture once.
var sharedFixture = sync.OnceValues(func() (*fixture, error) {
	dir, err := os.MkdirTemp(scratchDir(), "simulation-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // scratch
	f := &fixture{}
	if f.keys, err = secret.Generate(); err != nil {
		return nil, err
	}
	if err := f.makeCertificate(); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "quittance.db")
	if err := f.populate(path); err != nil {
		return nil, err
	}
	f.database, err = os.ReadFile(path)
	return f, err
})

// populate makes the two companies. They differ only in their names, credentials and passwords.
func (f *fixture) populate(path string) (err error) {
	ctx := context.Background()
	// The identifiers are the same in every process, because references, and with them the course of documents, depend on
	// them.
	db, err := ledger.Open(ctx, "sqlite:"+path, base.Options{Keys: f.keys, Now: func() time.Time { return epoch },
		Log: slog.New(slog.DiscardHandler), Random: seeded.NewChaCha8([32]byte{})})
	if err != nil {
		return err
	}
	defer func() {
		if closed := db.Close(); err == nil {
			err = closed
		}
	}()
	for _, c := range []companyFixture{
		{name: "alpha", password: "canary-alpha-password-1", credential: "canary-alpha-credential-1",
			baseURL: "http://127.0.0.1:7001"},
		{name: "bravo", password: "canary-bravo-password-1", credential: "canary-bravo-credential-1",
			baseURL: "http://127.0.0.1:7002"},
	} {
		hash, err := account.DefaultCost().Hash(c.password)
		if err != nil {
			return err
		}
		made, err := identity.CreateAccount(ctx, db, "Company "+c.name,
			identity.NewUser{Email: c.name + "@example.com", Name: c.name, PasswordHash: hash})
		if err != nil {
			return err
		}
		c.account = made.ID
		if err := identity.SetProfile(ctx, db, made.ID, api.Profile{LegalName: new("Company " + c.name),
			Street: new("1 Quay"), City: new("Dubai"), Country: new("AE")}); err != nil {
			return err
		}
		added, err := invoices.AddConnection(ctx, db, made.ID, invoices.NewConnection{Kind: "http", Environment: "sandbox",
			BaseURL: c.baseURL, Credential: secret.New(c.credential)})
		if err != nil {
			return err
		}
		if _, err := invoices.ConfirmCreditNotes(ctx, db, added.ID, "contract", "mapping"); err != nil {
			return err
		}
		if _, err := invoices.ActivateConnection(ctx, db, added.ID); err != nil {
			return err
		}
		user, err := db.UserByEmail(ctx, c.name+"@example.com")
		if err != nil {
			return err
		}
		c.token = "canary-" + c.name + "-token-0123456789abcdefghijklmnopq"
		if _, err := identity.CreateToken(ctx, db, user, identity.NewToken{Digest: secret.Digest(secret.New(c.token)),
			ExpiresAt: epoch.AddDate(10, 0, 0)}); err != nil {
			return err
		}
		f.companies = append(f.companies, c)
	}
	return nil
}

// makeCertificate makes the receivers' self-signed certificate.
func (f *fixture) makeCertificate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: hookHost},
		DNSNames: []string{hookHost}, NotBefore: epoch, NotAfter: epoch.AddDate(50, 0, 0), IsCA: true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	f.authorities = x509.NewCertPool()
	f.authorities.AddCert(leaf)
	f.certificate = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	return nil
}

// scratchDir returns the directory of the runs' files. It prefers a directory in memory, because commits mostly cost an
// fsync, and a simulated process never loses power.
func scratchDir() string {
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err == nil && info.IsDir() {
		return memory
	}
	return os.TempDir()
}

func loadFixture(t *testing.T) *fixture {
	t.Helper()
	f, err := sharedFixture()
	if err != nil {
		t.Fatal(err)
	}
	return f
}
