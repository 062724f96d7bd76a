// Package cli is the command line of the program quittance: the service, its administration commands, and a sandbox.
//
// Every command is a struct whose fields are its flags and whose Run method does the work; start reading at cli. A
// command reads only its flags, which environment variables can set, its files and its standard input, and says by its
// exit status whether it has done its work. Package [quittance/test/integration] tests the commands as processes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"quittance/internal/cli/remote"
	"quittance/internal/exchange/webhook"
	"quittance/internal/ledger/base"
	"quittance/internal/ops/service"
	"quittance/internal/platform/buildinfo"
	"quittance/internal/platform/problem"
)

// cli is the command line.
type cli struct {
	LogLevel  string `enum:"debug,info,warn,error" default:"info" help:"Lowest level to log, on standard error: ${enum}."`
	LogFormat string `enum:"text,json" default:"text" help:"Log format: ${enum}."`
	EnvFile   string `placeholder:"FILE" help:"File of variables (NAME=VALUE, as in an EnvironmentFile of systemd) that set flags; the environment and flags have precedence."`
	Actor     string `placeholder:"NAME" help:"Name to record in the audit log; defaults to user@host of the operating system."`

	Sandbox         sandboxCmd         `cmd:"" help:"Run everything on this machine: the service, a provider sandbox, a webhook receiver, and an account for the run."`
	Serve           serveCmd           `cmd:"" help:"Run the server."`
	Healthcheck     healthcheckCmd     `cmd:"" help:"Ask a server on this machine whether it is ready."`
	ProviderSandbox providerSandboxCmd `cmd:"" help:"Run only the provider sandbox."`
	Account         accountCmd         `cmd:"" help:"Create, show, suspend and reactivate accounts and their users."`
	Connection      connectionCmd      `cmd:"" help:"Add, activate, approve and disable provider connections."`
	Submission      submissionCmd      `cmd:"" help:"List submissions and resolve those with an unknown outcome."`
	Delivery        deliveryCmd        `cmd:"" help:"List webhook deliveries."`
	Operator        operatorCmd        `cmd:"" help:"Add, list, disable and reset operators, who see the accounts of all companies."`
	Mail            mailCmd            `cmd:"" help:"Send a test e-mail."`
	Audit           auditCmd           `cmd:"" help:"List who did what, when and why."`
	Evidence        evidenceCmd        `cmd:"" help:"Verify, export and anchor the evidence of what the provider returned."`
	Key             keyCmd             `cmd:"" help:"Generate, rotate, retire and list the keys that seal secrets in the database."`
	Backup          backupCmd          `cmd:"" help:"Back up a database to a directory or an S3-compatible store; list and verify backups."`
	Restore         restoreCmd         `cmd:"" help:"Restore a backup into an empty database."`
	Restored        restoredCmd        `cmd:"" help:"Record that the database was restored from a backup."`
	Recount         recountCmd         `cmd:"" help:"Compare the counters of the overview with the invoices, and correct them."`
	Readiness       readinessCmd       `cmd:"" help:"Say which documents that another program has made are ready to be submitted."`
	Migrate         migrateCmd         `cmd:"" help:"Bring the database schema up to date."`
	Version         versionCmd         `cmd:"" help:"Print the version."`

	remote.Commands

	ShowVersion kong.VersionFlag `name:"version" env:"-" help:"Print the version."`
}

// environment holds what every command uses: its context, its streams and its logger.
type environment struct {
	ctx    context.Context //nolint:containedctx // one process, one command
	stdin  io.Reader
	stdout io.Writer
	log    *slog.Logger
	build  buildinfo.Info // of this program
	// logTo returns a logger with the level and the format of the flags that writes elsewhere.
	logTo func(io.Writer) *slog.Logger
}

// exitUsage is the exit status of a wrong command line; package problem has the others. A server never ends with it,
// because the Go runtime ends a crashed process with it: whoever supervises the server can tell a crash, after which a
// new start helps, from settings with which no start succeeds.
const exitUsage = 2

// serveName is the name of the command that runs the server. It alone ends with [problem.ExitSetting] for its settings.
const serveName = "serve"

