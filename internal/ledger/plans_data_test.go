package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// The sizes of a database in which plans are examined: planCompanies companies have the rows of the first one, and
// planLargeCompanies of them and the first one have each of these rows planCopies times.
const (
	planCompanies      = 1_500
	planLargeCompanies = 5
	planCopies         = 500
)

// fillForPlans gives the fixture's company rows of every kind, copies them, and adds some that are old enough to be
// removed. On PostgreSQL it then counts the rows, as autovacuum does, because the planner chooses by these numbers.
func fillForPlans(t *testing.T, f *fixture.Fixture) planRows {
	t.Helper()
	rows := fillOnce(t, f)
	copyRows(t, f, false, planCompanies, `true`)
	copyRows(t, f, true, planCopies,
		fmt.Sprintf(`r.tenant_id in (select id from tenants order by id limit %d) or r.tenant_id = $1`, planLargeCompanies),
		f.Tenant.ID())
	_, err := f.Raw.ExecContext(t.Context(), numbers(10_000)+
		` insert into book_entries (tenant_id, id, kind, name, terms, fields, version, created_at, updated_at)
		select r.tenant_id, `+numbered(f, "r.id", 1, "n.i")+`, r.kind, 'customer ' || n.i, r.terms, r.fields, 1, 0, 0 from n, book_entries r where r.id = $1 and r.tenant_id = $2`, rows.customer, f.Tenant.ID())
	kit.Must(t, err)
	for _, statement := range []string{
		numbers(20_000) + ` insert into limits (key, window_end, used) select ` + numbered(f, "t.id", 13, "n.i") +
			fmt.Sprintf(`, n.i * 3600000000 + %d, 1 from n, (select id from tenants order by id limit 1) t`,
				f.Clock.Now().UnixMicro()),
		numbers(20_000) + ` insert into password_reset_requests (email, language, source, request_id, requested_at)
			select 'stranger-' || n.i, 'en', '', '', n.i + ` + fmt.Sprint(f.Clock.Now().Add(24*time.Hour).UnixMicro()) + ` from n`,
		numbers(200) +
			` insert into audit (chain, ordinal, id, at, actor_kind, actor, means, source, request_id, act, account_id, subject_type, subject, reason, details, previous, digest)
			select a.id, 1000 + n.i, ` + numbered(f, "a.id", 1, "n.i") + fmt.Sprintf(`, n.i * 1000000 + %d, 'user', 'ann@example.com', 'API', '', '', 'draft.create', a.id, 'invoice', n.i || '', '', '{}', t.digest, t.digest
			from n, (select id from accounts order by id limit 100) a, (select digest from tokens order by created_at limit 1) t`, f.Clock.Now().UnixMicro()),
		`update tenants set invoices = (select max(position) from invoices where tenant_id = tenants.id), events = (select max(position) from events where tenant_id = tenants.id),
			credit_notes = (select max(position) from credit_notes where tenant_id = tenants.id), incoming = (select max(position) from incoming where tenant_id = tenants.id)`,
	} {
		_, err := f.Raw.ExecContext(t.Context(), statement)
		kit.Must(t, err)
	}
	f.Clock.Advance(-30 * 24 * time.Hour)
	f.Tell(t, 1)
	f.Clock.Advance(30*24*time.Hour + time.Hour)
	for _, statement := range []string{
		`update deliveries set state = 'delivered', due_at = null where created_at < $1`,
		`insert into attempts (tenant_id, delivery_id, ordinal, started_at, duration, http_status, error_class, answer)
			select tenant_id, id, 1, created_at, 0, 200, '', '' from deliveries where created_at < $1`,
	} {
		_, err := f.Raw.ExecContext(t.Context(), statement, f.Clock.Now().AddDate(0, 0, -1).UnixMicro())
		kit.Must(t, err)
	}
	// Nearly every connection has been synced before.
	_, err = f.Raw.ExecContext(t.Context(), `update purchase_syncs set synced_at = due_at where connection_id <> $1`,
		f.Connection.ID)
	kit.Must(t, err)
	if f.Engine() == ledgertest.Postgres {
		vacuum(t, f)
	}
	return rows
}

// vacuum counts the rows of PostgreSQL's tables and marks their pages as visible to all: the planner's choice between
// two indexes depends on both. An older transaction or a checkpoint can prevent the marks for a while.
func vacuum(t *testing.T, f *fixture.Fixture) {
	t.Helper()
	kit.Eventually(t, func() error {
		_, err := f.Raw.ExecContext(t.Context(), "vacuum (freeze, analyze)")
		kit.Must(t, err)
		var unmarked int // the last pages of a table may be empty, without a mark
		kit.Must(t, f.Raw.QueryRowContext(t.Context(),
			`select count(*) from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace and relallvisible + 20 < relpages`).Scan(&unmarked))
		if unmarked > 0 {
			return fmt.Errorf("PostgreSQL does not mark the pages of %d tables as visible to all", unmarked)
		}
		return nil
	})
}

