package fakeprovider

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"quittance/internal/platform/files"
)

// certificateLife is how long the receiver's certificate is valid, which exceeds the life of any sandbox.
const certificateLife = 10 * 365 * 24 * time.Hour

// Identity is a receiver's certificate and the authority that signed it, in files that survive a restart.
type Identity struct {
	// Authority is the path of the authority's certificate (PEM).
	Authority string
	// Certificate is the receiver's own.
	Certificate tls.Certificate
}

// ReceiverIdentity reads a receiver's certificate from dir. If there is none, it makes one for loopback addresses that
// is valid for ten years from now.
func ReceiverIdentity(dir string, now time.Time) (Identity, error) {
	authority, chain, key := filepath.Join(dir, "receiver-ca.pem"), filepath.Join(dir, "receiver.pem"),
		filepath.Join(dir, "receiver-key.pem")
	if _, err := os.Stat(authority); errors.Is(err, fs.ErrNotExist) {
		if err := makeIdentity(authority, chain, key, now); err != nil {
			return Identity{}, fmt.Errorf("receiver certificate: %w", err)
		}
	}
	if _, err := files.MakePrivate(key); err != nil {
		return Identity{}, fmt.Errorf("receiver certificate: %w", err)
	}
	certificate, err := tls.LoadX509KeyPair(chain, key)
	if err != nil {
		return Identity{}, fmt.Errorf("receiver certificate: %w", err)
	}
	return Identity{Authority: authority, Certificate: certificate}, nil
}

// makeIdentity makes an authority, whose key it discards immediately, and one certificate signed by it. It writes the
// authority last: when that file exists, all three files are complete.
func makeIdentity(authority, chain, key string, now time.Time) error {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := func(name string) (*x509.Certificate, error) {
		serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
		return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name},
			NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife), BasicConstraintsValid: true}, err
	}
	root, err := template("Quittance sandbox receiver authority")
	if err != nil {
		return err
	}
	root.IsCA, root.KeyUsage = true, x509.KeyUsageCertSign
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, authorityKey.Public(), authorityKey)
	if err != nil {
		return err
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	leaf, err := template("Quittance sandbox receiver")
	if err != nil {
		return err
	}
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	leaf.IPAddresses, leaf.DNSNames = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, []string{"localhost"}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, leafKey.Public(), authorityKey)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		path, kind string
		der        []byte
	}{
		{key, "PRIVATE KEY", keyDER}, {chain, "CERTIFICATE", leafDER}, {authority, "CERTIFICATE", rootDER},
	} {
		if err := os.WriteFile(file.path, pem.EncodeToMemory(&pem.Block{Type: file.kind, Bytes: file.der}),
			0o600); err != nil {
			return err
		}
	}
	return nil
}
