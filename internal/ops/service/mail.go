package service

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"quittance/internal/exchange/mail"
	"quittance/internal/exchange/queue"
	"quittance/internal/ledger/identity"
)

// recordMailer records whether the installation sends e-mails. A process that runs no work does not know.
func (s *Service) recordMailer(ctx context.Context) error {
	if !s.config.Workers {
		return nil
	}
	return identity.RecordMailer(ctx, s.db, s.config.Mail.Host != "")
}

// startMails starts the workers that send e-mails, if this process has a relay for them.
func (s *Service) startMails(ctx context.Context, running *sync.WaitGroup) {
	if s.config.Mail.Host == "" {
		return
	}
	mailer := &mail.Mailer{DB: s.db, Relay: s.config.Mail, PublicURL: string(s.config.PublicURL), Now: s.db.Now,
		Log: s.config.Log, Observe: s.metrics.mail}
	startQueue(ctx, s, running, mailer.Work(), queue.Options{Workers: mailWorkers, SlowWorkers: slowMailWorkers,
		MaxPerCompany: mailsPerCompany, MaxPerQueue: mailsPerCompany, MaxPerSlowQueue: mailsPerCompany, SlowAfter: slowMail})
	running.Go(func() { s.repeat(ctx, "notices", s.tellOwners) })
}

// tellOwners turns the notices to owners that are due into mails.
func (s *Service) tellOwners(ctx context.Context) error {
	for {
		if handled, err := identity.TellOwners(ctx, s.db); err != nil || handled == 0 {
			return err
		}
	}
}

// newMailCounter returns the counter of attempts to send e-mails. It has each result from the start, so that a rate has
// a beginning.
func newMailCounter() *prometheus.CounterVec {
	mails := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "quittance_mail_attempts_total",
		Help: "Attempts to send an e-mail, by kind of e-mail and by what followed: sent, pending (another attempt follows) or failed."}, []string{"kind", "state"})
	for _, kind := range append(identity.NoticeKinds(), identity.MailInvitation, identity.MailPasswordReset,
		identity.MailPasswordChanged, identity.MailAddressProof, identity.MailAddressChanged) {
		for _, state := range []identity.MailState{identity.MailSent, identity.MailPending, identity.MailFailed} {
			mails.WithLabelValues(string(kind), string(state))
		}
	}
	return mails
}

// newRefusalCounter returns the counter of the reasons of attempts that failed. It has each reason from the start.
func newRefusalCounter() *prometheus.CounterVec {
	refusals := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "quittance_mail_failures_total",
		Help: "Attempts to send an e-mail that failed, by reason."}, []string{"reason"})
	for _, reason := range mail.Reasons() {
		refusals.WithLabelValues(reason)
	}
	return refusals
}

// mail counts an attempt to send an e-mail.
func (m *metrics) mail(kind identity.MailKind, result identity.MailResult) {
	m.mails.WithLabelValues(string(kind), string(result.State)).Inc()
	if result.Reason != "" {
		m.refusals.WithLabelValues(result.Reason).Inc()
	}
}
