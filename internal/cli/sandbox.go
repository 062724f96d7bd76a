package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"quittance/internal/cli/remote"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
	"quittance/sandbox"
	"quittance/sandbox/fakeprovider"
)

type sandboxCmd struct {
	Run   sandboxRunCmd   `cmd:"" default:"withargs" help:"Run everything on this machine."`
	Reset sandboxResetCmd `cmd:"" help:"Give an account a new tenant with synthetic data; a server may be running."`
}

// Help is shown by --help.
func (sandboxCmd) Help() string {
	return `Example:
  quittance sandbox
  quittance sandbox --data ./sandbox --listen 127.0.0.1:9000 --ready-file ready.json

For the flags, see "quittance sandbox run --help"; run is the default command.`
}

type sandboxRunCmd struct {
	tuning
	Listen         string `placeholder:"ADDR" help:"Address of the API; port 0 picks a free port. Defaults to the address of the last start on the data directory, or 127.0.0.1:8080."`
	ProviderListen string `placeholder:"ADDR" help:"Address of the provider sandbox; port 0 picks a free port and keeps it in the data directory."`
	Data           string `placeholder:"DIR" help:"Directory for all data; defaults to a temporary directory that is removed at the end."`
	Database       string `placeholder:"URL" help:"Database: sqlite:PATH or postgres://…; defaults to a file in the data directory."`
	Chaos          string `enum:"off,low,high" default:"off" help:"How often the provider sandbox misbehaves at random: ${enum}. With low, few calls fail and all recover without help; with high, a third of all calls fail in nearly every possible way."`
	ChaosSeed      uint64 `placeholder:"N" help:"Seed for the random misbehaviour, to repeat a run; 0 or no value picks a random seed and prints it."`
	Example        bool   `default:"true" negatable:"" help:"Add a second company, whose invoices stand in every state."`
	ConfigDir      string `type:"path" placeholder:"DIR" help:"Directory to write the profile sandbox of quittance listen and trigger to; by default quittance in the user's configuration directory."`
	Output         string `enum:"auto,lines,log" default:"auto" help:"What is shown after the start: lines, a short line for each thing that happens, with the log in a file; log, the log; auto, lines on a terminal and otherwise the log."`
	ReadyFile      string `placeholder:"PATH" help:"File to write addresses and credentials to, as JSON, once everything is ready."`
}

// Help is shown by --help.
func (sandboxRunCmd) Help() string {
	return `Example:
  quittance sandbox
  quittance sandbox --data ./sandbox --listen 127.0.0.1:9000 --ready-file ready.json`
}

// Run runs a sandbox until the process receives a stop signal.
func (c sandboxRunCmd) Run(env environment) (err error) {
	var said narration
	if c.Output == "lines" || c.Output == "auto" && onTerminal() {
		if said, err = narrate(&env); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, said.file.Close()) }()
	}
	config, err := c.config(env)
	if err != nil {
		return err
	}
	config.Listen, config.Database = c.Listen, c.Database
	if c.ReadyFile != "" {
		// The file means that everything is ready, so remove the one of an earlier run now, and this one at the end.
		if err := removeFile(c.ReadyFile); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, removeFile(c.ReadyFile)) }()
	}
	seed := chaosSeed(env, c.Chaos, c.ChaosSeed)
	running, err := sandbox.Start(env.ctx, sandbox.Config{Service: config, ProviderListen: c.ProviderListen, Data: c.Data,
		Chaos: c.Chaos, ChaosSeed: seed, Example: c.Example, Log: env.log})
	if err != nil {
		return whileStarting(env.ctx, err)
	}
	forget := func() error { return nil }
	ctx, stop := context.WithCancel(env.ctx)
	var following sync.WaitGroup
	err = running.Run(env.ctx, func(info sandbox.Info) error {
		info, err := running.WithAPIKey(env.ctx, info)
		if err != nil {
			return err
		}
		forget = c.keepProfile(env, info)
		if c.ReadyFile != "" {
			if err := sandbox.WriteReadyFile(c.ReadyFile, info); err != nil {
				return err
			}
		}
		if _, err = fmt.Fprint(env.stdout, welcome(info, c.Data == "", chaosNote(c.Chaos, seed), said.path)); err == nil &&
			said.file != nil {
			following.Go(func() { said.begin(ctx, env.log, running) })
		}
		return err
	})
	stop()
	following.Wait()
	return errors.Join(err, forget())
}

