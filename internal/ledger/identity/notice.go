package identity

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
)

// NoticeKinds lists the kinds of mails that tell the owners of a company what happened. Each owner can turn them off.
func NoticeKinds() []MailKind { return []MailKind{NoticeRejection, NoticeDeactivated, NoticeFailing} }

// NoticeInterval returns the time between two notices of a kind to the same company: the first is sent at once, and
// what happens in the meantime is told by one notice afterwards.
func NoticeInterval(kind MailKind) time.Duration {
	if kind == NoticeFailing {
		return 24 * time.Hour // a destination that fails for days is no news every hour
	}
	return time.Hour
}

// noticed says that something happened that the owners of an account are told.
type noticed struct {
	account base.ID
	kind    MailKind
}

// Notify counts something that happened in an account, which its owners are told. The counters are written at the
// commit, so that they are locked as late as possible.
func Notify(t *base.Tx, account base.ID, kind MailKind) { t.Defer(noticed{account, kind}) }

// Rank returns [base.RankNotices].
func (noticed) Rank() base.Rank { return base.RankNotices }

// WriteAll counts all that happened.
func (noticed) WriteAll(ctx context.Context, t *base.Tx, all []base.Deferred) error {
	counts := map[noticed]int64{}
	for _, d := range all {
		if n, ok := d.(noticed); ok {
			counts[n]++
		}
	}
	return writeNotices(ctx, t, counts)
}

// writeNotices counts what happened, in the order of the rows, if the installation sends mails.
func writeNotices(ctx context.Context, t *base.Tx, counts map[noticed]int64) error {
	if sends, err := sendsMail(ctx, t); err != nil || !sends {
		return err
	}
	now := base.Micros(t.Now())
	for _, n := range slices.SortedFunc(maps.Keys(counts), func(a, b noticed) int {
		return cmp.Or(slices.Compare(a.account[:], b.account[:]), cmp.Compare(a.kind, b.kind))
	}) {
		if _, err := t.Exec(ctx, `insert into notices (account_id, kind, count, due_at) values ($1, $2, $3, $4)
			on conflict (account_id, kind) do update set count = notices.count + excluded.count,
				due_at = coalesce(notices.due_at, case when notices.told_at > $5 then notices.told_at + $6 else excluded.due_at end)`,
			n.account, n.kind, counts[n], now, now-NoticeInterval(n.kind).Microseconds(),
			NoticeInterval(n.kind).Microseconds()); err != nil {
			return err
		}
	}
	t.Notify(base.WorkMails)
	return nil
}

// noticesPerStep is how many notices one transaction turns into mails.
const noticesPerStep = 16

// TellOwners turns notices that are due into mails to the owners of their companies who want them. It returns how many
// notices it has handled; there may be more if it is not 0.
func TellOwners(ctx context.Context, db *base.DB) (handled int, err error) {
	var due int64
	if err := db.Querier().QueryRowContext(ctx,
		`select count(*) from (select 1 as one from notices where due_at <= $1 limit 1) d`,
		base.Micros(db.Now())).Scan(&due); err != nil || due == 0 {
		return 0, db.Classify(err)
	}
	err = db.Write(ctx, "tell owners", func(ctx context.Context, t *base.Tx) error {
		handled = 0
		now := base.Micros(t.Now())
		type row struct {
			noticed
			count int64
		}
		found, err := base.Collect(ctx, t, func(s base.Row) (r row, err error) {
			return r, s.Scan(&r.account, &r.kind,
				&r.count)
		}, `select account_id, kind, count from notices where due_at <= $1 order by due_at limit $2`+
			db.Dialect().ForUpdateSkipLocked(), now, noticesPerStep)
		if err != nil {
			return err
		}
		for _, n := range found {
			if err := tellOwners(ctx, t, n.account, n.kind, n.count); err != nil {
				return err
			}
			if _, err := t.Exec(ctx,
				`update notices set count = 0, due_at = null, told_at = $3 where account_id = $1 and kind = $2`, n.account, n.kind,
				now); err != nil {
				return err
			}
		}
		handled = len(found)
		return nil
	})
	return handled, err
}

