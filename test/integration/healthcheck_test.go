package integration_test

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// healthcheck runs the command with settings in the environment and arguments, and returns what it prints.
func healthcheck(t *testing.T, environment []string, args ...string) (said string, healthy bool) {
	t.Helper()
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), "quittance", append([]string{"healthcheck"}, args...)...)
	command.Dir, command.Env = dir, append(bareEnvironment(dir), environment...)
	out, err := command.CombinedOutput()
	return string(out), err == nil
}

// TestHealthcheck: the command finds a server by the settings of that server, accepts over TLS only its certificate,
// and fails once the server has stopped. The one that stops has an address of its own, because another test may get its
// port on the usual ones.
func TestHealthcheck(t *testing.T) {
	t.Parallel()
	certificate, key, _ := serverCertificate(t)
	other, _, _ := serverCertificate(t)
	for name, flags := range map[string][]string{"worker": {"--role", "worker", "--listen", "0.0.0.0:0"},
		"stopped": {"--listen", "127.77.0.1:0"}, "plain": {"--listen", "[::1]:0"},
		"TLS": {"--listen", ":0", "--tls-cert", certificate, "--tls-key", key}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			output(t, "key", "generate", "--out", dir+"/key.json")
			server, err := start(dir, "server", append([]string{"serve", "--environment", "sandbox", "--database",
				"sqlite:" + dir + "/q.db", "--key-file", dir + "/key.json"}, flags...)...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = server.kill() })
			address, err := server.says(regexp.MustCompile(`msg=serving .*listen=(\S+)`))
			if err != nil {
				t.Fatal(err)
			}
			settings := []string{"QUITTANCE_LISTEN=" + address, "QUITTANCE_KEY_FILE=unused.json"}
			if name == "TLS" {
				settings = append(settings, "QUITTANCE_TLS_CERT="+certificate)
				if said, healthy := healthcheck(t, nil, "--listen", address, "--tls-cert", other, "--timeout", "1m"); healthy ||
					!strings.Contains(said, "the server presents another certificate") {
					t.Errorf("with another certificate: %v, %q", healthy, said)
				}
			}
			if said, healthy := healthcheck(t, settings, "--timeout", "1m"); !healthy || said != "ready\n" {
				t.Errorf("healthy: %v, %q", healthy, said)
			}
			if name != "stopped" {
				return
			}
			if err := server.stop(); err != nil {
				t.Fatal(err)
			}
			if said, healthy := healthcheck(t, settings); healthy || !strings.Contains(said, "/readyz") {
				t.Errorf("a stopped server is healthy: %v, %q", healthy, said)
			}
		})
	}
}

// TestHealthcheckOfOthers: no status but 200 is healthy, a redirect is not followed, and the check ends when the server
// answers nothing.
func TestHealthcheckOfOthers(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			return // 200
		}
		select {
		case <-hang:
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		default:
			http.Redirect(w, r, "/healthz", http.StatusFound)
		}
	}))
	t.Cleanup(other.Close)
	address := other.Listener.Addr().String()
	if said, healthy := healthcheck(t, nil, "--listen", address, "--timeout", "1m"); healthy ||
		!strings.Contains(said, "answered 302") {
		t.Errorf("a redirect: %v, %q", healthy, said)
	}
	close(hang)
	if said, healthy := healthcheck(t, nil, "--listen", address, "--timeout", "300ms"); healthy ||
		!strings.Contains(said, "deadline exceeded") {
		t.Errorf("a server that hangs: %v, %q", healthy, said)
	}
	if said, healthy := healthcheck(t, nil, "--listen", "127.0.0.1:0"); healthy ||
		!strings.Contains(said, "--listen: port 0") {
		t.Errorf("port 0: %v, %q", healthy, said)
	}
}
