package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"
)

// healthcheckCmd asks a server on this machine whether it is ready. The image has no shell and no other program, so
// this is how a container engine checks the server. Its flags are those of serve, so that it needs none where the
// server takes its own from the environment.
type healthcheckCmd struct {
	Listen  string        `default:"127.0.0.1:8080" placeholder:"ADDR" help:"The --listen of the server (default: ${default})."`
	TLSCert string        `name:"tls-cert" placeholder:"FILE" help:"The --tls-cert of the server. The server must present this certificate."`
	Timeout time.Duration `default:"5s" help:"How long the check may take."`
}

// Help is shown by --help.
func (healthcheckCmd) Help() string {
	return `Example:
  quittance healthcheck --listen :8080
  quittance healthcheck --listen :8443 --tls-cert cert.pem

The command asks /readyz of a server of any role on this machine. The exit status is 0 if it answers 200, and 1 otherwise.`
}

// Run makes one request.
func (c healthcheckCmd) Run(env environment) error {
	address, err := localAddress(c.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	transport := &http.Transport{DisableKeepAlives: true} // no proxy: the server is on this machine
	target := "http://" + address + "/readyz"
	if c.TLSCert != "" {
		if transport.TLSClientConfig, err = pinned(c.TLSCert); err != nil {
			return fmt.Errorf("--tls-cert: %w", err)
		}
		target = "https://" + address + "/readyz"
	}
	ctx, cancel := context.WithTimeout(env.ctx, c.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server is not ready: %s answered %d", target, response.StatusCode)
	}
	_, err = fmt.Fprintln(env.stdout, "ready")
	return err
}

// localAddress returns the address at which a process of this machine reaches a server that listens on listen.
func localAddress(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", err
	}
	if port == "0" {
		return "", errors.New("port 0 does not say which port the server has chosen")
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, port), nil
}

// errOtherCertificate means that a server presents a certificate that is not in the file.
var errOtherCertificate = errors.New("the server presents another certificate than the file contains")

// pinned returns a configuration that accepts only the first certificate of a file in PEM. Its names do not matter,
// because this machine is known by none of them.
func pinned(file string) (*tls.Config, error) {
	want, err := firstCertificate(file)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection compares the certificate itself
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !bytes.Equal(state.PeerCertificates[0].Raw, want) {
				return errOtherCertificate
			}
			return nil
		},
	}, nil
}

// firstCertificate returns the first certificate of a file in PEM.
func firstCertificate(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return block.Bytes, nil
		}
	}
	return nil, fmt.Errorf("%s contains no PEM certificate", file)
}
