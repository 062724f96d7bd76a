package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"quittance/tools/load/rig"
)

// Time-outs of a child process.
const (
	startTimeout = 2 * time.Minute
	stopTimeout  = time.Minute
	startPoll    = time.Millisecond
)

// serverName is the file name of the program to measure.
const serverName = "quittance"

// FindServer returns the path of the program to measure: path, or when that is "" the program quittance in the
// directory of this program, or else the one in PATH.
func FindServer(path string) (string, error) {
	if path != "" {
		return filepath.Abs(path)
	}
	if own, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(own), serverName)
		if found, err := os.Stat(beside); err == nil && found.Mode().IsRegular() {
			return beside, nil
		}
	}
	found, err := exec.LookPath(serverName)
	if err != nil {
		return "", fmt.Errorf("find the program to measure (name it with --binary): %w", err)
	}
	return filepath.Abs(found)
}

// versionOf returns the version of a program quittance.
func versionOf(ctx context.Context, executable string) (string, error) {
	command := exec.CommandContext(ctx, executable, "version", "--json")
	command.Env = environment("")
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", executable, err)
	}
	var record struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &record); err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", executable, err)
	}
	return record.Version, nil
}

// server is a process that runs serve.
type server struct {
	command *exec.Cmd
	log     string
	base    *url.URL
	metrics *url.URL // nil without --metrics-listen
	ended   chan struct{}
	err     error // of Wait; valid once ended is closed
	// ready is the time from the start of the process until /readyz answered 200.
	ready time.Duration
}

// startServer starts a server and waits until it is ready. It writes the log to a file, from which it reads the port.
func startServer(ctx context.Context, c Config, database, log string, flags ...string) (*server, error) {
	s := &server{log: log, ended: make(chan struct{})}
	output, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("log of the server: %w", err)
	}
	defer output.Close() //nolint:errcheck // the child has its own
	args := append([]string{c.Executable, "--log-format", "json", "serve", "--listen", "127.0.0.1:0"},
		append(flags, c.ServeFlags...)...)
	// Only stop ends the process: neither the end of ctx, which would kill it, nor an interrupt of the terminal, which
	// goes to the whole process group.
	s.command = &exec.Cmd{Path: c.Executable, Args: args, Env: environment(database), Stdout: output, Stderr: output,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	began := c.Now()
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	go func() {
		s.err = s.command.Wait()
		close(s.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.await(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.ready = c.Now().Sub(began)
	return s, nil
}

// environment returns the environment of a server, without variables that set its flags. The database's address may
// contain a password and therefore is not an argument.
func environment(database string) []string {
	env := []string{"QUITTANCE_DATABASE=" + database}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "QUITTANCE_") {
			env = append(env, entry)
		}
	}
	return env
}

// alive returns why the server has ended; nil while it runs.
func (s *server) alive() error {
	select {
	case <-s.ended:
		text, err := os.ReadFile(s.log)
		return errors.Join(fmt.Errorf("the server has ended: %w\n%s", s.err, text[max(0, len(text)-2000):]), err)
	default:
		return nil
	}
}

// await waits until the server is ready.
func (s *server) await(ctx context.Context) error {
	transport := &http.Transport{Proxy: nil, DisableKeepAlives: true}
	for {
		if err := s.alive(); err != nil {
			return err
		}
		if s.base == nil {
			var err error
			if s.base, err = s.listening(); err != nil {
				return err
			}
		}
		if s.base != nil {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base.String()+"/readyz", http.NoBody)
			if err != nil {
				return err
			}
			if response, err := transport.RoundTrip(request); err == nil {
				if err := response.Body.Close(); err != nil {
					return err
				}
				if response.StatusCode == http.StatusOK {
					return nil
				}
			}
		}
		if err := rig.Sleep(ctx, startPoll); err != nil {
			return fmt.Errorf("the server is not ready: %w", err)
		}
	}
}