// keepProfile writes the profile for the commands of developers, and returns what removes it at the end. Without a
// place for it, a sandbox works all the same.
func (c sandboxRunCmd) keepProfile(env environment, info sandbox.Info) (forget func() error) {
	forget = func() error { return nil }
	remove, err := remote.KeepSandbox(c.ConfigDir, remote.Profile{URL: info.BaseURL, AccountID: info.AccountID,
		Company: info.Company, Credential: secret.New(info.APIKey),
		Simulated: &remote.Simulated{ProviderURL: info.ProviderURL, Credential: secret.New(info.ProviderCredential),
			ReceiverURL: info.ReceiverURL}})
	if err != nil {
		env.log.WarnContext(env.ctx, "no profile was written for the commands of developers: use quittance login",
			"error", err)
	} else if c.Data == "" {
		forget = remove // the company is removed at the end too
	}
	return forget
}

// invokedAs returns how the user can run this program again: as it was called, or by go run, which removes the program
// at its end.
func invokedAs(argument string) string {
	if strings.Contains(filepath.ToSlash(argument), "/go-build") {
		return "go run ./cmd/quittance"
	}
	return argument
}

// chaosSeed returns the seed of a run's random misbehaviour: the requested one, or a random one. It logs the seed so
// that the run can be repeated.
func chaosSeed(env environment, level string, asked uint64) uint64 {
	seed := asked
	for seed == 0 {
		seed = uint64(rand.Uint32()) //nolint:gosec // the seed is not a secret
	}
	if level != fakeprovider.ChaosOff {
		env.log.InfoContext(env.ctx, "the provider sandbox misbehaves at random", "chaos", level, "chaos_seed", seed)
	}
	return seed
}

// chaosNote returns the text about random misbehaviour in the welcome message.
func chaosNote(level string, seed uint64) string {
	if level == fakeprovider.ChaosOff {
		return ""
	}
	return fmt.Sprintf("   (misbehaves at random: --chaos %s --chaos-seed %d)", level, seed)
}

// removeFile removes a file if it exists.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

type sandboxResetCmd struct {
	act
	Account  string `placeholder:"ID" help:"Identifier of the account; defaults to the sandbox's own account, or to the only account."`
	Receiver string `placeholder:"URL" help:"Destination of the two webhook subscriptions; defaults to the sandbox's own receiver."`
}

// Help is shown by --help.
func (sandboxResetCmd) Help() string {
	return `Example:
  quittance sandbox reset --data ./sandbox

Users, passwords, profile and connection stay. The old data is frozen and all tokens are revoked.`
}

// resetPatience limits how long a reset waits for the deliveries of its synthetic events.
const resetPatience = 15 * time.Second

// Run resets a sandbox.
func (c sandboxResetCmd) Run(env environment) error {
	var account *base.ID
	receiver := c.Receiver
	if c.Data != "" {
		var own string
		var err error
		if account, own, err = sandbox.Layout(c.Data).Defaults(); err != nil {
			return err
		}
		if receiver == "" {
			receiver = own
		}
	}
	if c.Account != "" {
		id, err := parseID(c.Account)
		if err != nil {
			return err
		}
		account = &id
	}
	if receiver == "" {
		return errors.New("specify --receiver: the destination of the webhook subscriptions")
	}
	return c.with(env, func(env environment, db *base.DB) error {
		made, err := sandbox.Reset(env.ctx, db, account, receiver, time.Now(), resetPatience)
		if err != nil {
			return unknownAccount(err)
		}
		return c.print(env, []field{{"account_id", made.Account}, {"drafts", made.Drafts}, {"credit_notes", made.CreditNotes},
			{"incoming", made.Incoming}, {"subscriptions", made.Subscriptions}, {"pending_deliveries", made.Pending}})
	})
}

