package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"testing"
	"time"

	"quittance/test/kit"
)

// runner is a running program that makes the calls of the table with one SDK.
type runner struct {
	in    io.WriteCloser
	lines chan []byte // those of standard output; closed at its end
	log   *buffer
	ended chan struct{}
}

// answer is a line of a runner.
type answer struct {
	Case   string `json:"case"`
	Result any    `json:"result"`
	Error  any    `json:"error"`
}

// startRunner starts a runner, which ends with the test.
func startRunner(t *testing.T, args []string) *runner {
	t.Helper()
	command := exec.Command(args[0], args[1:]...)
	command.Dir = root
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, write := io.Pipe()
	command.Stdout = write
	r := &runner{in: in, lines: make(chan []byte)}
	r.ended, r.log = startProcess(t, command)
	go func() {
		defer close(r.lines)
		for reader := bufio.NewReader(out); ; {
			line, err := reader.ReadBytes('\n')
			if err != nil {
				return
			}
			r.lines <- line
		}
	}()
	t.Cleanup(func() { // before the signal of startProcess: a runner ends with its input
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		select {
		case <-r.ended:
		case <-time.After(kit.Patience()):
			t.Errorf("%v does not end with its input", args)
		}
		if err := write.Close(); err != nil {
			t.Error(err)
		}
		for line := range r.lines {
			t.Errorf("a line too many: %s", line)
		}
	})
	return r
}

// ask writes a line and returns the answer.
func (r *runner) ask(ctx context.Context, line map[string]any) (answer, error) {
	text, err := json.Marshal(line)
	if err != nil {
		return answer{}, err
	}
	if _, err := r.in.Write(append(text, '\n')); err != nil {
		return answer{}, fmt.Errorf("write to the runner: %w", err)
	}
	select {
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-r.ended:
		return answer{}, errors.New("the runner has ended")
	case <-time.After(kit.Patience()):
		return answer{}, errors.New("the runner does not answer")
	case line := <-r.lines:
		var a answer
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		if err := decoder.Decode(&a); err != nil {
			return answer{}, fmt.Errorf("the runner answers %q: %w", line, err)
		}
		return a, nil
	}
}

// decode decodes JSON whose numbers keep their text.
func decode(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}
