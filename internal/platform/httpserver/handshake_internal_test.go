package httpserver

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"quittance/test/kit"
)

// slowSigner is a key for one handshake. It announces the source of each signature that begins, and waits until the
// test releases it.
type slowSigner struct {
	crypto.Signer
	from  string
	began chan string
	letGo chan struct{} // each value releases one signature; closed at the end of the test
}

func (s slowSigner) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	select {
	case s.began <- s.from:
		<-s.letGo
	case <-s.letGo:
	}
	return s.Signer.Sign(random, digest, opts)
}

// TestHandshakesTakeTurns floods a server that makes one signature at a time with handshakes from one source. It checks
// that a handshake from another source waits only for the current signature and at most one more.
func TestHandshakesTakeTurns(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	began, letGo := make(chan string), make(chan struct{})
	certificate := func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		from, _, err := net.SplitHostPort(hello.Conn.RemoteAddr().String())
		return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: slowSigner{key, from, began, letGo}}, err
	}
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limiter := newHandshakeLimiter(1)
	config := &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: limiter.limit(certificate)}
	listener := tls.NewListener(plain, config)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				_ = conn.(*tls.Conn).HandshakeContext(context.Background()) // the client reports errors
			})
		}
	})
	t.Cleanup(func() {
		close(letGo)
		_ = listener.Close()
		running.Wait()
	})
	shake := func(from string) {
		running.Go(func() {
			dialer := &tls.Dialer{NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}},
				Config: &tls.Config{InsecureSkipVerify: true}}
			conn, err := dialer.DialContext(context.Background(), "tcp", plain.Addr().String())
			if err != nil {
				t.Errorf("from %s: %v", from, err)
				return
			}
			_ = conn.Close()
		})
	}
	const many, other, flood = "127.0.1.1", "127.0.1.2", 20
	for range flood {
		shake(many)
	}
	<-began
	shake(other)
	kit.Eventually(t, func() error {
		if limiter.pool.InUse()+limiter.pool.Waiting() < flood+1 {
			return fmt.Errorf("%d handshakes wait for their turn, want %d", limiter.pool.Waiting(), flood)
		}
		return nil
	})
	if signing := limiter.pool.InUse(); signing != 1 {
		t.Fatalf("%d handshakes sign at the same time", signing)
	}
	var order []string
	for range flood {
		letGo <- struct{}{}
		order = append(order, <-began)
	}
	letGo <- struct{}{}
	if at := slices.Index(order, other); at < 0 || at > 1 {
		t.Errorf("the handshake of another source signs after %d of a flood: %v", at, order)
	}
}
