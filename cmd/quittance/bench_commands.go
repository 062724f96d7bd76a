package main

import (
	"errors"
	"fmt"
	"time"

	"quittance/internal/bench"
)

type benchDraftsCmd struct {
	benchAny
	Clients  int           `default:"64" help:"Clients that create drafts, each one at a time."`
	Rate     float64       `default:"0" help:"Drafts a second that are due, whatever the server does (open loop); 0 for as many as the clients manage (closed loop)."`
	Count    int           `default:"0" help:"How many drafts to create at most; 0 for no bound."`
	Duration time.Duration `default:"10s" help:"How long to create drafts."`
	Items    int           `default:"10" help:"Items of each draft."`
}

// Help is shown by --help.
func (benchDraftsCmd) Help() string {
	return `Example:
  quittance bench drafts
  quittance bench drafts --rate 500 --duration 30s
  quittance bench drafts --base-url https://quittance.example.com --email owner@palm.example --password-file password.txt`
}

// Run creates drafts.
func (c benchDraftsCmd) Run(env environment) error {
	if err := positive(size{"--clients", c.Clients}, size{"--items", c.Items}); err != nil {
		return err
	}
	if err := checkLoad(c.Rate, c.Duration, c.Count > 0); err != nil {
		return err
	}
	config, err := c.config(env, "drafts")
	if err != nil {
		return err
	}
	report, err := bench.Drafts(env.ctx, config, bench.DraftsOptions{Clients: c.Clients, Rate: c.Rate, Count: c.Count, Duration: c.Duration, Items: c.Items})
	return c.print(env, report, err)
}

type benchDeliveriesCmd struct {
	benchOwn
	Count int           `default:"20000" help:"Events that are due when the server starts."`
	Idle  time.Duration `default:"3s" help:"How long a server without work runs before its memory is read; 0 leaves that out."`
}

// Help is shown by --help.
func (benchDeliveriesCmd) Help() string {
	return `Example:
  quittance bench deliveries
  quittance bench deliveries --count 100000 --database postgres://bench@/bench`
}

// Run delivers a burst.
func (c benchDeliveriesCmd) Run(env environment) error {
	if err := positive(size{"--count", c.Count}); err != nil {
		return err
	}
	config, err := c.config(env, "deliveries")
	if err != nil {
		return err
	}
	report, err := bench.Deliveries(env.ctx, config, bench.DeliveriesOptions{Count: c.Count, Idle: c.Idle})
	return c.print(env, report, err)
}

type benchSubmissionsCmd struct {
	benchAny
	Clients         int           `default:"128" help:"Clients that submit, each one invoice at a time."`
	Companies       int           `default:"4" help:"Companies that share the clients: what one company may have under way at its provider is bounded. One at a given deployment."`
	Rate            float64       `default:"0" help:"Submissions a second that are due, whatever the server does (open loop); 0 for as many as the clients manage (closed loop)."`
	Count           int           `default:"10000" help:"Invoices to submit."`
	ProviderLatency time.Duration `default:"50ms" help:"How long the provider of the run's own deployment takes for each call."`
}

// Help is shown by --help.
func (benchSubmissionsCmd) Help() string {
	return `Example:
  quittance bench submissions
  quittance bench submissions --rate 200 --count 4000 --provider-latency 300ms`
}

// Run submits.
func (c benchSubmissionsCmd) Run(env environment) error {
	if err := positive(size{"--clients", c.Clients}, size{"--companies", c.Companies}, size{"--count", c.Count}); err != nil {
		return err
	}
	if err := checkLoad(c.Rate, 0, true); err != nil {
		return err
	}
	config, err := c.config(env, "submissions")
	if err != nil {
		return err
	}
	report, err := bench.Submissions(env.ctx, config, bench.SubmissionsOptions{Clients: c.Clients, Companies: c.Companies, Rate: c.Rate, Count: c.Count, ProviderLatency: c.ProviderLatency})
	return c.print(env, report, err)
}

type benchLatencyCmd struct {
	benchAny
	benchReceiver
	Rate     float64       `default:"60" help:"Submissions a second that are due, whatever the server does (open loop), each of which makes about five events; 0 for as many as the clients manage (closed loop)."`
	Clients  int           `default:"64" help:"Clients that submit, each one invoice at a time."`
	Warmup   time.Duration `default:"3s" help:"How long the load runs before anything counts."`
	Duration time.Duration `default:"30s" help:"How long the load counts."`
	Count    int           `default:"5000" help:"Invoices to submit at most in a closed loop."`
}

