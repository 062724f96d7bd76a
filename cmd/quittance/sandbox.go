package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"quittance/internal/fakeprovider"
	"quittance/internal/sandbox"
	"quittance/internal/secret"
	"quittance/internal/store"
)

type sandboxCmd struct {
	Run   sandboxRunCmd   `cmd:"" default:"withargs" help:"Run everything on this machine."`
	Reset sandboxResetCmd `cmd:"" help:"Give an account a fresh tenant with synthetic data, beside a running server."`
}

// Help is shown by --help.
func (sandboxCmd) Help() string {
	return `Example:
  quittance sandbox
  quittance sandbox --data ./sandbox --listen 127.0.0.1:9000 --ready-file ready.json

The flags of the sandbox are those of "quittance sandbox run --help"; run is the command when none is named.`
}

type sandboxRunCmd struct {
	tuning
	Listen         string `placeholder:"ADDR" help:"Address of the API; port 0 picks a free one. 127.0.0.1:8080, or that of the last start on the data directory, when absent."`
	ProviderListen string `placeholder:"ADDR" help:"Address of the provider sandbox; port 0 picks a free one, which is kept in the data directory."`
	Data           string `placeholder:"DIR" help:"Directory that keeps everything; a temporary one, removed at the end, when absent."`
	Database       string `placeholder:"URL" help:"sqlite:PATH or postgres://…; a file in the data directory when absent."`
	Chaos          string `enum:"off,low,high" default:"low" help:"How often the provider sandbox misbehaves by chance: ${enum}. low is mild, and what goes wrong heals by itself; high is a third of all calls, in every way."`
	ChaosSeed      uint64 `placeholder:"N" help:"Seed of the chaos, to repeat a run; a random one, which is shown, when absent or 0."`
	ReadyFile      string `placeholder:"PATH" help:"File that gets the addresses and credentials as JSON once everything answers."`
}

// Help is shown by --help.
func (sandboxRunCmd) Help() string {
	return `Example:
  quittance sandbox
  quittance sandbox --data ./sandbox --listen 127.0.0.1:9000 --ready-file ready.json`
}

// Run runs a sandbox until the process is told to end.
func (c sandboxRunCmd) Run(env environment) (err error) {
	config, err := c.config(env)
	if err != nil {
		return err
	}
	config.Listen, config.Database = c.Listen, c.Database
	if c.ReadyFile != "" {
		// It says that everything answers: one of an earlier run would be a lie, and so would this one after the end.
		if err := removeFile(c.ReadyFile); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, removeFile(c.ReadyFile)) }()
	}
	seed := chaosSeed(env, c.Chaos, c.ChaosSeed)
	running, err := sandbox.Start(env.ctx, sandbox.Config{Service: config, ProviderListen: c.ProviderListen, Data: c.Data,
		Chaos: c.Chaos, ChaosSeed: seed, Log: env.log})
	if err != nil {
		return err
	}
	return running.Run(env.ctx, func(info sandbox.Info) error {
		if c.ReadyFile != "" {
			if err := sandbox.WriteReadyFile(c.ReadyFile, info); err != nil {
				return err
			}
		}
		_, err := fmt.Fprint(env.stdout, welcome(info, c.Data == "", chaosNote(c.Chaos, seed)))
		return err
	})
}

// chaosSeed is the seed of a run's chaos: the one that was asked for, or a random one. It is logged, so that the run can
// be repeated.
func chaosSeed(env environment, level string, asked uint64) uint64 {
	seed := asked
	for seed == 0 {
		seed = uint64(rand.Uint32()) //nolint:gosec // it is no secret
	}
	if level != fakeprovider.ChaosOff {
		env.log.InfoContext(env.ctx, "the provider sandbox misbehaves by chance", "chaos", level, "chaos_seed", seed)
	}
	return seed
}

// chaosNote says in the welcome how the provider sandbox misbehaves.
func chaosNote(level string, seed uint64) string {
	if level == fakeprovider.ChaosOff {
		return ""
	}
	return fmt.Sprintf("   (misbehaves now and then, as a real one does: --chaos %s --chaos-seed %d; --chaos off ends that)", level, seed)
}

// removeFile removes a file that may not be there.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

type sandboxResetCmd struct {
	act
	Account  string `placeholder:"ID" help:"Identifier of the account; the sandbox's own, or the only one, when absent."`
	Receiver string `placeholder:"URL" help:"Destination of the two webhook subscriptions; the sandbox's own receiver when absent."`
}

// Help is shown by --help.
func (sandboxResetCmd) Help() string {
	return `Example:
  quittance sandbox reset --data ./sandbox

Users, passwords, profile and connection stay; the old data is frozen, its tokens are revoked.`
}

// resetPatience is how long a reset waits for the deliveries of its synthetic events.
const resetPatience = 15 * time.Second

// Run resets a sandbox.
func (c sandboxResetCmd) Run(env environment) error {
	var account *store.ID
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
		return errors.New("--receiver: say where the webhook subscriptions deliver to")
	}
	return c.with(env, func(env environment, db *store.DB) error {
		made, err := sandbox.Reset(env.ctx, db, account, receiver, time.Now(), resetPatience)
		if err != nil {
			return unknownAccount(err)
		}
		return c.print(env, []field{{"account_id", made.Account}, {"drafts", made.Drafts}, {"credit_notes", made.CreditNotes},
			{"incoming", made.Incoming}, {"subscriptions", made.Subscriptions}, {"pending_deliveries", made.Pending}})
	})
}

