package identity

import (
	"context"
	"errors"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
)

// DueMailQueues makes one step of a scan for companies with mails that are due, in the same way as
// [events.DueDeliveryQueues]. A company has one queue.
func DueMailQueues(ctx context.Context, db *base.DB, from base.ScanCursor) (base.DueScan, error) {
	return db.ScanQueues(ctx, func(row base.Row) (base.DueQueue, error) {
		var account base.ID
		var r base.DueQueue
		err := row.Scan(&account, &r.Due)
		r.Queue, r.Cursor.Company = db.AccountQueue(account, account), account
		return r, err
	}, `with recursive company(id, n) as (
			select (select account_id from mails where due_at is not null and account_id > $1 order by account_id limit 1), 1
			union all
			select (select m.account_id from mails m where m.due_at is not null and m.account_id > company.id order by m.account_id limit 1), n + 1
				from company where company.id is not null and n < $2
		)
		select id, (select m.due_at from mails m where m.due_at is not null and m.account_id = company.id order by m.due_at limit 1)
			from company where id is not null`, from.Company[:], base.MaxCompaniesPerScan)
}

// Mail is a mail on its way.
type Mail struct {
	Account, ID base.ID
	Kind        MailKind
	To          string
	// Company is the name of the company, and Inviter that of the user who made an invitation; "" for an administrator.
	Company  string
	Language string
	// Secret is the secret of the link; zero if the mail has none.
	Secret secret.Text
	Count  int64
	// Attempts is how often the mail was claimed, this time included.
	Attempts  int
	CreatedAt time.Time
	ExpiresAt time.Time

	user         *base.ID
	sealed       []byte
	fencingToken int64
}

// MailLease is the exclusive right to send a mail, until the lease expires.
type MailLease struct {
	Mail
	// Tenant is the company that has caused the mail.
	Tenant *base.Tenant
}

