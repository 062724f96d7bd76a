package store

import (
	"context"
	"errors"
	"time"

	"quittance/internal/secret"
)

// DueMailQueues makes one step of a scan for companies with mails that are due, in the same way as
// [DB.DueDeliveryQueues]. A company has one queue.
func (db *DB) DueMailQueues(ctx context.Context, from ScanCursor) (DueScan, error) {
	return db.scanQueues(ctx, func(row scanner) (queueRow, error) {
		r := queueRow{Queue: Queue{db: db}}
		err := row.Scan(&r.account, &r.due)
		r.id, r.cursor.company = r.account, r.account
		return r, err
	}, `with recursive company(id, n) as (
			select (select account_id from mails where due_at is not null and account_id > $1 order by account_id limit 1), 1
			union all
			select (select m.account_id from mails m where m.due_at is not null and m.account_id > company.id order by m.account_id limit 1), n + 1
				from company where company.id is not null and n < $2
		)
		select id, (select m.due_at from mails m where m.due_at is not null and m.account_id = company.id order by m.due_at limit 1)
			from company where id is not null`, from.company[:], maxCompaniesPerScan)
}

// Mail is a mail on its way.
type Mail struct {
	Account, ID ID
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

	user         *ID
	sealed       []byte
	fencingToken int64
}

// MailLease is the exclusive right to send a mail, until the lease expires.
type MailLease struct {
	Mail
	// Tenant is the company that has caused the mail.
	Tenant *Tenant
}

// ClaimMails claims up to limit due mails of a company for the duration. Those that must not be sent any more end.
func (q Queue) ClaimMails(ctx context.Context, limit int, duration time.Duration) ([]MailLease, error) {
	if q.db == nil || q.account.IsZero() {
		return nil, ErrNoTenant
	}
	var leases []MailLease
	err := q.db.write(ctx, "claim mails", func(ctx context.Context, tx *tx) error {
		leases = nil
		now := tx.Now()
		claimed, err := collect(ctx, tx, scanMail, `with due as materialized (select id from mails
				where account_id = $1 and due_at <= $2 order by due_at limit $3`+q.db.dialect.ForUpdateSkipLocked()+`)
			update mails set lease = lease + 1, leased = 1, attempts = attempts + 1, due_at = $4 where account_id = $1 and id `+q.db.dialect.InSubquery(`select id from due`)+`
			returning account_id, id, kind, recipient, user_id, language, secret, count, attempts, created_at, expires_at, lease`,
			q.account, micros(now), limit, micros(now.Add(duration)))
		if err != nil {
			return err
		}
		if len(claimed) == 0 {
			return nil
		}
		tenant, err := q.db.currentTenant(ctx, tx, q.account)
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

func scanMail(row scanner) (Mail, error) {
	var m Mail
	var user []byte
	var created, expires int64
	if err := row.Scan(&m.Account, &m.ID, &m.Kind, &m.To, &user, &m.Language, &m.sealed, &m.Count, &m.Attempts, &created,
		&expires, &m.fencingToken); err != nil {
		return m, err
	}
	m.CreatedAt, m.ExpiresAt = instant(created), instant(expires)
	if user == nil {
		return m, nil
	}
	m.user = new(ID)
	return m, m.user.Scan(user)
}

// open adds the name of the company and the secret to a claimed mail, or returns why the mail ends.
func (l *MailLease) open(ctx context.Context, tx *tx) (end *MailResult, err error) {
	if !tx.Now().Before(l.ExpiresAt) {
		return &MailResult{State: MailFailed, Reason: MailExpired}, nil
	}
	account, err := tx.readAccount(ctx, l.Account)
	if err != nil {
		return nil, err
	}
	if l.Company = account.Company; account.Status != AccountActive {
		return &MailResult{State: MailEnded, Reason: MailInactive}, nil
	}
	if l.user != nil {
		user, err := tx.readUser(ctx, l.Account, *l.user)
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
	l.Secret, err = tx.db.keys.OpenText(l.sealed, mailBinding(l.Account, l.ID, l.To))
	if errors.Is(err, secret.ErrSealed) {
		tx.db.keys.changed.Add(1)
		tx.db.log.ErrorContext(ctx, "a mail is not sent: its secret does not open", "account", l.Account, "mail", l.ID,
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

// Record records an attempt to send the mail. It returns [ErrLeaseLost] when the mail was claimed again or ended in the
// meantime.
func (l MailLease) Record(ctx context.Context, result MailResult) error {
	return l.Tenant.write(ctx, "record mail", func(ctx context.Context, tx *tx) error { return l.record(ctx, tx, result) })
}

func (l *MailLease) record(ctx context.Context, tx *tx, result MailResult) error {
	var due, ended *int64
	if result.State == MailPending {
		due = new(micros(result.DueAt))
		tx.notify(WorkMails) // the workers need to know when it is due
	} else {
		ended = new(micros(tx.Now()))
	}
	changed, err := tx.Exec(ctx,
		`update mails set state = $4, reason = $5, due_at = $6, ended_at = $7, lease = lease + 1, leased = 0,
			secret = case when cast($7 as bigint) is null then secret end
		where account_id = $1 and id = $2 and lease = $3`, l.Account, l.ID, l.fencingToken, result.State, result.Reason, due, ended)
	if err == nil && changed == 0 {
		err = ErrLeaseLost
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
func (db *DB) MailTroubles(ctx context.Context) ([]MailTrouble, error) {
	found, err := collect(ctx, db.reader, func(row scanner) (m MailTrouble, err error) {
		var since int64
		err = row.Scan(&m.Reason, &m.Count, &since)
		m.Since = instant(since)
		return m, err
	},
		`select reason, count(*), min(created_at) from mails where due_at is not null and reason <> '' group by reason order by reason`)
	return found, db.classify(err)
}

// MailBacklog returns how many mails are to be sent, and since when the oldest of them waits; the zero time if there is
// none.
func (db *DB) MailBacklog(ctx context.Context) (pending int64, oldest time.Time, err error) {
	var since int64
	err = db.reader.QueryRowContext(ctx,
		`select count(*), coalesce(min(created_at), 0) from mails where due_at is not null`).Scan(&pending, &since)
	if since > 0 {
		oldest = instant(since)
	}
	return pending, oldest, db.classify(err)
}