// Help is shown by --help.
func (benchLatencyCmd) Help() string {
	return `Example:
  quittance bench latency
  quittance bench latency --rate 0 --base-url http://127.0.0.1:8080 --email owner@palm.example --password-file password.txt --receiver-identity ./sandbox

At a sandbox: start it with --rate-limit 0 and --webhook-allow-cidr 127.0.0.0/8, and give its data directory as
--receiver-identity, because it trusts the certificate there.`
}

// Run measures from the commit to the receipt.
func (c benchLatencyCmd) Run(env environment) error {
	if err := positive(size{"--clients", c.Clients}, size{"--count", c.Count}); err != nil {
		return err
	}
	if err := checkLoad(c.Rate, c.Duration, c.Rate == 0); err != nil {
		return err
	}
	config, err := c.config(env, "latency")
	if err != nil {
		return err
	}
	if config.Receiver, err = c.receiver(); err != nil {
		return err
	}
	report, err := bench.EventLatency(env.ctx, config, bench.LatencyOptions{Rate: c.Rate, Clients: c.Clients, Warmup: c.Warmup, Duration: c.Duration, Count: c.Count})
	return c.print(env, report, err)
}

type benchFairnessCmd struct {
	benchOwn
	Due      int           `default:"10000" help:"Events of one company that are due at a destination that accepts and never answers."`
	Rate     float64       `default:"60" help:"Submissions a second of the other company that are due (open loop), each of which makes about five events."`
	Clients  int           `default:"64" help:"Clients that submit, each one invoice at a time."`
	Warmup   time.Duration `default:"3s" help:"How long the load runs before each measurement."`
	Duration time.Duration `default:"30s" help:"How long each of the two measurements takes."`
}

// Help is shown by --help.
func (benchFairnessCmd) Help() string {
	return `Example:
  quittance bench fairness
  quittance bench fairness --due 1000 --duration 10s`
}

// Run measures one company beside another.
func (c benchFairnessCmd) Run(env environment) error {
	if err := positive(size{"--due", c.Due}, size{"--clients", c.Clients}); err != nil {
		return err
	}
	if c.Rate <= 0 || c.Duration <= 0 {
		return errors.New("--rate and --duration must be above 0")
	}
	config, err := c.config(env, "fairness")
	if err != nil {
		return err
	}
	report, err := bench.Fairness(env.ctx, config, bench.FairnessOptions{Due: c.Due, Rate: c.Rate, Clients: c.Clients, Warmup: c.Warmup, Duration: c.Duration})
	return c.print(env, report, err)
}

type benchListsCmd struct {
	benchAny
	Drafts int `default:"1000000" help:"Drafts that the company of the run's own deployment has; ten million take a while and some gigabytes."`
	Count  int `default:"500" help:"How often each page is read."`
}

// Help is shown by --help.
func (benchListsCmd) Help() string {
	return `Example:
  quittance bench lists
  quittance bench lists --drafts 10000000`
}

// Run reads lists.
func (c benchListsCmd) Run(env environment) error {
	if err := positive(size{"--drafts", c.Drafts}, size{"--count", c.Count}); err != nil {
		return err
	}
	config, err := c.config(env, "lists")
	if err != nil {
		return err
	}
	report, err := bench.Lists(env.ctx, config, bench.ListsOptions{Drafts: c.Drafts, Count: c.Count})
	return c.print(env, report, err)
}

type benchStartCmd struct {
	benchOwn
	SizeMB int `name:"size-mb" default:"1000" help:"Least size of the database in megabytes (10⁶ bytes); one in --dir that has it is used as it is."`
	Count  int `default:"5" help:"How often the server is started."`
}

// Help is shown by --help.
func (benchStartCmd) Help() string {
	return `Example:
  quittance bench start
  quittance bench start --size-mb 5000 --dir ./large`
}

// Run starts servers.
func (c benchStartCmd) Run(env environment) error {
	if err := positive(size{"--size-mb", c.SizeMB}, size{"--count", c.Count}); err != nil {
		return err
	}
	config, err := c.config(env, "start")
	if err != nil {
		return err
	}
	report, err := bench.Start(env.ctx, config, bench.StartOptions{Size: int64(c.SizeMB) * 1_000_000, Count: c.Count})
	return c.print(env, report, err)
}

