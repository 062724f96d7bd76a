package integration_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quittance/test/kit"
)

// filesOfProgram is how many files a program of [TestEveryListenerIsBounded] may open.
const filesOfProgram = 1024

// TestEveryListenerIsBounded asks the system at which addresses the programs listen, and sends to each the beginnings
// of more requests than it may take: connections with a request are never closed for others, so new ones have to be. A
// listener without a limit would take the files that the database, the providers and the other listeners need.
func TestEveryListenerIsBounded(t *testing.T) {
	if _, err := os.Stat("/proc/self/net/tcp"); err != nil {
		t.Skip("only Linux lists what a process listens at")
	}
	dir := t.TempDir()
	output(t, "key", "generate", "--out", filepath.Join(dir, "key.json"))
	programs := map[string]struct {
		args      []string
		listeners int
	}{
		"serve": {[]string{"serve", "--environment", "sandbox", "--key-file", "key.json", "--database", "sqlite:quittance.db",
			"--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"}, 3},
		"sandbox": {[]string{"sandbox", "--data", "sandbox", "--listen", "127.0.0.1:0"}, 4},
		"provider-sandbox": {[]string{"provider-sandbox", "--data", "provider", "--credential-file", "credential", "--listen",
			"127.0.0.1:0"}, 1},
	}
	if err := os.WriteFile(filepath.Join(dir, "credential"), []byte("a credential of the sandbox"), 0o600); err != nil {
		t.Fatal(err)
	}
	limited := script(t, fmt.Sprintf("ulimit -n %d", filesOfProgram))
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := startCommand(dir, name, exec.Command(limited, program.args...))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.kill() })
			var addresses []netip.AddrPort
			if err := p.await(func() (err error) {
				if addresses, err = listensAt(p.command.Process.Pid); err == nil && len(addresses) < program.listeners {
					err = fmt.Errorf("%d of %d listeners", len(addresses), program.listeners)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			for _, address := range addresses {
				checkBounded(t, address)
			}
		})
	}
}

// checkBounded opens connections to an address, each with half a request, until one is closed.
func checkBounded(t *testing.T, address netip.AddrPort) {
	t.Helper()
	var open []net.Conn
	defer func() {
		for _, conn := range open {
			_ = conn.Close()
		}
	}()
	for range filesOfProgram {
		conn, err := net.Dial("tcp", address.String())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\n"); err != nil {
			break // closed
		}
	}
	kit.Eventually(t, func() error {
		if open = standing(t, open); len(open) > filesOfProgram/2 {
			return fmt.Errorf("%d connections to %s are open: half of the %d files are for the rest", len(open), address,
				filesOfProgram)
		}
		return nil
	})
}

// listensAt returns the TCP addresses at which a process listens.
func listensAt(pid int) ([]netip.AddrPort, error) {
	sockets, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return nil, err
	}
	var mine []string
	for _, entry := range sockets {
		if target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, entry.Name())); err == nil &&
			strings.HasPrefix(target, "socket:[") {
			mine = append(mine, strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]"))
		}
	}
	// The columns of a line are number, own address, that of the other side, state (0A is listening), five others, and the
	// inode.
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil {
		return nil, err
	}
	var found []netip.AddrPort
	for line := range strings.Lines(string(table)) {
		columns := strings.Fields(line)
		if len(columns) < 10 || columns[3] != "0A" || !slices.Contains(mine, columns[9]) {
			continue
		}
		_, port, _ := strings.Cut(columns[1], ":")
		number, err := strconv.ParseUint(port, 16, 16)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("a line of the table: %q", line), err)
		}
		found = append(found, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(number)))
	}
	return found, nil
}
