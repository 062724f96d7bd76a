// Package mailtest is a real SMTP server for tests: it listens on a loopback port, offers STARTTLS with a certificate
// of its own, requires a login, and keeps the messages that it accepts. Start reading at [Start].
package mailtest

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
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// User and Password are the only ones that may log in.
const (
	User     = "relay@example.com"
	Password = "canary-relay-password"
)

// Message is an accepted message.
type Message struct {
	From, To string
	// Raw is the message as it was transferred.
	Raw string
}

// Server is a running SMTP server.
type Server struct {
	// URL is its address for --smtp-url, with User.
	URL string
	// CAFile has the certificate that it is to be verified with, PasswordFile has Password.
	CAFile, PasswordFile string

	mu       sync.Mutex
	messages []Message
	refuse   func(to string) error
}

// Refuse sets what decides about each recipient: an error refuses it, with its number if it is a [*smtp.SMTPError].
func (s *Server) Refuse(decide func(to string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = decide
}

// Messages returns the messages accepted so far.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.messages...)
}

// Start starts a server, which is stopped when the test ends. implicit makes connections begin with TLS.
func Start(t testing.TB, implicit bool) *Server {
	t.Helper()
	s := &Server{}
	certificate, authority, err := Certificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s.CAFile, s.PasswordFile = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "password")
	if err := errors.Join(os.WriteFile(s.CAFile, authority, 0o600),
		os.WriteFile(s.PasswordFile, []byte(Password+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{server: s}, nil }))
	server.Domain, server.TLSConfig = "relay.example",
		&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	scheme := "smtp"
	if implicit {
		scheme, listener = "smtps", tls.NewListener(listener, server.TLSConfig)
	}
	s.URL = scheme + "://relay%40example.com@" + listener.Addr().String()
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(listener); err != nil && !errors.Is(err, smtp.ErrServerClosed) {
			t.Errorf("SMTP server: %v", err)
		}
	}()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("SMTP server: %v", err)
		}
		<-served
	})
	return s
}

// Certificate makes a certificate for an IP address that verifies itself, and returns it in PEM, too.
func Certificate(address string) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("certificate: %w", err)
	}
	now := time.Now() //nolint:forbidigo // certificates are verified by the clock of the machine
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "relay.example"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), IPAddresses: []net.IP{net.ParseIP(address)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// session is one dialogue.
type session struct {
	server        *Server
	authenticated bool
	message       Message
}

// AuthMechanisms implements [smtp.AuthSession].
func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth implements [smtp.AuthSession].
func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, username, password string) error {
		if username != User || password != Password {
			return smtp.ErrAuthFailed
		}
		s.authenticated = true
		return nil
	}), nil
}

// Mail implements [smtp.Session].
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if !s.authenticated {
		return smtp.ErrAuthRequired
	}
	s.message.From = from
	return nil
}

// Rcpt implements [smtp.Session].
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.message.To = to
	if s.server.refuse != nil {
		return s.server.refuse(to)
	}
	return nil
}

// Data implements [smtp.Session].
func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.message.Raw = string(raw)
	s.server.messages = append(s.server.messages, s.message)
	return nil
}

// Reset implements [smtp.Session].
func (s *session) Reset() { s.message = Message{} }

// Logout implements [smtp.Session].
func (s *session) Logout() error { return nil }