type benchSoakCmd struct {
	benchOwn
	Rate     float64       `default:"5" help:"Visits of each of the four companies that are due a second (open loop): each creates a draft, submits it, and reads it and the list of invoices."`
	Clients  int           `default:"16" help:"Visits of each company that can be under way at a time."`
	Duration time.Duration `default:"1h" help:"How long the load lasts."`
	Sample   time.Duration `default:"1m" help:"How often the server is looked at, which gives a line of progress."`
	Flap     time.Duration `default:"1m" help:"Period of the flapping receiver; during the first third of each it is broken."`
}

// Help is shown by --help.
func (benchSoakCmd) Help() string {
	return `Example:
  quittance bench soak --progress always
  quittance bench soak --duration 10m --sample 10s --database postgres://bench@/bench --json`
}

// Run lets companies with broken receivers be served beside a healthy one.
func (c benchSoakCmd) Run(env environment) error {
	if err := positive(size{"--clients", c.Clients}); err != nil {
		return err
	}
	if c.Rate <= 0 || c.Flap <= 0 || c.Sample <= 0 || c.Duration < c.Sample {
		return errors.New("--rate, --flap and --sample must be above 0, and --duration no shorter than --sample")
	}
	config, err := c.config(env, "soak")
	if err != nil {
		return err
	}
	report, err := bench.Soak(env.ctx, config, bench.SoakOptions{Rate: c.Rate, Clients: c.Clients, Duration: c.Duration, Sample: c.Sample, Flap: c.Flap})
	return c.print(env, report, err)
}

type benchLimitsCmd struct {
	benchCommon
	Clients int `default:"64" help:"Clients that call, each one at a time."`
}

// Help is shown by --help.
func (benchLimitsCmd) Help() string {
	return `Example:
  quittance bench limits --limit-duration 5s --dir ./data`
}

// Run measures the limits.
func (c benchLimitsCmd) Run(env environment) error {
	if err := positive(size{"--clients", c.Clients}); err != nil {
		return err
	}
	config, err := c.config(env, "limits")
	if err != nil {
		return err
	}
	report, err := bench.Limits(env.ctx, config, c.Clients)
	return c.print(env, report, err)
}

type benchAllCmd struct {
	benchOwn
	Quick bool `help:"Small sizes: whether it works, rather than how fast it is."`
}

// Help is shown by --help.
func (benchAllCmd) Help() string {
	return `Example:
  quittance bench all
  quittance bench all --quick --json

Each measurement has a deployment of its own, with the sizes that its own command has when nothing else is said; soak, which
takes an hour, is left out. With --json it prints a record a line.`
}

// measurements are the commands that benchAllCmd runs, with the flags that make each of them quick.
func measurements() [][]string {
	return [][]string{
		{"drafts", "--clients=4", "--count=60", "--duration=1m"},
		{"submissions", "--clients=4", "--companies=2", "--count=20", "--provider-latency=5ms"},
		{"deliveries", "--count=200", "--idle=10ms"},
		{"latency", "--clients=4", "--rate=10", "--warmup=100ms", "--duration=1s"},
		{"fairness", "--clients=4", "--due=40", "--rate=10", "--warmup=100ms", "--duration=1s"},
		{"lists", "--drafts=500", "--count=10"},
		{"start", "--size-mb=1", "--count=1"},
		{"limits", "--clients=4"},
	}
}

// Run runs every measurement as its own command line would, and goes on after one that failed.
func (c benchAllCmd) Run(env environment) error {
	var failed []error
	for _, measurement := range measurements() {
		if env.ctx.Err() != nil {
			return errors.Join(append(failed, env.ctx.Err())...)
		}
		var root cli
		parser, err := root.parser()
		if err != nil {
			return err
		}
		args := append([]string{"bench", measurement[0]}, c.flags(measurement[0])...)
		if c.Quick {
			args = append(args, measurement[1:]...)
		}
		command, err := parser.Parse(args)
		if err != nil {
			return fmt.Errorf("bench %s: %w", measurement[0], err)
		}
		if err := command.Run(env); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// flags are the shared flags for one of the measurements.
func (c benchAllCmd) flags(measurement string) []string {
	flags := []string{"--progress=" + c.Progress, "--limit-duration=" + c.LimitDuration.String()}
	if c.JSON {
		flags = append(flags, "--json")
	}
	if c.Dir != "" {
		flags = append(flags, "--dir="+c.Dir)
	}
	if measurement == "limits" {
		return flags
	}
	if c.Database != "" {
		flags = append(flags, "--database="+c.Database)
	}
	for _, flag := range c.ServeFlag {
		flags = append(flags, "--serve-flag="+flag)
	}
	return flags
}
