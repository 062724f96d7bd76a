package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"time"
)

// patience bounds every wait for a condition. It is for a machine that is busy with other things: nothing waits that long.
const patience = 90 * time.Second

// eventually asks until the condition holds, and returns what still was wrong when patience ended.
func eventually(limit time.Duration, condition func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := condition()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %w", limit, err)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// process is a running quittance.
type process struct {
	command *exec.Cmd
	output  string // file of its standard output
	log     string // file of its standard error
	ended   chan struct{}
	err     error // of Wait; read it after ended is closed
}

// start runs quittance in the background. What it prints goes to name.out and name.log in dir; both are added to.
func start(dir, name string, args ...string) (*process, error) {
	return startCommand(dir, name, exec.Command("quittance", args...))
}

// startCommand is start for another program, or with more in its environment than every program gets.
func startCommand(dir, name string, command *exec.Cmd) (*process, error) {
	p := &process{command: command, output: dir + "/" + name + ".out", log: dir + "/" + name + ".log", ended: make(chan struct{})}
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

// bareEnvironment is what a program needs: nothing of this machine's settings reaches it.
func bareEnvironment(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir()}
}

// errEnded says that a process ended while something was expected of it.
var errEnded = errors.New("the process has ended")

// alive returns what is known of the end of a process, nil while it runs.
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
	err := eventually(patience, func() error {
		over = p.alive()
		if over == nil {
			return condition()
		}
		return nil // there is nothing left to wait for
	})
	return errors.Join(err, over)
}

// ready waits until a file is there and returns what is in it.
func (p *process) ready(path string) (text []byte, err error) {
	err = p.await(func() error {
		text, err = os.ReadFile(path)
		return err
	})
	return text, err
}

// says waits until the process has printed what matches and returns the first group.
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

// stop tells the process to end and wants it to end well.
func (p *process) stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		return errors.Join(errors.New("it does not end"), p.kill())
	}
	return errors.Join(p.err, p.sound())
}

// kill ends the process with SIGKILL: it gets no chance to put anything in order.
func (p *process) kill() error {
	if err := p.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.ended
	return p.sound()
}

// killed tells whether the process has ended by SIGKILL.
func (p *process) killed() bool {
	select {
	case <-p.ended:
		return bySIGKILL(p.err)
	default:
		return false
	}
}

// bySIGKILL tells whether a program that ended with err was killed.
func bySIGKILL(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// sound wants a log without the traces of a bug that a test would not see otherwise.
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
			return fmt.Errorf("the log speaks of a bug: %s", text[at:min(len(text), at+4000)])
		}
	}
	return nil
}
