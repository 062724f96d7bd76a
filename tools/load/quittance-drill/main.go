// Command quittance-drill is the witness of a disaster drill: it makes load and receives webhooks, writes down what a
// deployment acknowledges, and afterwards proves that nothing of it is lost. scripts/disaster-drill runs it and makes
// the disaster.
//
// Every part is a subcommand: a struct whose fields are its flags and whose Run method calls package drill. Start
// reading at cli.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"quittance/internal/platform/buildinfo"
	"quittance/tools/load/drill"
)

// name is what this program is called, in its usage and in its errors.
const name = "quittance-drill"

// release is set by the linker (-X) for a release, and empty otherwise.
var release string //nolint:gochecknoglobals // only the linker can set it

// cli is the command line.
type cli struct {
	Receive receiveCmd `cmd:"" help:"Receive webhooks over HTTPS until SIGTERM, and write each down before it is answered."`
	Load    loadCmd    `cmd:"" help:"Create, change, submit and credit invoices until SIGTERM, and write down what is acknowledged."`
	Check   checkCmd   `cmd:"" help:"Look for everything that was written down, and print a report. The exit status is 1 if anything is lost."`

	ShowVersion kong.VersionFlag `name:"version" env:"-" help:"Print the version."`
}

// environment holds what every command uses: its context and its output.
type environment struct {
	ctx    context.Context //nolint:containedctx // one process, one command
	stdout io.Writer
}

func main() { os.Exit(run()) }

// run executes the command named by the arguments and returns the exit status: 0 for success, 1 for a failure, 2 for a
// usage error.
func run() int {
	parser, err := kong.New(&cli{}, kong.Name(name),
		kong.Description("The witness of a disaster drill: see scripts/disaster-drill."),
		kong.Vars{"version": buildinfo.Current(release).Line(name)}, kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
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
	if err := command.Run(environment{ctx: ctx, stdout: os.Stdout}); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		return 1
	}
	return 0
}

type receiveCmd struct {
	Listen   string `default:"127.0.0.1:0" help:"Address to listen on; port 0 picks a free port."`
	Identity string `required:"" placeholder:"DIR" help:"Directory of the certificate, made when missing; receiver-ca.pem in it is the authority that servers have to trust (--webhook-ca)."`
	Journal  string `required:"" placeholder:"FILE" help:"File for what was received."`
}

// Run receives.
func (c receiveCmd) Run(env environment) error {
	return drill.Receive(env.ctx, drill.ReceiveOptions{Listen: c.Listen, Identity: c.Identity, Journal: c.Journal,
		Now: time.Now,
		Ready: func(url string) error {
			_, err := fmt.Fprintln(env.stdout, url)
			return err
		}})
}

// deployment are the flags of the commands that call the deployment and the provider sandbox.
type deployment struct {
	Keys               string `required:"" placeholder:"DIR" help:"Directory with a file NAME.key for each company: an API key with the scopes read, write, submit and webhooks."`
	Servers            string `required:"" placeholder:"FILE" help:"File with the addresses of the servers, one a line without /api. It is read again before each call."`
	Journal            string `required:"" placeholder:"FILE" help:"File of what the load was told."`
	Provider           string `required:"" placeholder:"URL" help:"Address of the provider sandbox."`
	ProviderCredential string `required:"" placeholder:"FILE" help:"File with the credential that the provider sandbox wants."`
}

func (c deployment) credential() (string, error) {
	text, err := os.ReadFile(c.ProviderCredential)
	if err != nil {
		return "", fmt.Errorf("--provider-credential: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

type loadCmd struct {
	deployment
	Receiver string `required:"" placeholder:"URL" help:"Address that receive prints."`
}

// Run makes load.
func (c loadCmd) Run(env environment) error {
	credential, err := c.credential()
	if err != nil {
		return err
	}
	return drill.Load(env.ctx, drill.LoadOptions{Keys: c.Keys, Servers: drill.Servers(c.Servers), Journal: c.Journal,
		Receiver: c.Receiver, Provider: c.Provider, ProviderCredential: credential, Now: time.Now})
}

type checkCmd struct {
	deployment
	Receipts  string        `required:"" placeholder:"FILE" help:"File of what was received; receive still runs."`
	LostAfter time.Time     `placeholder:"TIME" help:"When the backup was begun that was restored, such as 2026-03-01T12:00:00Z: what was acknowledged later may be lost. By default nothing may."`
	JSON      bool          `help:"Print the report as JSON."`
	Patience  time.Duration `default:"4m" help:"How long to wait for submissions and deliveries to end."`
}

// errLost is the error of a check that has found losses, which the report describes.
var errLost = errors.New("acknowledged facts are lost")

// Run checks.
func (c checkCmd) Run(env environment) error {
	credential, err := c.credential()
	if err != nil {
		return err
	}
	report, err := drill.Check(env.ctx, drill.CheckOptions{Keys: c.Keys, Servers: drill.Servers(c.Servers),
		Journal: c.Journal, Receipts: c.Receipts, Provider: c.Provider, ProviderCredential: credential,
		LostAfter: c.LostAfter, Patience: c.Patience, Now: time.Now})
	if err != nil {
		return err
	}
	show := report.Print
	if c.JSON {
		show = func(to io.Writer) error { return json.NewEncoder(to).Encode(report) }
	}
	if err := show(env.stdout); err != nil {
		return err
	}
	if report.Losses > 0 {
		return fmt.Errorf("%w: %d", errLost, report.Losses)
	}
	return nil
}
