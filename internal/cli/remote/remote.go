// Package remote has the commands that act on a server over its API, with a key or a token that login has kept: the
// resource commands, listen, trigger and webhooks verify.
//
// Its invariants: no command opens a database. A credential is kept only in a file that nobody else can read, is sent
// only to the server that it was kept for, and is never printed. listen forwards only to this machine, and every event
// of the feed until it was answered.
//
// Start reading at [Commands]; then [profiles], which keeps credentials, and [listener.run].
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"quittance/client"
	"quittance/client/api"
)

// Environment is what the commands use of their process.
type Environment struct {
	Context context.Context //nolint:containedctx // one process, one command
	In      io.Reader
	// Out takes results, and Err what is said about the work.
	Out, Err io.Writer
	// Now is the clock.
	Now func() time.Time
}

// say writes a line about the work to standard error. A failure to write it must not end the work.
func (e Environment) say(format string, args ...any) { fmt.Fprintf(e.Err, format+"\n", args...) }

// Commands are the commands of developers.
type Commands struct {
	Login       loginCmd       `cmd:"" group:"developer" help:"Keep the address of a server with an API key or a token for it."`
	Logout      logoutCmd      `cmd:"" group:"developer" help:"End the session and remove what login has kept."`
	Whoami      whoamiCmd      `cmd:"" group:"developer" help:"Show the server, the company and the login that the commands use."`
	Listen      listenCmd      `cmd:"" group:"developer" help:"Forward the company's events, signed as webhooks, to a program on this machine."`
	Trigger     triggerCmd     `cmd:"" group:"developer" help:"Play a scenario in a sandbox and show what happens."`
	Invoices    invoicesCmd    `cmd:"" group:"developer" help:"Create, read, change and submit invoices."`
	CreditNotes creditNotesCmd `cmd:"" group:"developer" help:"Create, read and submit credit notes."`
	Incoming    incomingCmd    `cmd:"" group:"developer" help:"Read incoming e-invoices."`
	Webhooks    webhooksCmd    `cmd:"" group:"developer" help:"Create, list and deactivate webhook subscriptions, and verify signatures."`
	Events      eventsCmd      `cmd:"" group:"developer" help:"Read the events feed."`
	Deliveries  deliveriesCmd  `cmd:"" group:"developer" help:"List and repeat webhook deliveries of the company."`
}

// target holds the flags that every command with a server has.
type target struct {
	Profile   string `placeholder:"NAME" help:"Profile to use; by default the profile default, or else the one of a sandbox on this machine."`
	ConfigDir string `type:"path" placeholder:"DIR" help:"Directory of the profiles; by default quittance in the user's configuration directory."`
}

// The profiles with a meaning.
const (
	defaultProfile = "default"
	// SandboxProfile is the profile that a sandbox writes.
	SandboxProfile = "sandbox"
)

// profiles returns the directory of the profiles.
func (t target) profiles() (profiles, error) { return directory(t.ConfigDir) }

// directory returns a directory of profiles, or that of the user if none is given.
func directory(given string) (profiles, error) {
	if given != "" {
		return profiles(given), nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the configuration directory (specify --config-dir to avoid this): %w", err)
	}
	return profiles(filepath.Join(dir, "quittance")), nil
}

// Validate rejects a name that no profile can have.
func (t target) Validate() error {
	if t.Profile == "" {
		return nil
	}
	return checkName(t.Profile)
}

// load returns the profile that the flags name, or else the default one, or else that of a sandbox. With an error it
// has only its name.
func (t target) load() (Profile, error) {
	from, err := t.profiles()
	if err != nil {
		return Profile{}, err
	}
	if t.Profile != "" {
		return from.Load(t.Profile)
	}
	p, err := from.Load(defaultProfile)
	if errors.Is(err, errNoProfile) {
		if local, failed := from.Load(SandboxProfile); !errors.Is(failed, errNoProfile) {
			return local, failed
		}
	}
	return p, err
}

// connect returns the profile and a client for its server.
func (t target) connect() (Profile, *client.Client, error) {
	p, err := t.load()
	if err != nil {
		return p, nil, err
	}
	c, err := p.client()
	return p, c, err
}

// explained adds to an error of the service what the person can do about it: the faults of the payload, or another
// login.
func explained(err error) error {
	failed, ok := errors.AsType[*api.Error](err)
	if !ok {
		return err
	}
	if failed.Code == api.CodeUnauthenticated {
		return fmt.Errorf("%w\nthe key or token is not accepted any more: run quittance login again", err)
	}
	for _, path := range slices.Sorted(maps.Keys(failed.Details)) {
		err = fmt.Errorf("%w\n  %s: %s", err, path, compact(failed.Details[path]))
	}
	return err
}
