// Package s3test gives tests a real S3-compatible store, versitygw, behind a front that can misbehave.
//
// A store has its own directory and listens on a Unix socket in it. The front is an HTTPS server of this process with a
// certificate of its own authority, so tests need no port and no system service. The program is built from the module
// tools/s3 once for a checkout; scripts/setup does it ahead of the tests. Start reading at [Start].
package s3test

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"

	"quittance/test/kit"
)

// Bucket is the name of the only bucket of a store.
const Bucket = "backups"

// The credentials that a store accepts.
const (
	AccessKey = "quittance-test"
	SecretKey = "synthetic-secret-of-the-store"
)

// region is that of the bucket.
const region = "us-east-1"

// Store is a running store.
type Store struct {
	// Endpoint is the address of the front.
	Endpoint string
	// CA is a file with the certificate of the front's authority.
	CA string
	// Files is the directory that has the objects of the bucket as files.
	Files string

	fault    atomic.Pointer[Fault]
	requests atomic.Int64
}

// Fault answers a request in the place of the store, or forwards it to the store with forward and spoils the answer. It
// may end with panic(http.ErrAbortHandler).
type Fault func(w http.ResponseWriter, r *http.Request, forward http.Handler)

// Misbehave makes the front answer every further request with a fault; with nil it behaves again.
func (s *Store) Misbehave(fault Fault) {
	if fault == nil {
		s.fault.Store(nil)
		return
	}
	s.fault.Store(&fault)
}

// Requests returns the number of requests so far.
func (s *Store) Requests() int64 { return s.requests.Load() }

// Environment returns the variables with the credentials of the store.
func Environment() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + AccessKey, "AWS_SECRET_ACCESS_KEY=" + SecretKey}
}

// Start starts a store with an empty bucket. It ends with the test.
func Start(t testing.TB) *Store {
	t.Helper()
	dir, err := os.MkdirTemp("", "s3test-") // short enough for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	root, sidecar, socket := filepath.Join(dir, "objects"), filepath.Join(dir, "attributes"), filepath.Join(dir, "s")
	s := &Store{CA: filepath.Join(dir, "ca.pem"), Files: filepath.Join(root, Bucket)}
	for _, path := range []string{s.Files, sidecar} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	serve(t, socket, root, sidecar)
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "store"
			r.Out.Host = r.In.Host // the signature covers it
		},
		Transport: &http.Transport{DisableCompression: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", socket)
			}},
	}
	front := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if fault := s.fault.Load(); fault != nil {
			(*fault)(w, r, forward)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	s.Endpoint = front.URL
	if err := os.WriteFile(s.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// serve runs the program until the test ends, and returns when it answers.
func serve(t testing.TB, socket, root, sidecar string) {
	t.Helper()
	program, err := program(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "--port", socket, "--region", region, "--quiet", "posix", "--sidecar", sidecar, root)
	command.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		if err := command.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err == nil {
			t.Error("the store has ended by itself")
		}
	})
	kit.Eventually(t, func() error {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return conn.Close()
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the store has ended: %v: %s", err, &output)
		default:
		}
		return fmt.Errorf("the store does not listen: %w", err)
	})
}

// program returns the path of the program, and builds it unless the checkout has it.
func program(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	root := filepath.Dir(string(bytes.TrimSpace(out)))
	text, err := os.ReadFile(filepath.Join(root, "tools", "s3", "go.mod"))
	if err != nil {
		return "", err
	}
	version := regexp.MustCompile(`github\.com/versity/versitygw (v\S+)`).FindSubmatch(text)
	if version == nil {
		return "", fmt.Errorf("tools/s3/go.mod does not require versitygw")
	}
	path := filepath.Join(root, ".bin", "versitygw-"+string(version[1]))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	// Several test programs can get here at the same time: each builds a file of its own, and the last one wins.
	own := fmt.Sprintf("%s.%d", path, os.Getpid())
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", own, "github.com/versity/versitygw/cmd/versitygw")
	build.Dir, build.Env = filepath.Join(root, "tools", "s3"), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build versitygw: %w: %s", err, out)
	}
	return path, os.Rename(own, path)
}
