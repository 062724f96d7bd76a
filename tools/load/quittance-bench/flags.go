package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"quittance/internal/platform/secret"
	"quittance/tools/load/bench"
	"quittance/tools/load/rig"
)

// flags are the flags of a measurement that every kind of measurement has in common with others.
type flags interface {
	// config returns the configuration of the measurement that a subcommand names.
	config(env environment, command string) (bench.Config, error)
	// print prints a report and returns the failures that it counts.
	print(env environment, report bench.Report) error
}

// measure makes a measurement and prints its report. invalid are the results of checking its flags.
func measure(env environment, f flags, command string, do func(context.Context, bench.Config) (bench.Report, error),
	invalid ...error) error {
	if err := cmp.Or(invalid...); err != nil {
		return err
	}
	config, err := f.config(env, command)
	if err != nil {
		return err
	}
	report, err := do(env.ctx, config)
	if err != nil {
		return err
	}
	return f.print(env, report)
}

// commonFlags are the flags of every measurement.
type commonFlags struct {
	JSON          bool          `help:"Print the record as JSON."`
	Progress      string        `enum:"auto,always,never" default:"auto" help:"Whether to print a line of progress each second, on standard error: ${enum}. auto prints it when standard error is a terminal."`
	Dir           string        `placeholder:"DIR" help:"Directory of the database, on the disk to measure; it can be used again. Without it, a temporary directory that is removed at the end."`
	LimitDuration time.Duration `default:"2s" help:"How long to measure each limit of this machine; 0 leaves the limits out."`
}

func (c commonFlags) config(env environment, command string) (bench.Config, error) {
	if c.LimitDuration < 0 {
		return bench.Config{}, errors.New("--limit-duration must not be negative")
	}
	config := bench.Config{Command: command, Version: thisBuild().Version, Dir: c.Dir, LimitDuration: c.LimitDuration,
		Now: time.Now, Log: env.log}
	if c.Progress == "always" || c.Progress == "auto" && isTerminal(os.Stderr) {
		config.Progress = os.Stderr
	}
	return config, nil
}

func (c commonFlags) print(env environment, report bench.Report) error {
	err := report.Print
	if c.JSON {
		err = func(io.Writer) error { return printJSON(env, report) }
	}
	return errors.Join(err(env.stdout), report.Err())
}

// ownFlags are the flags of measurements that make their own deployment.
type ownFlags struct {
	commonFlags
	Binary    string   `type:"existingfile" placeholder:"FILE" help:"The program quittance to measure. Without it, the one in the directory of this program, or else the one in PATH."`
	Database  string   `env:"QUITTANCE_BENCH_DATABASE" placeholder:"URL" help:"postgres://… of an empty database made for the run, which keeps the data of the run. Without it, a SQLite file in the directory."`
	ServeFlag []string `sep:"none" placeholder:"FLAG" help:"An additional flag of the server, such as --serve-flag=--retain-attempts=1h. Repeatable."`
}

func (c ownFlags) config(env environment, command string) (bench.Config, error) {
	config, err := c.commonFlags.config(env, command)
	if err != nil {
		return config, err
	}
	config.Database, config.ServeFlags = c.Database, c.ServeFlag
	config.Executable, err = bench.FindServer(c.Binary)
	return config, err
}

// anyFlags are the flags of measurements that can also use a running deployment.
type anyFlags struct {
	ownFlags
	BaseURL      string `name:"base-url" placeholder:"URL" help:"A running deployment, without /api. The data created there stays there."`
	Email        string `help:"E-mail address of its user."`
	PasswordFile string `placeholder:"FILE" help:"File with the user's password; - is standard input."`
	CA           string `name:"ca" type:"existingfile" placeholder:"FILE" help:"Certificate authorities (PEM) of the deployment; the system's when absent."`
}