// planRecovery is the digest of a recovery code of the fixture's user.
var planRecovery = [32]byte{7}

// planRows are rows of the fixture's company.
type planRows struct {
	invoice, submission, subscription, delivery, event, incoming base.ID
	// note is a credit note of the acknowledged invoice credited.
	note, credited base.ID
	// key is an API key with its digest, newKey one to create.
	key       base.ID
	keyDigest [32]byte
	newKey    identity.NewAPIKey
	// customer and item are entries of the book.
	customer, item base.ID
	invitation     base.ID
	// created is an invoice that an examined operation creates.
	created base.ID
}

// fillOnce gives the fixture's company rows of every kind.
func fillOnce(t *testing.T, f *fixture.Fixture) planRows {
	t.Helper()
	_, err := invoices.StoreUpload(t.Context(), f.Tenant, invoices.Upload{Name: "a.csv", Body: []byte("a")}, f.User.ID,
		365*24*time.Hour)
	kit.Must(t, err)
	ctx := t.Context()
	_, err = identity.CreateToken(ctx, f.DB, f.User, identity.NewToken{Digest: [32]byte{1},
		ExpiresAt: f.Clock.Now().AddDate(1, 0, 0)})
	kit.Must(t, err)
	kit.Must(t, identity.BeginLogin(ctx, f.DB, identity.PendingLogin{Digest: [32]byte{0xd0}, User: f.User,
		Means: identity.LoginByPassword}, f.Clock.Now().Add(2*time.Hour)))
	by := base.Session{User: f.User.ID, Digest: [32]byte{1}}
	kit.Must(t, f.AddPasskey(t, by, 1, nil, planRecovery))
	f.Clock.Advance(2 * time.Hour) // the challenge has not expired when the plans are examined
	kit.Must(t, identity.BeginPasskey(ctx, f.Tenant, by, f.Challenge(2, identity.ChallengeConfirmation)))
	f.Clock.Advance(-2 * time.Hour)
	_, _, err = invoices.Idempotent(ctx, f.Tenant, "key", [32]byte{}, 24*time.Hour,
		func(context.Context, *base.Tenant) (invoices.IdempotentResponse, error) {
			return invoices.IdempotentResponse{Status: 201, Body: []byte("{}")}, nil
		})
	kit.Must(t, err)
	f.FillMails(t, f, 0)
	kit.Must(t, identity.RecordMailer(ctx, f.DB, true))
	f.FillReset(t, f, f.Clock.Now().Add(2*time.Hour))
	s := f.Subscribe(t, api.EventKinds[:]...)
	key := fixture.NewKey(t, "plan")
	rows := planRows{subscription: s.ID, key: f.CreateKey(t, f, key).ID, keyDigest: secret.Digest(key.Key),
		newKey: fixture.NewKey(t, "created")}
	rows.customer, rows.item = f.FillBook(t)
	rows.invitation = f.Invite(t, 9, "invited@example.com", access.Viewer).ID
	f.Credit(t, f.Create(t, "INV-CREDIT").ID, fixture.ByQuantity(0, "1"))
	_ = f.Submit(t, "INV-"+string(api.OutcomeInProgress))
	for _, outcome := range []api.Outcome{api.OutcomeAcknowledged, api.OutcomeRejected, api.OutcomeUnknown} {
		call := f.Submit(t, "INV-"+string(outcome))
		rows.submission, rows.invoice = call.Submission.ID, call.Submission.Invoice
		fixture.Decide(t, call, func(s invoices.Submission, now time.Time) invoices.Decision {
			d := fixture.Reported(s, now, fixture.AllFour("accepted", false), api.EventSubmissionUpdated, api.EventStatusChanged)
			d.Outcome = outcome
			return d
		})
	}
	states := []api.DeliveryState{api.DeliveryDelivered, api.DeliveryFailed, api.DeliveryBlocked}
	for n, d := range f.ClaimDeliveries(t, s.ID, len(states)) {
		rows.delivery, rows.event = d.ID, d.Event
		kit.Must(t, d.RecordAttempt(ctx, fixture.Attempt(f, 200), events.DeliveryUpdate{State: states[n]}))
	}
	_, err = invoices.ConfirmCreditNotes(ctx, f.DB, f.Connection.ID, "C-1", "M-1")
	kit.Must(t, err)
	acknowledged := f.Submit(t, "INV-CREDITED")
	fixture.Decide(t, acknowledged, func(s invoices.Submission, now time.Time) invoices.Decision {
		d := fixture.Reported(s, now, fixture.AllFour("accepted", false))
		d.Outcome = api.OutcomeAcknowledged
		return d
	})
	rows.credited = acknowledged.Submission.Invoice
	rows.note = f.Credit(t, rows.credited, fixture.ByQuantity(0, "1")).ID
	_, _, err = invoices.BeginCreditNoteSubmission(ctx, f.Tenant, rows.note, fixture.Intent())
	kit.Must(t, err)
	claim, _ := f.ClaimPurchases(t, f.Company)
	fixture.Retain(t, claim, incoming.SyncStep{Cursor: "c-1", After: time.Minute, Event: "e-0"}, fixture.Incoming("a",
		"A"), fixture.Incoming("b", "B"))
	known, err := view.Of(f.Tenant).IncomingInvoices(ctx, view.IncomingFilter{}, 1, 1)
	kit.Must(t, err)
	rows.incoming = known.Entries[0].ID
	return rows
}

