// Package mail sends the mails that transactions of the ledger cause: invitations, links for a new password, and
// notices to owners.
//
// A mail is committed with the act that causes it. [Mailer.Work] claims it under a lease, writes it in the language of
// its recipient, gives it to the relay, and records the result. A mail is sent at least once: a process that ends
// between the relay's acceptance and the record sends it again, with the same Message-ID, by which the recipient's
// system can recognize the repetition. No mail contains a password, a key or anything of a document; the only secret is
// that of a link which works once.
//
// Start reading at [Mailer.Work]. relay.go has the dialogue and its bounds, message.go the texts.
package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"quittance/internal/exchange/queue"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

// leaseMargin is how much longer the lease of a mail is than an attempt to send it: the time to record the result.
const leaseMargin = 20 * time.Second

// The waits before another attempt: they begin with firstRetry and double up to lastRetry.
const (
	firstRetry = time.Minute
	lastRetry  = time.Hour
)

// Mailer sends mails. It is safe for concurrent use.
type Mailer struct {
	DB    *base.DB
	Relay Relay
	// PublicURL is the address at which people reach the service, such as https://invoices.example.
	PublicURL string
	// Now is the clock.
	Now func() time.Time
	Log *slog.Logger
	// Observe is called after every attempt, for metrics, with the kind of mail, and the resulting state and reason.
	Observe func(kind identity.MailKind, result identity.MailResult)
}

// Work returns the source of due mails, with a queue for each company.
func (m *Mailer) Work() queue.Source[identity.MailLease] {
	return queue.Source[identity.MailLease]{
		Name: "mail",
		Kind: base.WorkMails,
		Scan: func(ctx context.Context, from base.ScanCursor) (base.DueScan, error) {
			return identity.DueMailQueues(ctx, m.DB, from)
		},
		Claim: func(ctx context.Context, q base.Queue, limit int) ([]identity.MailLease, error) {
			return identity.ClaimMails(ctx, q, limit, sendTimeout+leaseMargin)
		},
		Do: m.send,
	}
}

// send makes one attempt to send a mail and records its result.
func (m *Mailer) send(ctx context.Context, lease identity.MailLease) queue.Result {
	started := time.Now() //nolint:forbidigo // a duration by the clock of the machine
	m.DB.Checkpoint(base.Before, "send mail")
	sendErr := m.deliver(ctx, lease.Mail)
	m.DB.Checkpoint(base.After, "send mail")
	took := time.Since(started) //nolint:forbidigo // as above
	result, refused := m.judge(lease.Mail, sendErr), replyOf(sendErr)
	err := lease.Record(ctx, result)
	m.Observe(lease.Kind, result)
	level := slog.LevelInfo
	switch {
	case errors.Is(err, base.ErrLeaseLost), result.State != identity.MailSent:
		level = slog.LevelWarn
	case err != nil:
		level = slog.LevelError
	}
	// Neither the address nor what the relay said, which may repeat it.
	m.Log.Log(ctx, level, "mail attempt", "account", lease.Account, "mail", lease.ID, "kind", string(lease.Kind),
		"attempt", lease.Attempts, "state", string(result.State), "reason", result.Reason, "code", refused.code,
		"status", refused.status, "duration_ms", took.Milliseconds(), "error", err)
	return queue.Result{Latency: took, Responded: result.Reason != reasonUnreachable,
		LeaseLost: errors.Is(err, base.ErrLeaseLost)}
}

// deliver writes a mail and gives it to the relay.
func (m *Mailer) deliver(ctx context.Context, mail identity.Mail) error {
	text, err := m.write(mail)
	if err != nil {
		return err
	}
	message, err := text.message(&m.Relay, mail.To)
	if err != nil {
		return err
	}
	message.SetMessageIDWithValue(mail.ID.String() + "@" + domain(m.Relay.From.Address))
	message.SetDateWithValue(mail.CreatedAt)
	return m.Relay.send(ctx, message)
}

// domain returns the part of an address after the last @.
func domain(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }

// send makes one attempt to give a message to the relay, which takes at most [sendTimeout].
func (r *Relay) send(ctx context.Context, message *gomail.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.timeout, sendTimeout))
	defer cancel()
	var connection io.Closer
	defer func() {
		if connection != nil {
			_ = connection.Close() // it may be closed already, and nothing depends on it any more
		}
	}()
	client, err := r.client(func(c io.Closer) { connection = c })
	if err != nil {
		return err
	}
	dialogue, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return err //nolint:wrapcheck // judge classifies it
	}
	sent := client.SendWithSMTPClient(dialogue, message)
	if err := client.CloseWithSMTPClient(dialogue); err != nil && sent != nil {
		return errors.Join(sent, err)
	}
	return sent //nolint:wrapcheck // judge classifies it; once the message is accepted, a failing QUIT changes nothing
}

// Test sends a mail without content of any company to an address, to try the settings out.
func (r *Relay) Test(ctx context.Context, to string, now time.Time) error {
	message, err := testText.message(r, to)
	if err != nil {
		return err
	}
	message.SetMessageIDWithValue(fmt.Sprintf("test-%d@%s", now.UnixNano(), domain(r.From.Address)))
	message.SetDateWithValue(now)
	return r.send(ctx, message)
}

// judge says what follows from the result of an attempt.
func (m *Mailer) judge(mail identity.Mail, err error) identity.MailResult {
	if err == nil {
		return identity.MailResult{State: identity.MailSent}
	}
	reason, final := reasonOf(err)
	due := m.Now().Add(backoff(mail.Attempts))
	if final || !due.Before(mail.ExpiresAt) {
		return identity.MailResult{State: identity.MailFailed, Reason: reason}
	}
	return identity.MailResult{State: identity.MailPending, DueAt: due, Reason: reason}
}

// backoff returns the wait after a number of attempts, from 1.
func backoff(attempts int) time.Duration {
	wait := firstRetry
	for range attempts - 1 {
		if wait *= 2; wait >= lastRetry {
			return lastRetry
		}
	}
	return wait
}