func (c anyFlags) config(env environment, command string) (config bench.Config, err error) {
	if c.BaseURL == "" {
		return c.ownFlags.config(env, command)
	}
	if c.Email == "" || c.PasswordFile == "" {
		return config, errors.New("--base-url needs --email and --password-file")
	}
	if c.Database != "" || len(c.ServeFlag) > 0 || c.Binary != "" {
		return config,
			errors.New("--database, --serve-flag and --binary are for a deployment of the run's own: not with --base-url")
	}
	if config, err = c.commonFlags.config(env, command); err != nil {
		return config, err
	}
	config.Given = &bench.Given{BaseURL: c.BaseURL, Email: c.Email}
	if config.Given.Password, err = readPassword(env, c.PasswordFile); err != nil {
		return config, err
	}
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return config, fmt.Errorf("--ca: %w", err)
		}
		config.Given.Roots = x509.NewCertPool()
		if !config.Given.Roots.AppendCertsFromPEM(text) {
			return config, fmt.Errorf("--ca: %s contains no PEM certificate", c.CA)
		}
	}
	return config, nil
}

// receiverFlags are the flags of measurements that receive webhooks of a running deployment.
type receiverFlags struct {
	ReceiverListen   string `placeholder:"ADDR" help:"Address on which the receiver of webhooks listens; 127.0.0.1 and a free port when absent."`
	ReceiverURL      string `name:"receiver-url" placeholder:"URL" help:"URL under which the deployment reaches the receiver, https without a trailing slash; its own address when absent."`
	ReceiverIdentity string `placeholder:"DIR" help:"Directory with a certificate for loopback addresses and its authority, created when missing. The data directory of a sandbox has one that the sandbox trusts."`
	ReceiverCert     string `type:"existingfile" placeholder:"FILE" help:"Certificate chain (PEM) of the receiver, if it has its own."`
	ReceiverKey      string `type:"existingfile" placeholder:"FILE" help:"Key of that certificate (PEM)."`
}

func (c receiverFlags) receiver() rig.ReceiverConfig {
	return rig.ReceiverConfig{Listen: c.ReceiverListen, URL: strings.TrimRight(c.ReceiverURL, "/"),
		Identity: c.ReceiverIdentity, Certificate: c.ReceiverCert, Key: c.ReceiverKey}
}

// check returns an error when only one of a certificate and its key is given.
func (c receiverFlags) check() error {
	if (c.ReceiverCert == "") != (c.ReceiverKey == "") {
		return errors.New("--receiver-cert and --receiver-key go together")
	}
	return nil
}

// maxPassword is the most bytes that are read as a password.
const maxPassword = 1 << 20

// readPassword reads a password from a file, or from standard input for "-". White space around it is not part of it.
func readPassword(env environment, path string) (secret.Text, error) {
	input, source := env.stdin, "standard input"
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return secret.Text{}, err
		}
		defer file.Close() //nolint:errcheck // it is only read
		input, source = file, path
	}
	text, err := io.ReadAll(io.LimitReader(input, maxPassword))
	if err != nil {
		return secret.Text{}, fmt.Errorf("read the password: %w", err)
	}
	trimmed := strings.TrimSpace(string(text))
	if trimmed == "" {
		return secret.Text{}, fmt.Errorf("%s contains no password", source)
	}
	return secret.New(trimmed), nil
}

// isTerminal reports whether a file is a terminal.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// checkLoad returns an error for a rate and a duration that make no load. bounded tells whether something else ends the
// load.
func checkLoad(rate float64, duration time.Duration, bounded bool) error {
	switch {
	case rate < 0 || duration < 0:
		return errors.New("--rate and --duration must not be negative")
	case duration == 0 && !bounded:
		return errors.New("--duration must be above 0, unless --count bounds the load")
	}
	return nil
}

// count is the value of a flag that counts something.
type count struct {
	flag  string
	value int
}

// positive returns an error for the first count below 1.
func positive(counts ...count) error {
	for _, c := range counts {
		if c.value < 1 {
			return fmt.Errorf("%s must be at least 1", c.flag)
		}
	}
	return nil
}
