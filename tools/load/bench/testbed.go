package bench

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"quittance/test/benchdb"
)

// testbed is what a measurement uses: an own deployment or a given one.
type testbed struct {
	config Config
	own    *deployment // nil for a given deployment
	report *Report
}

// prepare makes an own deployment with a number of companies, unless a deployment is given.
func prepare(ctx context.Context, c Config, r *Report, companies int, latency time.Duration) (*testbed, error) {
	p := &testbed{config: c, report: r}
	if c.Given != nil {
		return p, nil
	}
	var err error
	if r.Version, err = versionOf(ctx, c.Executable); err != nil {
		return nil, err
	}
	own, err := deploy(ctx, c, companies, latency)
	if err != nil {
		return nil, err
	}
	p.own, r.Engine = own, own.engine
	if !own.durable {
		r.note(
			"The settings of the database server leave commits in memory (fsync or synchronous_commit is off): its figures are not those of a durable database.")
	}
	return p, nil
}

// serve starts the own server, or logs in at the given one.
func (p *testbed) serve(ctx context.Context) (*target, error) {
	if p.own == nil {
		return p.config.Given.reach(ctx, p.config)
	}
	return p.own.serve(ctx)
}

// stop stops the own server.
func (p *testbed) stop() error {
	if p.own == nil {
		return nil
	}
	return p.own.stop()
}

func (p *testbed) close() error {
	if p.own == nil {
		return nil
	}
	return p.own.close()
}

// limitDisk measures the disk of the own database.
func (p *testbed) limitDisk(ctx context.Context, r *Report) error {
	if p.own == nil {
		return nil
	}
	return r.limitDisk(ctx, p.config, p.own.dir)
}

// errGiven is the reason why nothing is known about a server.
var errGiven = errors.New("the deployment is not the run's own")

// meter is what an own server and its database had used at a point in time.
type meter struct {
	testbed  *testbed
	server   usage
	load     usage // of this process: the load, the receiver and the provider
	database time.Duration
	log      int64 // bytes of write-ahead log; 0 for SQLite
	err      error // why it is unknown
}

// meter reads what the running server has used so far.
func (p *testbed) meter(ctx context.Context) meter {
	if p.own == nil {
		return meter{testbed: p, err: errGiven}
	}
	server, err := usageOf(p.own.server.command.Process.Pid)
	if err != nil {
		return meter{testbed: p, err: err}
	}
	m := p.unstarted(ctx)
	m.server = server
	return m
}

// unstarted returns the meter of an own deployment whose server does not run yet.
func (p *testbed) unstarted(ctx context.Context) meter {
	m := meter{testbed: p}
	if m.database, m.err = p.own.databaseCPU(); m.err == nil {
		m.load, m.err = usageOf(os.Getpid())
	}
	if m.err == nil {
		m.err = p.own.withData(func(data *benchdb.DB) (err error) {
			m.log, err = data.WrittenLog(ctx)
			return err
		})
	}
	return m
}

// report adds what the server and its database have used since, for a number of operations.
func (m meter) report(ctx context.Context, r *Report, what string, done int64) {
	now := m.testbed.meter(ctx)
	name := "cpu_per_1000_" + what + "_seconds"
	if failed := cmp.Or(m.err, now.err); failed != nil || done == 0 {
		why := "nothing was done"
		if failed != nil {
			why = failed.Error()
		}
		r.unknown(name, why)
		r.unknown("memory_peak_bytes", why)
		return
	}
	per := func(cpu time.Duration) float64 { return cpu.Seconds() * 1000 / float64(done) }
	server, database := now.server.cpu-m.server.cpu, now.database-m.database
	r.set(name, per(server+database))
	if m.testbed.own.postmaster != 0 {
		r.set("of_it_database_seconds", per(database))
	}
	if now.log > 0 {
		r.set("wal_bytes_per_1000_"+what, float64(now.log-m.log)*1000/float64(done))
	}
	r.set("beside_it_load_receiver_provider_seconds", per(now.load.cpu-m.load.cpu))
	r.set("memory_peak_bytes", float64(now.server.peak))
}
