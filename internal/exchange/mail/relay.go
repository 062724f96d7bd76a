package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	netmail "net/mail"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"

	"quittance/internal/platform/secret"
)

const (
	// sendTimeout bounds one attempt: the connection to the relay and the whole dialogue together. It must be shorter than
	// the lease.
	sendTimeout = time.Minute
	// maxDialogue is how many bytes of the relay are read in one dialogue. An honest one takes less than ten kilobytes.
	maxDialogue = 256 << 10
)

// Relay is the SMTP server that takes the mails, and how it is talked to.
type Relay struct {
	// Host and Port are its address.
	Host string
	Port int
	// ImplicitTLS says that the connection begins with TLS (RFC 8314). Otherwise STARTTLS (RFC 3207) is required, unless
	// Plain is set.
	ImplicitTLS bool
	// Plain allows a connection without TLS, which only a relay on this machine may have.
	Plain bool
	// User and Password log in; an empty User means without.
	User     string
	Password secret.Text
	// From is the sender of all mails.
	From netmail.Address
	// Hello is the name of this server in EHLO; "" for [Relay.defaultHello].
	Hello string
	// RootCAs verify its certificate; nil for those of the system.
	RootCAs *x509.CertPool

	timeout time.Duration // of an attempt; 0 for sendTimeout
}

// ErrPasswordInURL says that the address of the relay has a password, which everybody who lists processes could read.
var ErrPasswordInURL = errors.New("the address must not contain a password: give it with --smtp-password-file")

// ParseRelay reads an address such as smtp://user@mail.example:587 or smtps://mail.example:465. The ports are those by
// default. A relay at a loopback address may be without TLS.
func ParseRelay(address string) (Relay, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		// err quotes the address
		return Relay{}, errors.New("want an address like smtp://user@mail.example:587 or smtps://mail.example:465")
	}
	if _, has := parsed.User.Password(); has {
		return Relay{}, ErrPasswordInURL
	}
	r := Relay{Host: parsed.Hostname(), User: parsed.User.Username(), ImplicitTLS: parsed.Scheme == "smtps", Port: 587}
	if r.ImplicitTLS {
		r.Port = 465
	}
	if parsed.Scheme != "smtp" && !r.ImplicitTLS || r.Host == "" || parsed.Path != "" && parsed.Path != "/" ||
		parsed.RawQuery != "" || parsed.Fragment != "" {
		return Relay{}, errors.New("want an address like smtp://user@mail.example:587 or smtps://mail.example:465")
	}
	if text := parsed.Port(); text != "" {
		if r.Port, err = strconv.Atoi(text); err != nil || r.Port < 1 || r.Port > 65535 {
			return Relay{}, fmt.Errorf("port %s: want 1 to 65535", text)
		}
	}
	ip, err := netip.ParseAddr(r.Host)
	r.Plain = !r.ImplicitTLS && (r.Host == "localhost" || err == nil && ip.IsLoopback())
	return r, nil
}

// ParseFrom reads a sender such as "Quittance <invoices@example.com>".
func ParseFrom(text string) (netmail.Address, error) {
	from, err := netmail.ParseAddress(text)
	if err != nil {
		return netmail.Address{}, errors.New(`want a sender like "Quittance <invoices@example.com>"`)
	}
	return *from, nil
}

// helloName is a host name of at least two labels, or the literal of an address (RFC 5321, section 4.1.3).
var helloName = regexp.MustCompile(
	`^(?i:[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+|\[[0-9.]+\]|\[IPv6:[0-9a-f:.]+\])$`)

// ParseHello checks a name for EHLO.
func ParseHello(text string) (string, error) {
	if len(text) > 255 || !helloName.MatchString(text) {
		return "", errors.New("want a whole host name, such as invoices.example.com, or an address such as [192.0.2.1]")
	}
	return text, nil
}

// defaultHello returns the name of this machine if it is a whole one. Relays refuse others, such as those of
// containers, so it is otherwise the domain of the sender, and if that is none, the machine as it is called.
func (r *Relay) defaultHello(machine string) string {
	for _, name := range []string{machine, domain(r.From.Address)} {
		if _, err := ParseHello(name); err == nil {
			return name
		}
	}
	return cmp.Or(machine, "localhost")
}

// Trust verifies the relay's certificate with authorities of a PEM file, too. A relay on this machine then needs TLS,
// like any other.
func (r *Relay) Trust(pem []byte) error {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return fmt.Errorf("authorities of the system: %w", err)
	}
	if !pool.AppendCertsFromPEM(pem) {
		return errors.New("the file contains no PEM certificate")
	}
	r.RootCAs, r.Plain = pool, false
	return nil
}

// client returns a client for one dialogue. opened is called with its connection, which the caller closes: the library
// leaves it open if the dialogue fails early.
func (r *Relay) client(opened func(io.Closer)) (*gomail.Client, error) {
	hello := r.Hello
	if hello == "" {
		machine, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("name of this machine (see --smtp-hello): %w", err)
		}
		hello = r.defaultHello(machine)
	}
	config := &tls.Config{ServerName: r.Host, RootCAs: r.RootCAs, MinVersion: tls.VersionTLS12}
	options := []gomail.Option{gomail.WithPort(r.Port), gomail.WithTimeout(sendTimeout), gomail.WithTLSConfig(config),
		gomail.WithoutNoop(), gomail.WithHELO(hello),
		gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
			raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err //nolint:wrapcheck // it is classified by the caller
			}
			opened(raw)
			deadline, _ := ctx.Deadline() // the dialogue has what the connection has left of the time
			bounded := &boundedConn{Conn: raw, left: maxDialogue, deadline: deadline}
			if err := bounded.SetDeadline(deadline); err != nil {
				return nil, err
			}
			if r.ImplicitTLS {
				return tls.Client(bounded, config), nil
			}
			return bounded, nil
		})}
	if r.ImplicitTLS || r.Plain {
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS)) // no STARTTLS
	} else {
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if r.User != "" {
		options = append(options, gomail.WithUsername(r.User), gomail.WithPassword(r.Password.Reveal()),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthSCRAMSHA256))
	}
	client, err := gomail.NewClient(r.Host, options...)
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	return client, nil
}

// errDialogue says that the relay sent more than an honest one does.
var errDialogue = errors.New("the relay sent too much")

// boundedConn reads a bounded number of bytes, and its deadline is never moved beyond the first: the library extends
// deadlines with each step, and reads lines of any length.
type boundedConn struct {
	net.Conn
	left     int
	deadline time.Time
}

// Read implements [io.Reader].
func (c *boundedConn) Read(into []byte) (int, error) {
	if c.left <= 0 {
		return 0, errDialogue
	}
	n, err := c.Conn.Read(into[:min(len(into), c.left)])
	c.left -= n
	if err != nil && !errors.Is(err, io.EOF) {
		return n, fmt.Errorf("read from the relay: %w", err)
	}
	return n, err //nolint:wrapcheck // io.EOF as it is
}

// SetDeadline implements [net.Conn].
func (c *boundedConn) SetDeadline(at time.Time) error {
	if at.IsZero() || at.After(c.deadline) {
		at = c.deadline
	}
	return c.Conn.SetDeadline(at) //nolint:wrapcheck // a method of the embedded connection
}