// welcome returns the text that a sandbox prints once it is ready: what a newcomer needs first. The ready file has
// everything.
func welcome(info sandbox.Info, temporary bool, chaos, logFile string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("")
	line("  Quittance sandbox. Use synthetic data only. Results here prove nothing about production.")
	line("")
	if e := info.Example; e != nil && e.LoginURL != "" {
		line("  Open       %s", e.LoginURL)
		line("             (logs you in once to %s, whose invoices stand in every state; later: %s, %s)", e.Company, e.Email,
			e.Password)
		line("")
	}
	line("  Address    %s   (guides and reference: %s/docs)", info.BaseURL, info.BaseURL)
	line("  Company    %s   (account %s)", info.Company, info.AccountID)
	line("  E-mail     %s", info.Email)
	if info.Password == "" {
		line(
			"  Password   (shown at the first start; to set a new one: quittance account user reset-password %s --email %s --data %s)",
			info.AccountID, info.Email, info.DataDir)
	} else {
		line("  Password   %s   (shown only once)", info.Password)
		line("  Log in     %s   (works once)", info.LoginURL)
	}
	keeps := ""
	if temporary {
		keeps = "   (temporary, removed at the end; use --data DIR to keep it)"
	}
	line("  Data       %s%s", info.DataDir, keeps)
	if logFile != "" {
		line("  Log        %s", logFile)
	}
	line("  Provider   simulated%s", chaos)
	line("")
	line("  Make something happen, and receive webhooks in your own program:")
	line("")
	program := invokedAs(os.Args[0])
	line("  %s trigger --profile sandbox accepted", program)
	line("  %s listen --profile sandbox --forward-to http://localhost:3000/hooks", program)
	line("")
	line("  %s/docs/sandbox explains the rest. Press Ctrl-C to stop.", info.BaseURL)
	line("")
	return b.String()
}

type providerSandboxCmd struct {
	Listen         string        `default:"127.0.0.1:8090" placeholder:"ADDR" help:"Address to listen on; port 0 picks a free port."`
	Data           string        `required:"" placeholder:"DIR" help:"Directory for the ledger."`
	Chaos          string        `enum:"off,low,high" default:"off" help:"How often the provider misbehaves at random: ${enum}."`
	ChaosSeed      uint64        `placeholder:"N" help:"Seed for the random misbehaviour, to repeat a run; 0 or no value picks a random seed and logs it."`
	Latency        time.Duration `default:"0s" help:"Delay added to every call, to simulate a distant provider."`
	CredentialFile string        `required:"" placeholder:"FILE" help:"File with the credential that clients must present; - reads standard input."`
}

// Help is shown by --help.
func (providerSandboxCmd) Help() string {
	return "Example:\n  quittance provider-sandbox --data ./provider --credential-file credential.txt"
}

// Run runs the provider sandbox until the process receives a stop signal.
func (c providerSandboxCmd) Run(env environment) error {
	credential, err := readSecret(env, c.CredentialFile)
	if err != nil {
		return err
	}
	return fakeprovider.Run(env.ctx, c.Listen, fakeprovider.Options{Dir: c.Data, Credential: credential, Clock: time.Now,
		Chaos: c.Chaos, ChaosSeed: chaosSeed(env, c.Chaos, c.ChaosSeed), Latency: c.Latency, Log: env.log},
		func(url string) error {
			_, err := fmt.Fprintln(env.stdout, "provider sandbox at", url)
			return err
		})
}

// readSecret reads a credential from a file, or from standard input for "-", and trims the white space around it.
func readSecret(env environment, path string) (secret.Text, error) {
	text, err := readInput(env, path)
	if err != nil {
		return secret.Text{}, err
	}
	trimmed := strings.TrimSpace(string(text))
	if trimmed == "" {
		return secret.Text{}, fmt.Errorf("%s contains no credential", inputName(path))
	}
	return secret.New(trimmed), nil
}

// dataLayout returns the database and the key file of a data directory.
func dataLayout(dir string) (database, keyFile string, err error) {
	if _, err := os.Stat(dir); err != nil {
		return "", "", fmt.Errorf("--data: %w", err)
	}
	layout := sandbox.Layout(dir)
	database, err = layout.Database()
	return database, layout.KeyFile(), err
}