// welcome is what a newcomer reads.
func welcome(info sandbox.Info, temporary bool, chaos string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("")
	line("  Quittance sandbox. Synthetic data only: what happens here proves nothing about production.")
	line("")
	line("  Console    %s   (open it in a browser and log in)", info.ConsoleURL)
	line("  API        %s   (guides and reference: %s/docs)", info.BaseURL, info.BaseURL)
	line("  Provider   %s%s", info.ProviderURL, chaos)
	line("  Receiver   %s   (see what arrived: curl --cacert %s https://%s)", info.ReceiverURL, info.ReceiverCA, hostOf(info.ReceiverURL))
	keeps := ""
	if temporary {
		keeps = "   (temporary: removed at the end; --data DIR keeps it)"
	}
	line("  Data       %s%s", info.DataDir, keeps)
	line("")
	line("  Company    %s   (account %s)", info.Company, info.AccountID)
	line("  E-mail     %s", info.Email)
	if info.Password == "" {
		line("  Password   (shown at the first start; a new one: quittance account user reset-password %s --email %s --data %s)",
			info.AccountID, info.Email, info.DataDir)
		line("")
		return b.String()
	}
	line("  Password   %s   (shown this once)", info.Password)
	line("")
	line("  A first submission:")
	line("")
	line(`  API=%s/api/v1`, info.BaseURL)
	line(`  TOKEN=$(curl -s $API/client/auth/login -H 'Content-Type: application/json' \`)
	line(`    -d '{"email":"%s","password":"%s"}' | sed 's/.*"token":"\([^"]*\)".*/\1/')`, info.Email, info.Password)
	line("")
	line(`  curl -s $API/webhooks/subscriptions -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \`)
	line(`    -d '{"url":"https://%s/mine"}'`, hostOf(info.ReceiverURL))
	line("")
	line(`  ID=$(curl -s $API/client/invoices -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \`)
	line(`    -d '%s' | sed 's/.*"data":{"id":"\([^"]*\)".*/\1/')`, exampleDraft(time.Now()))
	line("")
	line(`  curl -s -X POST $API/client/invoices/$ID/submit -H "Authorization: Bearer $TOKEN"`)
	line(`  sleep 10; curl -s $API/client/invoices/$ID -H "Authorization: Bearer $TOKEN"   # four states, in the provider's words`)
	line("")
	line("  Ctrl-C ends it.")
	line("")
	return b.String()
}

func hostOf(url string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "https://"), "/")
	return host
}

// exampleDraft is a complete draft of today.
func exampleDraft(now time.Time) string {
	return fmt.Sprintf(`{"invoice_number":"INV-1","recipient_name":"Palm Trading LLC","recipient_network_id":"1234567890",`+
		`"buyer_endpoint_scheme":"0235","buyer_street":"12 Harbour Road","buyer_city":"Dubai","buyer_subdivision":"DXB","buyer_country":"AE",`+
		`"total_amount":1050.00,"currency":"AED","issue_date":"%s","due_date":"%s","payment_means_code":"30",`+
		`"items":[{"item_code":"SKU-7","name":"Consulting","description":"Integration workshop","unit_code":"HUR","quantity":10,"base_quantity":1,`+
		`"net_unit_price":100.00,"gross_unit_price":100.00,"discount_amount":0,"vat_category":"S","vat_rate":5}]}`,
		now.Format(time.DateOnly), now.AddDate(0, 0, 30).Format(time.DateOnly))
}

type providerSandboxCmd struct {
	Listen         string        `default:"127.0.0.1:8090" placeholder:"ADDR" help:"Address to listen on; port 0 picks a free one."`
	Data           string        `required:"" placeholder:"DIR" help:"Directory of the ledger."`
	Chaos          string        `enum:"off,low,high" default:"off" help:"How often it misbehaves by chance: ${enum}."`
	ChaosSeed      uint64        `placeholder:"N" help:"Seed of the chaos, to repeat a run; a random one, which is logged, when absent or 0."`
	Latency        time.Duration `default:"0s" help:"How long every call takes besides its own work, as a provider far away would."`
	CredentialFile string        `required:"" placeholder:"FILE" help:"File with the credential its clients present; - is standard input."`
}

// Help is shown by --help.
func (providerSandboxCmd) Help() string {
	return "Example:\n  quittance provider-sandbox --data ./provider --credential-file credential.txt"
}

// Run runs the provider sandbox until the process is told to end.
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

// readSecret reads a credential from a file, or from standard input for "-". White space around it is not part of it.
func readSecret(env environment, path string) (secret.Text, error) {
	text, err := readInput(env, path)
	if err != nil {
		return secret.Text{}, err
	}
	trimmed := strings.TrimSpace(string(text))
	if trimmed == "" {
		return secret.Text{}, fmt.Errorf("%s holds no credential", inputName(path))
	}
	return secret.New(trimmed), nil
}

// dataLayout finds the database and the keys of a data directory.
func dataLayout(dir string) (database, keyFile string, err error) {
	if _, err := os.Stat(dir); err != nil {
		return "", "", fmt.Errorf("--data: %w", err)
	}
	layout := sandbox.Layout(dir)
	database, err = layout.Database()
	return database, layout.KeyFile(), err
}
