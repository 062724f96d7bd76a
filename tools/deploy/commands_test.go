package deploy

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience limits every wait. It allows for a busy machine.
const patience = 5 * time.Minute

// product is the program of the image, built by TestMain.
var product string

func TestMain(m *testing.M) { os.Exit(withProduct(m)) }

// withProduct runs the tests with a product of this source tree.
func withProduct(m *testing.M) int {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // Helm logs every symbolic link of the chart
	dir, err := os.MkdirTemp("", "quittance-deploy-")
	if err == nil {
		product = filepath.Join(dir, "quittance")
		build := exec.Command("go", "build", "-trimpath", "-o", product, "./cmd/quittance")
		build.Dir = filepath.Join("..", "..")
		var said []byte
		if said, err = build.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w\n%s", err, said)
		}
	}
	status := 1
	if err == nil {
		status = m.Run()
	}
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// machine is the part of a container's file system that the files of secrets and config maps are mounted into. The
// paths of containers lead below its root.
type machine struct {
	root string
}

// newMachine creates the mounted files as the kubelet does: those of secrets can be read by their owner and their
// group.
func newMachine(t *testing.T) machine {
	t.Helper()
	m := machine{root: t.TempDir()}
	certificate, key := certificateFor(t)
	for name, text := range map[string]string{
		"run/quittance/tls/tls.crt": certificate, "run/quittance/tls/tls.key": key,
		"run/quittance/sign-on/client-secret": "secret\n", "run/quittance/traces/headers": "Authorization: Bearer secret\n",
		"etc/quittance/files/webhooks/ca.pem": certificate, "etc/quittance/files/more/password": "secret\n",
		"run/quittance/mail/password": "secret\n", "etc/quittance/mail/ca.pem": certificate,
		"run/secrets/tls-cert.pem": certificate, "run/secrets/tls-key.pem": key,
		"run/secrets/pgpass": "database:5432:quittance:quittance:from-the-file\n",
	} {
		m.write(t, name, text, 0o440)
	}
	for _, name := range []string{"run/quittance/key/key.json", "run/secrets/key.json"} {
		m.write(t, name, "", 0o600)
		file := filepath.Join(m.root, name)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), product, "key", "generate",
			"--out", file).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if err := os.Chmod(filepath.Join(m.root, "run/quittance/key/key.json"), 0o440); err != nil { // as the kubelet does
		t.Fatal(err)
	}
	return m
}

func (m machine) write(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	file := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// certificateFor returns a certificate and its key in PEM.
func certificateFor(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"invoices.example"}}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

// fixedPort matches the port of a variable with an address to listen on.
var fixedPort = regexp.MustCompile(`^(QUITTANCE_(?:[A-Z]+_)?LISTEN)=:[0-9]+$`)

// command returns the product with the arguments and variables of a container, on this machine: its paths lead below
// the root, its servers take free ports, and its database is an embedded one. Like a container, it has no other
// variables.
func (m machine) command(ctx context.Context, args, environment []string) *exec.Cmd {
	command := exec.CommandContext(ctx, product, args...)
	command.Dir = m.root
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case name == "QUITTANCE_DATABASE_DIRECT":
			continue // there is no pool in front of an embedded database
		case name == "QUITTANCE_DATABASE":
			variable = name + "=sqlite:" + filepath.Join(m.root, "quittance.db")
		case strings.HasPrefix(value, "/"):
			variable = name + "=" + filepath.Join(m.root, value)
		default:
			variable = fixedPort.ReplaceAllString(variable, "$1=:0")
		}
		command.Env = append(command.Env, variable)
	}
	return command
}

// started is a server that runs as a container would.
type started struct {
	// listen, metrics and operators are its addresses, "" if it has none.
	listen, metrics, operators string
	environment                []string
}

// serving matches the line with which a server says that it is there. It leaves out what the server has not.
var serving = regexp.MustCompile(`msg=serving .* listen=(\S+)(?: metrics=(\S+))?(?: operators=(\S+))?\n`)

// serve runs the command of a container until the end of the test, and returns an error if it does not start to serve.
func (m machine) serve(t *testing.T, args, environment []string) (started, error) {
	t.Helper()
	environment = slices.DeleteFunc(slices.Clone(environment),
		func(v string) bool { return strings.HasPrefix(v, "QUITTANCE_LOG_FORMAT=") })
	ctx, cancel := context.WithCancel(context.Background())
	command := m.command(ctx, args, environment)
	name := filepath.Join(m.root, "log")
	log, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		cancel()
		<-ended //nolint:errcheck // it was killed
		_ = log.Close()
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := serving.FindStringSubmatch(string(text)); found != nil {
			return started{found[1], found[2], found[3], environment}, nil
		}
		select {
		case err := <-ended:
			ended <- err
			return started{}, fmt.Errorf("%v %v: %w\n%s", args, environment, err, text)
		default:
		}
		if time.Now().After(deadline) {
			return started{}, fmt.Errorf("%v does not serve:\n%s", args, text)
		}
	}
}

// answers asks a server for a path until it answers 200, and returns its last error otherwise.
func answers(t *testing.T, address string) error {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // as the kubelet does
	defer transport.CloseIdleConnections()
	client := http.Client{Timeout: patience, Transport: transport}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err == nil {
			err = response.Body.Close()
			if err == nil && response.StatusCode == http.StatusOK {
				return nil
			}
			if response.StatusCode != http.StatusServiceUnavailable {
				return fmt.Errorf("%s answers %d", address, response.StatusCode)
			}
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("%s does not answer 200", address), err)
		}
	}
}