// ClaimMails claims up to limit due mails of a company for the duration. Those that must not be sent any more end.
func ClaimMails(ctx context.Context, q base.Queue, limit int, duration time.Duration) ([]MailLease, error) {
	if q.DB() == nil || q.Account().IsZero() {
		return nil, base.ErrNoTenant
	}
	var leases []MailLease
	err := q.DB().Write(ctx, "claim mails", func(ctx context.Context, tx *base.Tx) error {
		leases = nil
		now := tx.Now()
		claimed, err := base.Collect(ctx, tx, scanMail, `with due as materialized (select id from mails
				where account_id = $1 and due_at <= $2 order by due_at limit $3`+q.DB().Dialect().ForUpdateSkipLocked()+`)
			update mails set lease = lease + 1, leased = 1, attempts = attempts + 1, due_at = $4 where account_id = $1 and id `+q.DB().Dialect().InSubquery(`select id from due`)+`
			returning account_id, id, kind, recipient, user_id, language, secret, count, attempts, created_at, expires_at, lease`,
			q.Account(), base.Micros(now), limit, base.Micros(now.Add(duration)))
		if err != nil {
			return err
		}
		if len(claimed) == 0 {
			return nil
		}
		tenant, err := q.DB().CurrentTenant(ctx, tx, q.Account())
		if err != nil {
			return err
		}
		for _, m := range claimed {
			lease := MailLease{Mail: m, Tenant: tenant}
			end, err := lease.open(ctx, tx)
			if err != nil {
				return err
			}
			if end == nil {
				leases = append(leases, lease)
			} else if err := lease.record(ctx, tx, *end); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err // the claims may have been rolled back
	}
	return leases, nil
}

func scanMail(row base.Row) (Mail, error) {
	var m Mail
	var user []byte
	var created, expires int64
	if err := row.Scan(&m.Account, &m.ID, &m.Kind, &m.To, &user, &m.Language, &m.sealed, &m.Count, &m.Attempts, &created,
		&expires, &m.fencingToken); err != nil {
		return m, err
	}
	m.CreatedAt, m.ExpiresAt = base.Instant(created), base.Instant(expires)
	if user == nil {
		return m, nil
	}
	m.user = new(base.ID)
	return m, m.user.Scan(user)
}

// open adds the name of the company and the secret to a claimed mail, or returns why the mail ends.
func (l *MailLease) open(ctx context.Context, tx *base.Tx) (end *MailResult, err error) {
	if !tx.Now().Before(l.ExpiresAt) {
		return &MailResult{State: MailFailed, Reason: MailExpired}, nil
	}
	account, err := readAccount(ctx, tx, l.Account)
	if err != nil {
		return nil, err
	}
	if l.Company = account.Company; account.Status != base.AccountActive {
		return &MailResult{State: MailEnded, Reason: MailInactive}, nil
	}
	if l.user != nil {
		user, err := readUser(ctx, tx, l.Account, *l.user)
		if err != nil {
			return nil, err
		}
		if user.DisabledAt != nil {
			return &MailResult{State: MailEnded, Reason: MailInactive}, nil
		}
		if user.Email != l.To || user.ProvedAt == nil && !l.Kind.sentToUnproved() {
			return &MailResult{State: MailEnded, Reason: MailReplaced}, nil
		}
	}
	if l.sealed == nil {
		return nil, nil
	}
	l.Secret, err = tx.DB.Sealer().OpenText(l.sealed, MailBinding(l.Account, l.ID, l.To))
	if errors.Is(err, secret.ErrSealed) {
		tx.DB.Sealer().Changed.Add(1)
		tx.DB.Log().ErrorContext(ctx, "a mail is not sent: its secret does not open", "account", l.Account, "mail", l.ID,
			"error", err)
		return &MailResult{State: MailFailed, Reason: MailChanged}, nil
	}
	return nil, err
}

// MailResult is what became of an attempt to send a mail.
type MailResult struct {
	// State is [MailPending] if another attempt follows at DueAt, and otherwise final.
	State MailState
	DueAt time.Time
	// Reason says in a word why the mail was not sent; "" if it was.
	Reason string
}

// Record records an attempt to send the mail. It returns [base.ErrLeaseLost] when the mail was claimed again or ended
// in the meantime.
func (l MailLease) Record(ctx context.Context, result MailResult) error {
	return l.Tenant.Write(ctx, "record mail", func(ctx context.Context, tx *base.Tx) error {
		return l.record(ctx, tx,
			result)
	})
}

func (l *MailLease) record(ctx context.Context, tx *base.Tx, result MailResult) error {
	var due, ended *int64
	if result.State == MailPending {
		due = new(base.Micros(result.DueAt))
		tx.Notify(base.WorkMails) // the workers need to know when it is due
	} else {
		ended = new(base.Micros(tx.Now()))
	}
	changed, err := tx.Exec(ctx,
		`update mails set state = $4, reason = $5, due_at = $6, ended_at = $7, lease = lease + 1, leased = 0,
			secret = case when cast($7 as bigint) is null then secret end
		where account_id = $1 and id = $2 and lease = $3`, l.Account, l.ID, l.fencingToken, result.State, result.Reason, due, ended)
	if err == nil && changed == 0 {
		err = base.ErrLeaseLost
	}
	return err
}

// MailTrouble says how many mails wait for another attempt because of one reason, and since when the oldest of them
// waits.
type MailTrouble struct {
	Reason string
	Count  int64
	Since  time.Time
}

// MailTroubles returns why mails wait for another attempt.
func MailTroubles(ctx context.Context, db *base.DB) ([]MailTrouble, error) {
	found, err := base.Collect(ctx, db.Querier(), func(row base.Row) (m MailTrouble, err error) {
		var since int64
		err = row.Scan(&m.Reason, &m.Count, &since)
		m.Since = base.Instant(since)
		return m, err
	},
		`select reason, count(*), min(created_at) from mails where due_at is not null and reason <> '' group by reason order by reason`)
	return found, db.Classify(err)
}

// MailBacklog returns how many mails are to be sent, and since when the oldest of them waits; the zero time if there is
// none.
func MailBacklog(ctx context.Context, db *base.DB) (pending int64, oldest time.Time, err error) {
	var since int64
	err = db.Querier().QueryRowContext(ctx,
		`select count(*), coalesce(min(created_at), 0) from mails where due_at is not null`).Scan(&pending, &since)
	if since > 0 {
		oldest = base.Instant(since)
	}
	return pending, oldest, db.Classify(err)
}
