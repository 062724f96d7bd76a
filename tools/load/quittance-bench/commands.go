package main

import (
	"context"
	"errors"
	"time"

	"quittance/tools/load/bench"
)

type draftsCmd struct {
	anyFlags
	Clients  int           `default:"64" help:"Clients that create drafts, each one at a time."`
	Rate     float64       `default:"0" help:"Drafts per second, independent of the server's pace (open loop); 0 for as many as the clients manage (closed loop)."`
	Count    int           `default:"0" help:"How many drafts to create at most; 0 for no bound."`
	Duration time.Duration `default:"10s" help:"How long to create drafts."`
	Items    int           `default:"10" help:"Items of each draft."`
}

// Help is shown by --help.
func (draftsCmd) Help() string {
	return `Example:
  quittance-bench drafts
  quittance-bench drafts --rate 500 --duration 30s
  quittance-bench drafts --base-url https://quittance.example.com --email owner@palm.example --password-file password.txt`
}

// Run creates drafts.
func (c draftsCmd) Run(env environment) error {
	options := bench.DraftsOptions{Clients: c.Clients, Rate: c.Rate, Count: c.Count, Duration: c.Duration, Items: c.Items}
	return measure(env, c, "drafts", func(ctx context.Context, config bench.Config) (bench.Report, error) {
		return bench.Drafts(ctx, config, options)
	}, positive(count{"--clients", c.Clients}, count{"--items", c.Items}), checkLoad(c.Rate, c.Duration, c.Count > 0))
}

type deliveriesCmd struct {
	ownFlags
	Count int           `default:"20000" help:"Events that are due when the server starts."`
	Idle  time.Duration `default:"3s" help:"How long a server without work runs before its memory is read; 0 leaves that out."`
}

// Help is shown by --help.
func (deliveriesCmd) Help() string {
	return `Example:
  quittance-bench deliveries
  quittance-bench deliveries --count 50000 --json
  quittance-bench deliveries --count 100000 --database postgres://bench@/bench`
}

// Run delivers a burst.
func (c deliveriesCmd) Run(env environment) error {
	options := bench.DeliveriesOptions{Count: c.Count, Idle: c.Idle}
	return measure(env, c, "deliveries", func(ctx context.Context, config bench.Config) (bench.Report, error) {
		return bench.Deliveries(ctx, config, options)
	}, positive(count{"--count", c.Count}))
}

type submissionsCmd struct {
	anyFlags
	Clients         int           `default:"128" help:"Clients that submit, each one invoice at a time."`
	Companies       int           `default:"4" help:"Companies that share the clients; the calls that one company can have in progress at its provider are limited. Always one with --base-url."`
	Rate            float64       `default:"0" help:"Submissions per second, independent of the server's pace (open loop); 0 for as many as the clients manage (closed loop)."`
	Count           int           `default:"10000" help:"Invoices to submit."`
	ProviderLatency time.Duration `default:"50ms" help:"How long the provider of the run's own deployment takes for each call."`
}

// Help is shown by --help.
func (submissionsCmd) Help() string {
	return `Example:
  quittance-bench submissions
  quittance-bench submissions --rate 200 --count 4000 --provider-latency 300ms`
}

// Run submits.
func (c submissionsCmd) Run(env environment) error {
	options := bench.SubmissionsOptions{Clients: c.Clients, Companies: c.Companies, Rate: c.Rate, Count: c.Count,
		ProviderLatency: c.ProviderLatency}
	return measure(env, c, "submissions", func(ctx context.Context, config bench.Config) (bench.Report, error) {
		return bench.Submissions(ctx, config, options)
	}, positive(count{"--clients", c.Clients}, count{"--companies", c.Companies}, count{"--count", c.Count}),
		checkLoad(c.Rate, 0, true))
}

type latencyCmd struct {
	anyFlags
	receiverFlags
	Rate     float64       `default:"60" help:"Submissions per second, independent of the server's pace (open loop), each of which makes about five events; 0 for as many as the clients manage (closed loop)."`
	Clients  int           `default:"64" help:"Clients that submit, each one invoice at a time."`
	Warmup   time.Duration `default:"3s" help:"How long the load runs before it is measured."`
	Duration time.Duration `default:"30s" help:"How long the load is measured."`
	Count    int           `default:"5000" help:"Invoices to submit at most in a closed loop."`
}

// Help is shown by --help.
func (latencyCmd) Help() string {
	return `Example:
  quittance-bench latency
  quittance-bench latency --rate 0 --base-url http://127.0.0.1:8080 --email owner@palm.example --password-file password.txt --receiver-identity ./sandbox

With a sandbox: start it with --rate-limit 0 and --webhook-allow-cidr 127.0.0.0/8, and specify its data directory as
--receiver-identity, because the sandbox trusts the certificate in it.`
}

// Run measures the time from the commit of an event to its receipt.
func (c latencyCmd) Run(env environment) error {
	options := bench.LatencyOptions{Rate: c.Rate, Clients: c.Clients, Warmup: c.Warmup, Duration: c.Duration,
		Count: c.Count}
	return measure(env, c, "latency", func(ctx context.Context, config bench.Config) (bench.Report, error) {
		config.Receiver = c.receiver()
		return bench.EventLatency(ctx, config, options)
	}, positive(count{"--clients", c.Clients}, count{"--count", c.Count}), checkLoad(c.Rate, c.Duration, c.Rate == 0),
		c.check())
}