// The columns with identifiers, which differ between copies: of a company and what there is a few times in it, and of
// the rows of which it has many.
var (
	companyIDs = []string{"account_id", "tenant_id", "user_id", "invited_by", "connection_id", "subscription_id"}
	rowIDs     = []string{"id", "digest", "invoice_id", "submission_id", "evidence_id", "event_id", "delivery_id",
		"resource_id", "incoming_id", "credit_note_id"}
)

// copyRows copies the rows of all companies: within the companies, only those of which a company has many, or else to
// new companies. condition selects rows r.
func copyRows(t *testing.T, f *fixture.Fixture, within bool, copies int, condition string, args ...any) {
	t.Helper()
	for _, tab := range fixture.Tables(t) {
		few := slices.Contains([]string{"accounts", "tenants", "users", "connections", "subscriptions", "purchase_syncs",
			"provider_events", "invitations", "tokens", "api_keys", "uploads", "sign_on_subjects", "second_factors",
			"recovery_codes", "pending_logins", "password_resets", "address_proofs", "passkeys", "passkey_challenges", "mails",
			"notices", "mail_settings", "resealed", "invoice_deletions", "invoice_counters"}, tab.Name)
		if column, _ := tab.Scope(f.Company); column == "" || tab.Name == "audit" || within &&
			(few || tab.Name == "audit_heads") {
			continue
		}
		values := make([]string, len(tab.Columns))
		for n, column := range tab.Columns {
			// a digest of evidence, and not the key of the row
			chain := !slices.Contains([]string{"tokens", "api_keys", "invitations", "recovery_codes", "pending_logins",
				"password_resets", "address_proofs", "passkey_challenges"}, tab.Name) && column == "digest"
			switch isRow := slices.Contains(rowIDs, column) && !chain; {
			case within && isRow: // n seconds older
				values[n] = numbered(f, "r."+column, 3, fmt.Sprintf("%d - n.i * 1000", uint32(f.Clock.Now().UnixMilli())))
			case !within && (isRow || slices.Contains(companyIDs, column)):
				values[n] = numbered(f, "r."+column, 13, "n.i")
			case !within && column == "due_at":
				values[n] = "r.due_at + n.i"
			case within && column == "position":
				values[n] = `r.position + n.i * 100`
			case slices.Contains([]string{"number", "key", "provider_document_id", "provider_event_id", "email"}, column):
				values[n] = "r." + column + " || '-' || n.i"
			default:
				values[n] = "r." + column
			}
			if column == "credit_note_id" { // null in the submission of an invoice
				values[n] = "case when r." + column + " is not null then " + values[n] + " end"
			}
		}
		_, err := f.Raw.ExecContext(t.Context(), numbers(copies)+` insert into `+tab.Name+` (`+strings.Join(tab.Columns,
			", ")+`) select `+strings.Join(values, ", ")+
			` from n, `+tab.Name+` r where `+condition, args...)
		if err != nil {
			t.Fatalf("%s: %v", tab.Name, err)
		}
	}
}

// numbered returns SQL for a column of bytes whose four bytes from the position at, counted from 1, are replaced by a
// number.
func numbered(f *fixture.Fixture, column string, at int, number string) string {
	if f.Engine() == ledgertest.Postgres {
		return fmt.Sprintf(`overlay(%s placing substring(int8send(%s) from 5) from %d)`, column, number, at)
	}
	return fmt.Sprintf(`unhex(substr(hex(%s), 1, %d) || printf('%%08X', %s) || substr(hex(%s), %d))`, column, 2*at-2,
		number, column, 2*at+7)
}

// numbers returns the beginning of a statement with a table n of the numbers i from 1 to most.
func numbers(most int) string {
	return fmt.Sprintf(`with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)`, most)
}
