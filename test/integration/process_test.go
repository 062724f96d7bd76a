package integration_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"testing"

	"quittance/test/kit"
)

// process is a running quittance.
type process struct {
	command *exec.Cmd
	output  string // file of its standard output
	log     string // file of its standard error
	ended   chan struct{}
	err     error // of Wait; read it after ended is closed
}

// product is the command that this binary serves as, with the race detector if it was built with it.
const product = "quittance"

// start runs the product in the background and appends its output to name.out and name.log in dir.
func start(dir, name string, args ...string) (*process, error) {
	return startCommand(dir, name, exec.Command(product, args...))
}

// These build the product as it is released, for tests of its memory and speed, and with the build tag checkpoints.
// Each is built once, because linking takes longer than many tests.
var (
	releasedProduct   = sync.OnceValues(func() (string, error) { return buildProduct("released") })
	checkpointProduct = sync.OnceValues(func() (string,
		error) {
		return buildProduct("checkpoints", "-tags", "checkpoints")
	})
	// commandProduct is for commands that run beside servers and end: with the race detector, each would need several
	// times the processor time to start, and the tests run hundreds.
	commandProduct = sync.OnceValues(func() (string, error) {
		if !raced() {
			return exec.LookPath(product)
		}
		return releasedProduct()
	})
)

// raced reports whether this binary was built with the race detector.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// beside returns the program of the commands beside servers of a program.
func beside(t *testing.T, program string) string {
	t.Helper()
	if program != product {
		return program
	}
	return built(t, commandProduct)
}

// built returns the path of a product.
func built(t *testing.T, product func() (string, error)) string {
	t.Helper()
	program, err := product()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// buildProduct builds the product, without the race detector, beside the command quittance of the tests, which is
// removed at the end.
func buildProduct(name string, flags ...string) (string, error) {
	command, err := exec.LookPath(product)
	if err != nil {
		return "", err
	}
	program := filepath.Join(filepath.Dir(command), name, product)
	return program, kit.Build(context.Background(), program, append(flags, "quittance/cmd/quittance")...)
}

// startCommand is start for another program, or with additional environment variables.
func startCommand(dir, name string, command *exec.Cmd) (*process, error) {
	p := &process{command: command, output: dir + "/" + name + ".out", log: dir + "/" + name + ".log",
		ended: make(chan struct{})}
	p.command.Dir = dir
	p.command.Env = append(bareEnvironment(dir), p.command.Env...)
	for path, stream := range map[string]*io.Writer{p.output: &p.command.Stdout, p.log: &p.command.Stderr} {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		defer file.Close() // the child has its own
		*stream = file
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.command.Wait()
		close(p.ended)
	}()
	return p, nil
}

// bareEnvironment returns the minimal environment of a program, without any settings of this machine.
func bareEnvironment(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(),
		raceOptions + "=" + os.Getenv(raceOptions)}
}

// errEnded reports that a process ended while the test waited for it.
var errEnded = errors.New("the process has ended")

// alive returns an error if a process has ended, and nil while it runs.
func (p *process) alive() error {
	select {
	case <-p.ended:
		text, err := os.ReadFile(p.log)
		return fmt.Errorf("%w: %w %w\n%s", errEnded, p.err, err, text)
	default:
		return nil
	}
}

// await waits until a condition holds or the process has ended.
func (p *process) await(condition func() error) error {
	var over error
	err := kit.Poll(func() error {
		over = p.alive()
		if over == nil {
			return condition()
		}
		return nil // there is nothing left to wait for
	})
	return errors.Join(err, over)
}

// ready waits until a file exists and returns its contents.
func (p *process) ready(path string) (text []byte, err error) {
	err = p.await(func() error {
		text, err = os.ReadFile(path)
		return err
	})
	return text, err
}

// says waits until the process has printed a match and returns the first group.
func (p *process) says(pattern *regexp.Regexp) (found string, err error) {
	err = p.await(func() error {
		for _, path := range []string{p.output, p.log} {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if match := pattern.FindSubmatch(text); match != nil {
				found = string(match[1])
				return nil
			}
		}
		return fmt.Errorf("nothing printed matches %s", pattern)
	})
	return found, err
}

// stop asks the process to stop and checks that it ends without an error.
func (p *process) stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if err := kit.Poll(func() error {
		if p.alive() == nil {
			return errors.New("the process does not end")
		}
		return nil
	}); err != nil {
		return errors.Join(err, p.kill())
	}
	return errors.Join(p.err, p.sound())
}

// kill ends the process with SIGKILL, so that it cannot clean up.
func (p *process) kill() error {
	if err := p.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.ended
	return p.sound()
}

// killed reports whether SIGKILL has ended the process.
func (p *process) killed() bool {
	select {
	case <-p.ended:
		return bySIGKILL(p.err)
	default:
		return false
	}
}

// bySIGKILL reports whether a program that ended with err was killed.
func bySIGKILL(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// sound checks that a log has no traces of bugs that the test would not notice otherwise.
func (p *process) sound() error {
	text, err := os.ReadFile(p.log)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, bug := range []string{"DATA RACE", "panic", "goroutine "} {
		if at := bytes.Index(text, []byte(bug)); at >= 0 {
			return fmt.Errorf("the log shows a bug: %s", text[at:min(len(text), at+4000)])
		}
	}
	return nil
}
