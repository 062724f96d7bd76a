package rig

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"quittance/sandbox/fakeprovider"
)

// maxCallback bounds the body of a callback in bytes.
const maxCallback = 1 << 20

// ReceiverConfig configures a receiver and how a deployment reaches it.
type ReceiverConfig struct {
	// Listen is the address on which it listens; [Loopback] when empty.
	Listen string
	// URL is the address under which the deployment reaches it, https and without a trailing slash; its own address
	// when empty.
	URL string
	// Identity is a directory with its certificate, created when missing: see [fakeprovider.ReceiverIdentity]. The data
	// directory of a sandbox has one that the sandbox trusts. Certificate and Key are files to use instead (PEM).
	Identity, Certificate, Key string
}

// Receiver is the receiving end of webhooks: HTTPS with keep-alive. Each subscription has a path of its own.
type Receiver struct {
	*Party
	// URL is that of the subscriptions, followed by their path.
	URL string
	// Authority is the file of the authority that signed its certificate, and Roots has it; "" and nil when the operator
	// provides the certificate.
	Authority string
	Roots     *x509.CertPool
}

// StartReceiver starts a receiver, which gives every callback with its body to accept.
func StartReceiver(ctx context.Context, c ReceiverConfig, now func() time.Time,
	accept func(w http.ResponseWriter, r *http.Request, body []byte)) (*Receiver, error) {
	var receiver Receiver
	certificate, err := receiver.certificate(c, now())
	if err != nil {
		return nil, err
	}
	if c.Listen == "" {
		c.Listen = Loopback
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCallback))
		if err != nil {
			http.Error(w, "the body was not read", http.StatusBadRequest)
			return
		}
		accept(w, r, body)
	})
	if receiver.Party, err = Listen(ctx, c.Listen, handler, &certificate); err != nil {
		return nil, fmt.Errorf("receiver: %w", err)
	}
	if receiver.URL = c.URL; receiver.URL == "" {
		receiver.URL = "https://" + receiver.Address().String()
	}
	return &receiver, nil
}

// certificate returns the certificate, and sets who signed it.
func (h *Receiver) certificate(c ReceiverConfig, now time.Time) (certificate tls.Certificate, err error) {
	if c.Certificate != "" {
		if certificate, err = tls.LoadX509KeyPair(c.Certificate, c.Key); err != nil {
			return certificate, fmt.Errorf("receiver certificate: %w", err)
		}
		return certificate, nil
	}
	identity, err := fakeprovider.ReceiverIdentity(c.Identity, now)
	if err != nil {
		return certificate, err
	}
	text, err := os.ReadFile(identity.Authority)
	if err != nil {
		return certificate, fmt.Errorf("receiver authority: %w", err)
	}
	h.Authority, h.Roots = identity.Authority, x509.NewCertPool()
	h.Roots.AppendCertsFromPEM(text)
	return identity.Certificate, nil
}
