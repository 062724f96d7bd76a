package integration_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"quittance/internal/platform/buildinfo"
	"quittance/test/ledgertest"
	"quittance/test/pgtest"
)

// fromNothing returns the scripts in the first section of docs/ops/go-live.md: settings, company, serve, submit, check.
func fromNothing(t *testing.T) [5]string {
	t.Helper()
	_, section, found := strings.Cut(readText(t, "../../docs/ops/go-live.md"), "## From nothing to production\n")
	section, _, ended := strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1)
	if !found || !ended || len(blocks) != 5 {
		t.Fatalf("the guide has %d scripts there", len(blocks))
	}
	var scripts [5]string
	for n, block := range blocks {
		scripts[n] = block[1]
	}
	return scripts
}

// writeCertificate writes a certificate for 127.0.0.1 and more addresses, and its key.
func writeCertificate(t *testing.T, dir string, more ...net.IP) (certificate string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Quittance"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: append(more, net.IPv4(127, 0, 0, 1)), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate = filepath.Join(dir, "cert.pem")
	for path, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der},
		filepath.Join(dir, "cert-key.pem"): {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate
}

// TestFromNothingToProduction runs the scripts of the first section of docs/ops/go-live.md, each in a shell of its own:
// the deployment must serve in production, over TLS, and submit. They run as written, except for what the guide tells
// readers to replace: the addresses and the database in quittance.env, the address of the provider, and the address of
// the server. The server listens on a free port of the loopback address, so its address is known only when it runs.
// "exec" before the server lets the test stop it.
func TestFromNothingToProduction(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			n := &newcomer{t: t, home: home, dir: filepath.Join(home, "quittance"), shell: "sh"}
			if engine == ledgertest.Postgres {
				n.shell = firstShell("zsh", "bash")
			}
			n.deploy(engine, fromNothing(t))
		})
	}
}

// firstShell returns the first of some shells that this machine has, or sh.
func firstShell(names ...string) string {
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return "sh"
}

// newcomer follows the guide in the directory quittance of a home of its own.
type newcomer struct {
	t                *testing.T
	home, dir, shell string
}

// run runs a script in a fresh shell and returns what it prints.
func (n *newcomer) run(script string) string {
	n.t.Helper()
	command := exec.CommandContext(n.t.Context(), n.shell, "-eu", "-c", script)
	command.Dir, command.Env = n.home, append(bareEnvironment(n.home),
		"PATH="+filepath.Dir(built(n.t, commandProduct))+string(os.PathListSeparator)+os.Getenv("PATH"))
	var problem strings.Builder
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		n.t.Fatalf("%s: %v: %s%s", script, err, out, &problem)
	}
	return string(out)
}

// replaced returns a text with one part replaced, which must be there.
func (n *newcomer) replaced(text, old, with string) string {
	n.t.Helper()
	if !strings.Contains(text, old) {
		n.t.Fatalf("there is no %q in %s", old, text)
	}
	return strings.ReplaceAll(text, old, with)
}

// adapt changes the settings as the guide says.
func (n *newcomer) adapt(engine string) {
	n.t.Helper()
	path := filepath.Join(n.dir, "quittance.env")
	settings := n.replaced(readText(n.t, path), "=0.0.0.0:8443", "=127.0.0.1:0")
	settings = n.replaced(settings, "=127.0.0.1:9090", "=127.0.0.1:0")
	if engine == ledgertest.Postgres {
		settings = n.replaced(settings, "=sqlite:"+n.dir+"/quittance.db", "="+pgtest.URL(n.t))
	}
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// deploy follows the guide to its end.
func (n *newcomer) deploy(engine string, scripts [5]string) {
	t := n.t
	provider := newDoor(t, filepath.Join(n.home, "provider"))
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	writeCertificate(t, n.dir)
	for name, text := range map[string]string{"credential.txt": fleetCredential,
		"invoice.json": exampleDraft(time.Now())} {
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.run(scripts[0])
	n.adapt(engine)
	n.run(n.replaced(scripts[1], "https://gateway.example", provider.url))

	server, err := startCommand(n.home, "serve", exec.Command(n.shell, "-eu",
		"-c", n.replaced(scripts[2], "\nquittance serve", "\nexec quittance serve")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.stop(); err != nil {
			t.Error(err)
		}
	})
	listen, err := server.says(regexp.MustCompile(`listen=(\S+)`))
	if err != nil {
		t.Fatal(err)
	}
	submit := n.replaced(scripts[3], "https://invoices.example:8443", "https://"+listen)
	if said := n.run(submit); !strings.Contains(said, `"ready"`) || !strings.Contains(said, `"outcome":"acknowledged"`) {
		t.Errorf("the first submission: %s", said)
	}
	if documents := provider.server.Ledger().Documents(); len(documents) != 1 {
		t.Errorf("the provider has %+v", documents)
	}
	looked := n.run(scripts[4])
	for _, want := range []string{"quittance " + buildinfo.Current("").Version, "APPROVED_AT", "connection.approve",
		"database.migrate"} {
		if !strings.Contains(looked, want) {
			t.Errorf("without %q: %s", want, looked)
		}
	}
	n.approveOthers(submit)
}

// approveOthers checks that the approval of another release does not cover this one, that servers of both can submit
// when both are approved, and that the earlier approval stays in the audit log.
func (n *newcomer) approveOthers(submit string) {
	t := n.t
	connection := valueAt(t, response{body: []byte(readText(t, filepath.Join(n.dir, "connection.json")))},
		"/connection_id")
	command := func(args string) string {
		t.Helper()
		return n.run(`export QUITTANCE_ENV_FILE="$HOME/quittance/quittance.env"; quittance ` + args)
	}
	approve := "connection approve " + connection + " --by Bob --contract C-2026-8 --release "
	// Without -f, curl prints the error.
	submit = strings.ReplaceAll(submit, "curl -fsS", "curl -sS")
	again := func(number string) string {
		t.Helper()
		draft := strings.Replace(exampleDraft(time.Now()), "INV-1", number, 1)
		if err := os.WriteFile(filepath.Join(n.dir, "invoice.json"), []byte(draft), 0o600); err != nil {
			t.Fatal(err)
		}
		return n.run(submit)
	}
	command(approve + "9.9.9")
	if said := again("INV-2"); !strings.Contains(said, "production_not_approved") {
		t.Errorf("with the approval of another release: %s", said)
	}
	command(approve + "9.9.9," + buildinfo.Current("").Version)
	if said := again("INV-3"); !strings.Contains(said, `"outcome":"acknowledged"`) {
		t.Errorf("with the approval of both releases: %s", said)
	}
	if said := command("connection list") + command("audit list"); !strings.Contains(said,
		"9.9.9,"+buildinfo.Current("").Version) || !strings.Contains(said, `"before_contract":"C-2026-7"`) {
		t.Errorf("the approvals are %s", said)
	}
}