type fairnessCmd struct {
	ownFlags
	Due      int           `default:"10000" help:"Events of one company that are due at a destination that accepts connections and never answers."`
	Rate     float64       `default:"60" help:"Submissions per second of the other company (open loop), each of which makes about five events."`
	Clients  int           `default:"64" help:"Clients that submit, each one invoice at a time."`
	Warmup   time.Duration `default:"3s" help:"How long the load runs before each measurement."`
	Duration time.Duration `default:"30s" help:"How long each of the two measurements takes."`
}

// Help is shown by --help.
func (fairnessCmd) Help() string {
	return `Example:
  quittance-bench fairness
  quittance-bench fairness --due 1000 --duration 10s`
}

// Run measures one company with and without the trouble of another.
func (c fairnessCmd) Run(env environment) error {
	options := bench.FairnessOptions{Due: c.Due, Rate: c.Rate, Clients: c.Clients, Warmup: c.Warmup, Duration: c.Duration}
	var load error
	if c.Rate <= 0 || c.Duration <= 0 {
		load = errors.New("--rate and --duration must be above 0")
	}
	return measure(env, c, "fairness", func(ctx context.Context, config bench.Config) (bench.Report, error) {
		return bench.Fairness(ctx, config, options)
	}, positive(count{"--due", c.Due}, count{"--clients", c.Clients}), load)
}

type listsCmd struct {
	anyFlags
	Drafts int `default:"1000000" help:"Drafts of the company of the run's own deployment; ten million take some minutes and some gigabytes."`
	Count  int `default:"500" help:"How often each page is read."`
}

// Help is shown by --help.
func (listsCmd) Help() string {
	return `Example:
  quittance-bench lists
  quittance-bench lists --drafts 10000000`
}

// Run reads lists.
func (c listsCmd) Run(env environment) error {
	options := bench.ListsOptions{Drafts: c.Drafts, Count: c.Count}
	return measure(env, c, "lists", func(ctx context.Context, config bench.Config) (bench.Report, error) {
		return bench.Lists(ctx, config, options)
	}, positive(count{"--drafts", c.Drafts}, count{"--count", c.Count}))
}

// megabyte is the unit of --size-mb.
const megabyte = 1_000_000

type startCmd struct {
	ownFlags
	SizeMB int `name:"size-mb" default:"1000" help:"Minimum size of the database in megabytes (10⁶ bytes). A database in --dir that is large enough is used unchanged."`
	Count  int `default:"5" help:"How often the server is started."`
}

// Help is shown by --help.
func (startCmd) Help() string {
	return `Example:
  quittance-bench start
  quittance-bench start --size-mb 5000 --dir ./large`
}

// Run starts servers.
func (c startCmd) Run(env environment) error {
	options := bench.StartOptions{Size: int64(c.SizeMB) * megabyte, Count: c.Count}
	return measure(env, c, "start", func(ctx context.Context, config bench.Config) (bench.Report, error) {
		return bench.Start(ctx, config, options)
	}, positive(count{"--size-mb", c.SizeMB}, count{"--count", c.Count}))
}

type soakCmd struct {
	ownFlags
	Rate     float64       `default:"5" help:"Visits per second of each of the four companies (open loop). A visit creates a draft, submits it, and reads it and the list of invoices."`
	Clients  int           `default:"16" help:"Visits of each company that can be in progress at a time."`
	Duration time.Duration `default:"1h" help:"How long the load lasts."`
	Sample   time.Duration `default:"1m" help:"How often to take a sample of the server, which prints a line of progress."`
	Flap     time.Duration `default:"1m" help:"Period of the flapping receiver, which is broken during the first third of each period."`
}

// Help is shown by --help.
func (soakCmd) Help() string {
	return `Example:
  quittance-bench soak --progress always
  quittance-bench soak --duration 10m --sample 10s --database postgres://bench@/bench --json`
}

// Run serves companies with broken receivers and a healthy one at the same time.
func (c soakCmd) Run(env environment) error {
	options := bench.SoakOptions{Rate: c.Rate, Clients: c.Clients, Duration: c.Duration, Sample: c.Sample, Flap: c.Flap}
	var load error
	if c.Rate <= 0 || c.Flap <= 0 || c.Sample <= 0 || c.Duration < c.Sample {
		load = errors.New("--rate, --flap and --sample must be above 0, and --duration no shorter than --sample")
	}
	return measure(env, c, "soak", func(ctx context.Context, config bench.Config) (bench.Report, error) {
		return bench.Soak(ctx, config, options)
	}, positive(count{"--clients", c.Clients}), load)
}

type limitsCmd struct {
	commonFlags
	Clients int `default:"64" help:"Clients that call, each one at a time."`
}

// Help is shown by --help.
func (limitsCmd) Help() string {
	return `Example:
  quittance-bench limits --limit-duration 5s --dir ./data`
}

// Run measures the limits.
func (c limitsCmd) Run(env environment) error {
	return measure(env, c, "limits", func(ctx context.Context, config bench.Config) (bench.Report, error) {
		return bench.Limits(ctx, config, c.Clients)
	}, positive(count{"--clients", c.Clients}))
}
