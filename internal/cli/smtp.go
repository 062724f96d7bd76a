package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"quittance/internal/account"
	"quittance/internal/exchange/mail"
)

// smtp holds the flags about the relay that takes e-mails.
type smtp struct {
	URL          string `name:"url" placeholder:"URL" help:"SMTP server that takes e-mails, such as smtp://user@mail.example:587 (STARTTLS, unless it is on this machine) or smtps://mail.example:465; needs --public-url and --smtp-from. Disabled by default."`
	PasswordFile string `placeholder:"FILE" help:"File with the password of the user of the SMTP server."`
	From         string `placeholder:"SENDER" help:"Sender of all e-mails, such as \"Quittance <invoices@example.com>\"."`
	Hello        string `placeholder:"NAME" help:"Name of this server in EHLO, such as invoices.example.com; by default that of the machine if it has a dot, or else the domain of the sender."`
	CA           string `name:"ca" type:"existingfile" placeholder:"FILE" help:"Additional certificate authorities (PEM) to trust for the SMTP server."`
}

// relay returns the relay that the flags describe; one without a host if there is none.
func (s smtp) relay(env environment) (mail.Relay, error) {
	if s.URL == "" {
		if s.PasswordFile != "" || s.From != "" || s.Hello != "" || s.CA != "" {
			return mail.Relay{}, errors.New("--smtp-password-file, --smtp-from, --smtp-hello and --smtp-ca need --smtp-url")
		}
		return mail.Relay{}, nil
	}
	relay, err := mail.ParseRelay(s.URL)
	if err != nil {
		return mail.Relay{}, fmt.Errorf("--smtp-url: %w", err)
	}
	if relay.From, err = mail.ParseFrom(s.From); err != nil {
		return mail.Relay{}, fmt.Errorf("--smtp-from: %w", err)
	}
	if s.Hello != "" {
		if relay.Hello, err = mail.ParseHello(s.Hello); err != nil {
			return mail.Relay{}, fmt.Errorf("--smtp-hello: %w", err)
		}
	}
	if (relay.User != "") != (s.PasswordFile != "") {
		return mail.Relay{}, errors.New("a user in --smtp-url and --smtp-password-file go together")
	}
	if s.PasswordFile != "" {
		if relay.Password, err = readSecret(env, s.PasswordFile); err != nil {
			return mail.Relay{}, fmt.Errorf("--smtp-password-file: %w", err)
		}
	}
	if s.CA != "" {
		text, err := os.ReadFile(s.CA)
		if err == nil {
			err = relay.Trust(text)
		}
		if err != nil {
			return mail.Relay{}, fmt.Errorf("--smtp-ca: %w", err)
		}
	}
	return relay, nil
}

type mailCmd struct {
	Test mailTestCmd `cmd:"" help:"Send one e-mail to try the settings out."`
}

type mailTestCmd struct {
	SMTP smtp   `embed:"" prefix:"smtp-"`
	To   string `required:"" env:"-" placeholder:"EMAIL" help:"E-mail address of the recipient."`
}

// Help is shown by --help.
func (mailTestCmd) Help() string {
	return `The e-mail has no content of any company. The command needs no database.

Example:
  quittance mail test --smtp-url smtp://127.0.0.1:25 --smtp-from "Quittance <invoices@example.com>" --to me@example.com`
}

// Run sends the e-mail. [mail.Relay.Test] bounds the time that this takes.
func (c mailTestCmd) Run(env environment) error {
	relay, err := c.SMTP.relay(env)
	if err != nil {
		return err
	}
	if relay.Host == "" {
		return errors.New("specify --smtp-url URL and --smtp-from SENDER")
	}
	to, err := account.ParseEmail(c.To)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if err := relay.Test(env.ctx, to, time.Now()); err != nil {
		return errors.New(mail.Explain(err))
	}
	if _, err = fmt.Fprintf(env.stdout, "%s:%d has accepted the e-mail\n", relay.Host, relay.Port); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
