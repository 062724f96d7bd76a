package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"quittance/internal/bench"
)

type benchCmd struct {
	Drafts      benchDraftsCmd      `cmd:"" help:"Create drafts over HTTP."`
	Submissions benchSubmissionsCmd `cmd:"" help:"Submit invoices to a provider that takes its time."`
	Deliveries  benchDeliveriesCmd  `cmd:"" help:"Deliver a burst of events to one destination over HTTPS."`
	Latency     benchLatencyCmd     `cmd:"" help:"Measure from the commit of an event to its receipt, under a steady load."`
	Fairness    benchFairnessCmd    `cmd:"" help:"Measure what a company notices of another one's hanging destination."`
	Lists       benchListsCmd       `cmd:"" help:"Read the first and the last page of a long list."`
	Start       benchStartCmd       `cmd:"" help:"Start the server on a large database."`
	Soak        benchSoakCmd        `cmd:"" help:"Mixed load beside a hanging, a redirecting and a flapping receiver: leaks, lost events, starved companies."`
	All         benchAllCmd         `cmd:"" help:"Make every measurement, one after another."`
	Limits      benchLimitsCmd      `cmd:"" help:"Measure what this machine can do at all: disk, HTTP, signed callbacks."`
}

// Help is shown by --help.
func (benchCmd) Help() string {
	return `Example:
  quittance bench drafts
  quittance bench deliveries --count 50000 --json

Without --base-url a measurement makes a deployment of its own and removes it at the end: a database, a server in a child
process, a provider sandbox and a receiver. Its load is synthetic. What this machine can do at all is measured in the same
run and stands beside the figures.`
}

// benchCommon are the flags of every measurement.
type benchCommon struct {
	JSON          bool          `help:"Print the record as JSON."`
	Progress      string        `enum:"auto,always,never" default:"auto" help:"Whether a line each second tells how far it is, on standard error: ${enum}. auto is when that is a terminal."`
	Dir           string        `placeholder:"DIR" help:"Directory of the database, on the disk that is to be measured, which may be used again; a temporary one, removed at the end, when absent."`
	LimitDuration time.Duration `default:"2s" help:"How long each bare limit of this machine is measured; 0 leaves them out."`
}

// benchOwn are the flags of measurements that make a deployment of their own.
type benchOwn struct {
	benchCommon
	Database  string   `env:"QUITTANCE_BENCH_DATABASE" placeholder:"URL" help:"postgres://… of an empty database made for the run, which keeps what the run leaves; a SQLite file in the directory when absent."`
	ServeFlag []string `sep:"none" placeholder:"FLAG" help:"One more flag of the server, such as --serve-flag=--retain-attempts=1h. Repeatable."`
}

// benchAny are the flags of measurements that also take a deployment that runs already.
type benchAny struct {
	benchOwn
	BaseURL      string `name:"base-url" placeholder:"URL" help:"A deployment that runs already, without /api; what is made there stays there."`
	Email        string `help:"E-mail address of its user."`
	PasswordFile string `placeholder:"FILE" help:"File with the user's password; - is standard input."`
	CA           string `name:"ca" type:"existingfile" placeholder:"FILE" help:"Certificate authorities (PEM) of the deployment; the system's when absent."`
}

// benchReceiver are the flags of measurements that receive webhooks of a deployment that runs already.
type benchReceiver struct {
	ReceiverListen   string `placeholder:"ADDR" help:"Address that the receiver of webhooks listens on; 127.0.0.1 and a free port when absent."`
	ReceiverURL      string `name:"receiver-url" placeholder:"URL" help:"Where the deployment reaches the receiver, https without a final slash; its own address when absent."`
	ReceiverIdentity string `placeholder:"DIR" help:"Directory with a certificate for loopback addresses and its authority, made when there is none; the data directory of a sandbox has one that the sandbox trusts."`
	ReceiverCert     string `type:"existingfile" placeholder:"FILE" help:"Certificate chain of the receiver (PEM), when it has one of its own."`
	ReceiverKey      string `type:"existingfile" placeholder:"FILE" help:"Key of that certificate (PEM)."`
}

func (c benchReceiver) receiver() (bench.ReceiverConfig, error) {
	if (c.ReceiverCert == "") != (c.ReceiverKey == "") {
		return bench.ReceiverConfig{}, errors.New("--receiver-cert and --receiver-key go together")
	}
	return bench.ReceiverConfig{Listen: c.ReceiverListen, URL: strings.TrimRight(c.ReceiverURL, "/"), Identity: c.ReceiverIdentity,
		Certificate: c.ReceiverCert, Key: c.ReceiverKey}, nil
}

// config is what the shared flags say.
func (c benchCommon) config(env environment, command string) (bench.Config, error) {
	if c.LimitDuration < 0 {
		return bench.Config{}, errors.New("--limit-duration must not be negative")
	}
	executable, err := os.Executable()
	if err != nil {
		return bench.Config{}, fmt.Errorf("find the program itself: %w", err)
	}
	config := bench.Config{Command: command, Version: version(), Executable: executable, Argument: os.Args[0], Dir: c.Dir, LimitDuration: c.LimitDuration, Now: time.Now, Log: env.log}
	if c.Progress == "always" || c.Progress == "auto" && isTerminal(os.Stderr) {
		config.Progress = os.Stderr
	}
	return config, nil
}

func (c benchOwn) config(env environment, command string) (bench.Config, error) {
	config, err := c.benchCommon.config(env, command)
	config.Database, config.ServeFlags = c.Database, c.ServeFlag
	return config, err
}

func (c benchAny) config(env environment, command string) (bench.Config, error) {
	config, err := c.benchOwn.config(env, command)
	if err != nil || c.BaseURL == "" {
		return config, err
	}
	if c.Email == "" || c.PasswordFile == "" {
		return config, errors.New("--base-url needs --email and --password-file")
	}
	if c.Database != "" || len(c.ServeFlag) > 0 {
		return config, errors.New("--database and --serve-flag are for a deployment of the run's own: not with --base-url")
	}
	config.Given = &bench.Given{BaseURL: c.BaseURL, Email: c.Email}
	if config.Given.Password, err = readSecret(env, c.PasswordFile); err != nil {
		return config, err
	}
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return config, fmt.Errorf("--ca: %w", err)
		}
		config.Given.Roots = x509.NewCertPool()
		if !config.Given.Roots.AppendCertsFromPEM(text) {
			return config, fmt.Errorf("--ca: %s holds no PEM certificate", c.CA)
		}
	}
	return config, nil
}

// isTerminal tells whether a file is a terminal.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// print prints a report and returns what failed under the load.
func (c benchCommon) print(env environment, report bench.Report, err error) error {
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSON(env, report)
	} else {
		err = report.Print(env.stdout)
	}
	return errors.Join(err, report.Err())
}

// checkLoad refuses a rate and a duration that are no load. bounded says that something else bounds it.
func checkLoad(rate float64, duration time.Duration, bounded bool) error {
	switch {
	case rate < 0 || duration < 0:
		return errors.New("--rate and --duration must not be negative")
	case duration == 0 && !bounded:
		return errors.New("--duration must be above 0, or --count bound the load")
	}
	return nil
}

// size is a flag that counts something.
type size struct {
	flag  string
	value int
}

// positive wants sizes of 1 or more.
func positive(sizes ...size) error {
	for _, s := range sizes {
		if s.value < 1 {
			return fmt.Errorf("%s must be at least 1", s.flag)
		}
	}
	return nil
}
