// Command quittance-bench measures a deployment of Quittance under load: the server that users run, started by this
// program or elsewhere.
//
// Every measurement is a subcommand: a struct whose fields are its flags and whose Run method calls package bench.
// Start reading at cli, then in commands.go.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/buildinfo"
)

// name is what this program is called: in its usage, in its errors and in the audit log.
const name = "quittance-bench"

// release is set by the linker (-X) for a release, and empty otherwise.
var release string //nolint:gochecknoglobals // only the linker can set it

// thisBuild describes this binary.
func thisBuild() buildinfo.Info {
	return buildinfo.Current(release)
}

// cli is the command line.
type cli struct {
	LogLevel  string `enum:"debug,info,warn,error" default:"info" help:"Lowest level to log, on standard error: ${enum}."`
	LogFormat string `enum:"text,json" default:"text" help:"Log format: ${enum}."`

	Drafts      draftsCmd      `cmd:"" help:"Create drafts over HTTP."`
	Submissions submissionsCmd `cmd:"" help:"Submit invoices to a slow provider."`
	Deliveries  deliveriesCmd  `cmd:"" help:"Deliver a burst of events to one destination over HTTPS."`
	Latency     latencyCmd     `cmd:"" help:"Measure the time from the commit of an event to its receipt, under a steady load."`
	Fairness    fairnessCmd    `cmd:"" help:"Measure how the hanging destination of one company affects another company."`
	Lists       listsCmd       `cmd:"" help:"Read the first and the last page of a long list."`
	Start       startCmd       `cmd:"" help:"Start the server on a large database."`
	Soak        soakCmd        `cmd:"" help:"Run a mixed load next to a hanging, a redirecting and a flapping receiver, and look for leaks, lost events and starved companies."`
	All         allCmd         `cmd:"" help:"Make every measurement, one after another."`
	Limits      limitsCmd      `cmd:"" help:"Measure the limits of this machine: disk, HTTP, signed callbacks."`

	ShowVersion kong.VersionFlag `name:"version" env:"-" help:"Print the version."`
}

// environment holds what every command uses: its context, its streams and its logger.
type environment struct {
	ctx    context.Context //nolint:containedctx // one process, one command
	stdin  io.Reader
	stdout io.Writer
	log    *slog.Logger
}

func main() { os.Exit(run()) }

// run executes the command named by the arguments and returns the exit status: 0 for success, 1 for a failure, 2 for a
// usage error.
func run() int {
	var root cli
	parser, err := root.parser()
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		return 1
	}
	command, err := parser.Parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	actor := base.Actor{Kind: base.ActorAdministrator, Name: name, Means: base.MeansCommandLine}
	env := environment{ctx: base.WithActor(ctx, actor), stdin: os.Stdin, stdout: os.Stdout, log: root.logger(os.Stderr)}
	if err := command.Run(env); err != nil {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return 0 // interrupted before the work began
		}
		fmt.Fprintln(os.Stderr, name+":", err)
		return 1
	}
	return 0
}

// parser returns a parser that reads command lines into c.
func (c *cli) parser() (*kong.Kong, error) {
	return kong.New(c, kong.Name(name), kong.Description(`Measures a deployment of Quittance under load.

Without --base-url a measurement makes its own deployment and removes it at the end: a database, a server in a child process,
a provider sandbox and a receiver. The load is synthetic. The limits of the machine are measured in the same run and reported
next to the results.`),
		kong.DefaultEnvars("QUITTANCE"), kong.Vars{"version": thisBuild().Line(name)},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
}

func (c *cli) logger(to io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(strings.ToUpper(c.LogLevel))); err != nil {
		level = slog.LevelInfo // the flag's enum permits no other text
	}
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}

// printJSON prints a value as one line of JSON.
func printJSON(env environment, value any) error {
	encoder := json.NewEncoder(env.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