// listening reads the server's address from the beginning of its log; it returns nil if the address is not there yet.
func (s *server) listening() (*url.URL, error) {
	file, err := os.Open(s.log)
	if err != nil {
		return nil, fmt.Errorf("log of the server: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	lines := bufio.NewScanner(io.LimitReader(file, 256<<10))
	for lines.Scan() {
		var said struct {
			Message string `json:"msg"`
			Listen  string `json:"listen"`
			Metrics string `json:"metrics"`
		}
		// A line that is incomplete or not JSON is skipped.
		if json.Unmarshal(lines.Bytes(), &said) == nil && said.Message == "serving" {
			if said.Metrics != "" {
				s.metrics = &url.URL{Scheme: "http", Host: said.Metrics}
			}
			return &url.URL{Scheme: "http", Host: said.Listen}, nil
		}
	}
	return nil, lines.Err()
}

// stop asks the server to end and waits until it has.
func (s *server) stop() error {
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the server: %w", err)
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
		if err := s.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill the server: %w", err)
		}
		<-s.ended
		return fmt.Errorf("the server did not end within %v and was killed", stopTimeout)
	}
	if s.err != nil {
		return fmt.Errorf("the server ended badly: %w", s.err)
	}
	return nil
}

// usage is what a process has used so far.
type usage struct {
	cpu       time.Duration
	rss, peak int64 // current and largest number of bytes of memory
}

// errNoProc reports that the system does not provide the usage of processes.
var errNoProc = errors.New("only Linux tells, in /proc")

// tick is the unit of CPU time in /proc, the same on every Linux.
const tick = 10 * time.Millisecond

// usageOf returns what a process has used.
func usageOf(pid int) (usage, error) {
	stat, err := statOf(pid)
	if err != nil {
		return usage{}, err
	}
	u := usage{cpu: stat.own}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return usage{}, errNoProc
	}
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		fields := bytes.Fields(value)
		if len(fields) != 2 {
			continue
		}
		kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
		if err != nil {
			continue // another kind of line
		}
		switch string(name) {
		case "VmRSS":
			u.rss = kib << 10
		case "VmHWM":
			u.peak = kib << 10
		}
	}
	return u, nil
}

// processStat is the content of /proc/PID/stat.
type processStat struct {
	name          string
	parent        int
	own, children time.Duration // CPU time of the process, and of its children that have ended
}

func statOf(pid int) (processStat, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return processStat{}, errNoProc
	}
	return parseStat(text)
}

func parseStat(text []byte) (processStat, error) {
	// The name is in parentheses and may hold any character, parentheses too.
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return processStat{}, errNoProc
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 15 {
		return processStat{}, errNoProc
	}
	var numbers [5]int64
	for n, at := range []int{1, 11, 12, 13, 14} { // ppid, utime, stime, cutime, cstime
		var err error
		if numbers[n], err = strconv.ParseInt(fields[at], 10, 64); err != nil {
			return processStat{}, errNoProc
		}
	}
	return processStat{name: string(text[open+1 : end]), parent: int(numbers[0]),
		own: time.Duration(numbers[1]+numbers[2]) * tick, children: time.Duration(numbers[3]+numbers[4]) * tick}, nil
}

// errRemoteServer reports that the processes of the database server are not visible.
var errRemoteServer = errors.New("the database server runs elsewhere")

// postmasterOf returns the first process of the PostgreSQL server of a backend, if it runs on this machine.
func postmasterOf(backend int) (pid int, err error) {
	found, err := statOf(backend)
	if err != nil || !strings.HasPrefix(found.name, "postgres") {
		return 0, errRemoteServer
	}
	return found.parent, nil
}

// maxTreeReads is how often the processes of a tree are read while their number falls.
const maxTreeReads = 100

// errChangingTree reports that children of a process ended each time they were read.
var errChangingTree = errors.New("the processes of the database server end too fast to be counted")

// processTreeCPU returns the CPU time of a process and its children, including those that have ended. A child that ends
// while the others are read would be counted twice, by itself and by its parent, or not at all; then all are read again.
func processTreeCPU(parent int) (time.Duration, error) {
	for range maxTreeReads {
		before, err := statOf(parent)
		if err != nil {
			return 0, err
		}
		living, err := childrenCPU(parent)
		if err != nil {
			return 0, err
		}
		after, err := statOf(parent)
		if err != nil {
			return 0, err
		}
		if before.children == after.children {
			return after.own + after.children + living, nil
		}
	}
	return 0, errChangingTree
}

// childrenCPU returns the CPU time of the living children of a process.
func childrenCPU(parent int) (cpu time.Duration, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, errNoProc
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // not a process
		}
		if found, err := statOf(pid); err == nil && found.parent == parent { // others have ended in the meantime
			cpu += found.own
		}
	}
	return cpu, nil
}