// Main executes the command named by the arguments of the process and returns the exit status. release is the release
// that the linker was told, such as 1.2.0, or "" for a development build.
func Main(release string) int {
	var root cli
	build := buildinfo.Current(release)
	parser, err := root.parser(build)
	if err != nil {
		return failed(err, problem.ExitFailure)
	}
	if len(os.Args) == 1 {
		if err := help(parser); err != nil {
			return failed(err, problem.ExitFailure)
		}
		return exitUsage
	}
	if err := loadEnvFile(os.Args[1:]); err != nil {
		return failed(err, problem.ExitSetting)
	}
	command, err := parser.Parse(os.Args[1:])
	if err != nil {
		return failed(err, usageStatus(err))
	}
	ignoreFileSizeSignal()
	// The handler stays until the process ends: a second signal, which a terminal and timeout(1) may send, must not
	// change the exit status of a program that is ending.
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	actor, err := root.actor()
	if err != nil {
		return failed(err, statusFor(command, exitUsage))
	}
	env := environment{ctx: base.WithActor(ctx, actor), stdin: os.Stdin, stdout: os.Stdout, log: root.logger(os.Stderr),
		build: build, logTo: root.logger}
	if err := command.Run(env, remote.Environment{Context: ctx, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Now: time.Now}); err != nil {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			if runsUntilStopped(command.Command()) {
				return 0
			}
			err = fmt.Errorf("interrupted: %w", err)
		}
		if command.Selected().Name == serveName && errors.Is(err, service.ErrConfig) {
			return failed(err, problem.ExitSetting)
		}
		return failed(err, problem.ExitFailure)
	}
	return 0
}

// runsUntilStopped reports whether a command runs until a signal stops it, which is its success, even if it has only
// begun to start. Every other one has not done its work then: a schedule must not take half a backup for a whole one,
// nor a script a verification without a result for a good one.
func runsUntilStopped(command string) bool {
	switch command {
	case "serve", "sandbox run", "provider-sandbox", "listen", "events tail":
		return true
	default:
		return false
	}
}

// failed reports why the program ends and returns the exit status.
func failed(err error, status int) int {
	fmt.Fprintln(os.Stderr, "quittance:", err)
	return status
}

// usageStatus returns the exit status for an error of the parser.
func usageStatus(err error) int {
	if parsed, ok := errors.AsType[*kong.ParseError](err); ok {
		return statusFor(parsed.Context, exitUsage)
	}
	return exitUsage
}

// statusFor returns the exit status for a wrong command line: usage, but problem.ExitSetting if the command is serve.
func statusFor(command *kong.Context, usage int) int {
	if selected := command.Selected(); selected != nil && selected.Name == serveName {
		return problem.ExitSetting
	}
	return usage
}

// actor returns the person who runs the command, for the audit log.
func (c *cli) actor() (base.Actor, error) {
	actor := base.Actor{Kind: base.ActorAdministrator, Name: c.Actor, Means: base.MeansCommandLine}
	if c.Actor != "" {
		return actor, checkLine("--actor", c.Actor)
	}
	name := "uid " + strconv.Itoa(os.Getuid())
	if known, err := user.Current(); err == nil { // the user may have no entry, for example in a container
		name = known.Username
	}
	host, err := os.Hostname()
	if err != nil {
		return actor, fmt.Errorf("determine the host name for the audit log (specify --actor to avoid this): %w", err)
	}
	actor.Name = name + "@" + host
	return actor, nil
}

// parser returns a parser that reads command lines of a build into c.
func (c *cli) parser(build buildinfo.Info) (*kong.Kong, error) {
	return kong.New(c, kong.Name("quittance"), kong.Description("E-invoicing client service."),
		kong.DefaultEnvars("QUITTANCE"), kong.PostBuild(sandboxKeepsOut), defaults(build),
		kong.ExplicitGroups(helpGroups()), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Help(printHelp))
}

// sandboxPlaces are the flags that name where the data of a sandbox is.
var sandboxPlaces = []string{"data", "database", "database-direct", "key-file", "config-dir", "ready-file"} //nolint:gochecknoglobals // a constant

// defaults returns what the tags of flags refer to: values that other packages define.
func defaults(build buildinfo.Info) kong.Vars {
	retry := webhook.DefaultBackoff()
	return kong.Vars{"version": versionLine(build), "retry_first": retry.First.String(),
		"retry_attempts": strconv.Itoa(retry.Attempts)}
}

// sandboxKeepsOut takes the environment variables from the flags of the sandbox that name places. Operators export
// those of their servers, and a sandbox must not write synthetic data there.
func sandboxKeepsOut(k *kong.Kong) error {
	for _, command := range k.Model.Leaves(false) {
		if !strings.HasPrefix(command.Path(), "sandbox ") {
			continue
		}
		for _, flag := range command.Flags {
			if slices.Contains(sandboxPlaces, flag.Name) {
				flag.Envs, flag.Tag.Envs = nil, nil
			}
		}
	}
	return nil
}

// helpGroups returns the groups of commands in the help: those without a group come first.
func helpGroups() []kong.Group {
	return []kong.Group{{Key: "developer", Title: "Commands for developers, which act over the API:"}}
}

func (c *cli) logger(to io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(strings.ToUpper(c.LogLevel))); err != nil {
		level = slog.LevelInfo // the flag's enum permits no other text
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: withoutEmpty}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
