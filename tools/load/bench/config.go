package bench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"time"

	"quittance/internal/platform/secret"
	"quittance/tools/load/rig"
)

// Config is the configuration of a measurement.
type Config struct {
	// Command is the subcommand, for the report.
	Command string
	// Version is that of the measuring program. The report of an own deployment has the version of Executable instead.
	Version string
	// Executable is the program quittance whose server is measured; see [FindServer]. A given deployment needs none.
	Executable string
	// Dir holds the database, the keys and the log of an own deployment; "" makes a temporary directory that is removed
	// at the end.
	Dir string
	// Database is the address of an own deployment's database, which is empty or comes from an earlier run; "" is a
	// SQLite file in Dir.
	Database string
	// ServeFlags are additional flags of serve.
	ServeFlags []string
	// Given is a running deployment to measure; nil makes an own one.
	Given *Given
	// Receiver configures the receiver of webhooks.
	Receiver rig.ReceiverConfig
	// LimitDuration is how long each limit of the machine is measured; 0 leaves the limits out.
	LimitDuration time.Duration
	// Progress gets a line each second, unless it is nil.
	Progress io.Writer
	// Now is the clock.
	Now func() time.Time
	Log *slog.Logger
}

// Given is a deployment that somebody else runs, and a user of it. The data created there stays there.
type Given struct {
	// BaseURL is its address, without /api.
	BaseURL string
	// Email and Password log in.
	Email    string
	Password secret.Text
	// Roots are the authorities that sign its certificate; nil for the system's.
	Roots *x509.CertPool
}

// secure returns the TLS configuration for a given deployment.
func (g *Given) secure() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: g.Roots, NextProtos: []string{"http/1.1"}}
}

// report returns a report without results.
func (c Config) report() Report {
	r := Report{Command: "quittance-bench " + c.Command, Version: c.Version, At: c.Now().UTC().Truncate(time.Second),
		Deployment: "own", Machine: Machine{OS: runtime.GOOS, Architecture: runtime.GOARCH, Cores: runtime.GOMAXPROCS(0)},
		Settings: Figures{}, Figures: Figures{}, Latencies: Latencies{}, Limits: Figures{}, NotMeasured: map[string]string{},
		Failed: map[string]int64{}, Notes: []string{}}
	if c.Given != nil {
		r.Deployment = "given"
	}
	return r
}

// progress writes a line each second until the returned function is called. done returns the number that has been
// reached.
func (c Config) progress(ctx context.Context, what string, done func() int64) (stop func()) {
	if c.Progress == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		began, last := c.Now(), done()
		for rig.Sleep(ctx, time.Second) == nil {
			now := done()
			fmt.Fprintf(c.Progress, "%s: %s %3.0f s  %d  (+%d)\n", c.Command, what, c.Now().Sub(began).Seconds(), now, now-last)
			last = now
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
