package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// server is one run of a server program, such as postgres.
type server struct {
	name   string // for errors
	cmd    *exec.Cmd
	tether *os.File      // the watchdog ends the server when this closes without a line
	ended  chan struct{} // closed when the process has ended
	err    error         // how it ended; valid once ended is closed
}

// watchdog becomes the server and leaves a guard process behind that reads from a pipe. The guard reads a line when the
// server was shut down; it reads the end of the pipe when the process that started the server is gone, and then ends
// the server and removes its directory. Linux's parent-death signal would not work: it is bound to the thread, not the
// process, that started the child.
const watchdog = `
directory=$1
shift
{
	if ! read -r word <&3; then
		kill -s QUIT $$
		n=0
		while kill -s 0 $$ 2>/dev/null && [ $n -lt 100 ]; do
			sleep 0.1
			n=$((n + 1))
		done
		rm -rf "$directory"
	fi
} &
exec "$@" 3<&-
`

// startServer starts a server program under its watchdog and the account. Its files are in dir, and its output goes to
// the file log.
func startServer(name, dir, log string, account *account, command ...string) (_ *server, err error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	held, tether, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the pipe to the watchdog: %w", err)
	}
	defer func() { err = errors.Join(err, held.Close()) }()

	cmd := exec.Command("/bin/sh", append([]string{"-c", watchdog, "sh", dir}, command...)...) //nolint:noctx // the server outlives this call; end ends it
	cmd.Dir = dir
	cmd.Env = environment()
	cmd.SysProcAttr = account.attributes()
	cmd.Stdout, cmd.Stderr = file, file
	cmd.ExtraFiles = []*os.File{held}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), tether.Close())
	}
	s := &server{name: name, cmd: cmd, tether: tether, ended: make(chan struct{})}
	go func() {
		s.err = cmd.Wait()
		close(s.ended)
	}()
	return s, nil
}

// end sends the signal, waits for the process and ends the watchdog.
func (s *server) end(signal syscall.Signal) error {
	var late error
	if err := s.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", s.name, err)
	}
	select {
	case <-s.ended:
	case <-time.After(stopTimeout):
		late = errors.Join(fmt.Errorf("%s did not end within %s of %s", s.name, stopTimeout, signal), s.cmd.Process.Kill())
		<-s.ended
	}
	_, err := s.tether.WriteString("ended\n")
	return errors.Join(late, err, s.tether.Close())
}

// tail returns the end of a server's log, for an error message.
func tail(log string) []byte {
	const most = 4096
	text, err := os.ReadFile(log)
	if err != nil {
		return fmt.Appendf(nil, "(its log cannot be read: %v)", err)
	}
	return text[max(0, len(text)-most):]
}