// tellOwners causes a mail to each active owner of an active account who has not turned the kind off.
func tellOwners(ctx context.Context, t *base.Tx, account base.ID, kind MailKind, count int64) error {
	type owner struct {
		id         base.ID
		email, off string
	}
	owners, err := base.Collect(ctx, t, func(row base.Row) (o owner, err error) {
		return o, row.Scan(&o.id, &o.email,
			&o.off)
	},
		`select u.id, u.email, coalesce((select s.notices_off from mail_settings s where s.account_id = u.account_id and s.user_id = u.id), '')
			from users u join accounts a on a.id = u.account_id
			where u.account_id = $1 and u.role = $2 and u.disabled_at is null and a.status = $3 order by u.created_at, u.id`, account, access.Owner, base.AccountActive)
	if err != nil {
		return err
	}
	for _, o := range owners {
		if slices.Contains(splitMailKinds(o.off), kind) {
			continue
		}
		if _, err := enqueueMail(ctx, t, NewMail{Kind: kind, Account: account, To: o.email, User: &o.id,
			Count: count}); err != nil {
			return err
		}
	}
	return nil
}

// MailSettings are what a user has chosen about mails.
type MailSettings struct {
	// Language is the tag (BCP 47) of the language of the user's mails; "" if none was chosen.
	Language string
	// Off are the kinds of notices that the user does not want.
	Off []MailKind
}

// ReadMailSettings returns what a user of the company has chosen.
func ReadMailSettings(ctx context.Context, t *base.Tenant, user base.ID) (MailSettings, error) {
	return base.ReadValue(t, func(q base.Querier) (MailSettings, error) { return mailSettings(ctx, q, t.Account(), user) })
}

// mailSettings returns what a user has chosen, or [database/sql.ErrNoRows] if the account has no such user.
func mailSettings(ctx context.Context, q base.Querier, account, user base.ID) (MailSettings, error) {
	var s MailSettings
	var off string
	err := q.QueryRowContext(ctx, `select coalesce(s.language, ''), coalesce(s.notices_off, '') from users u
		left join mail_settings s on s.account_id = u.account_id and s.user_id = u.id where u.account_id = $1 and u.id = $2`, account, user).Scan(&s.Language, &off)
	s.Off = splitMailKinds(off)
	return s, err
}

// mailLanguage returns the language that a user has chosen; "" for none.
func mailLanguage(ctx context.Context, t *base.Tx, account, user base.ID) (string, error) {
	s, err := mailSettings(ctx, t, account, user)
	return s.Language, err
}

// SetMailSettings stores what the user of a session has chosen. It returns [ErrSessionEnded].
func SetMailSettings(ctx context.Context, t *base.Tenant, by base.Session, wanted MailSettings) error {
	return t.Write(ctx, "set mail settings", func(ctx context.Context, tx *base.Tx) error {
		user, err := liveUser(ctx, tx, t.Account(), by)
		if err != nil {
			return err
		}
		before, err := mailSettings(ctx, tx, t.Account(), user.ID)
		if err != nil || before.Language == wanted.Language && slices.Equal(before.Off, wanted.Off) {
			return err
		}
		if _, err := tx.Exec(ctx,
			`insert into mail_settings (account_id, user_id, language, notices_off) values ($1, $2, $3, $4)
			on conflict (account_id, user_id) do update set language = excluded.language, notices_off = excluded.notices_off`,
			t.Account(), user.ID, wanted.Language, joinMailKinds(wanted.Off)); err != nil {
			return err
		}
		act := base.UserAct("user.set-notices", t.Account(), user.ID, user.Email)
		act.Details["language"], act.Details["off"] = wanted.Language, joinMailKinds(wanted.Off)
		return tx.Audit(act)
	})
}

func joinMailKinds(kinds []MailKind) string {
	texts := make([]string, len(kinds))
	for n, kind := range kinds {
		texts[n] = string(kind)
	}
	return strings.Join(texts, ",")
}

func splitMailKinds(text string) (kinds []MailKind) {
	for kind := range strings.SplitSeq(text, ",") {
		if kind != "" {
			kinds = append(kinds, MailKind(kind))
		}
	}
	return kinds
}
