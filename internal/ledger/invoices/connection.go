package invoices

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
)

// The states of a provider connection.
const (
	ConnectionPending  = "pending"
	ConnectionActive   = "active"
	ConnectionDisabled = "disabled"
)

// Connection is an account's connection to a provider.
type Connection struct {
	Account     base.ID
	ID          base.ID
	Kind        string // the adapter: see [provider.Description]
	Environment string // sandbox or production
	BaseURL     string
	// Format is the document format that the connection submits invoices in; "" if it has none.
	Format string
	// Options are the values of the adapter's own options, by name.
	Options map[string]string
	State   string
	// Fingerprint distinguishes credentials and may be shown.
	Fingerprint string
	CreatedAt   time.Time
	UpdatedAt   time.Time
	// Approval allows a production connection to submit; nil until it is recorded.
	Approval *Approval
	// CreditNotes allows the connection to submit credit notes; nil until it is recorded.
	CreditNotes *CreditNoteConfirmation
	// Failures counts the consecutive calls about submissions without a usable response. FailingSince is when the first of
	// them ended, and FailureReason describes the last one for people. They are 0, nil and "" without failures.
	Failures      int
	FailingSince  *time.Time
	FailureReason string
	// RetryAt is set while the circuit breaker of the connection is open: no open submission is queried before it.
	RetryAt *time.Time

	Sealed []byte
}

// Approval records that a production connection may submit: who approved it, when, and for which contract and releases.
type Approval struct {
	At       time.Time
	By       string
	Contract string
	// Release names the releases that it covers, separated by spaces: two of them during an upgrade.
	Release string
}

// CreditNoteConfirmation records that the provider's contract covers credit notes and that their mapping was confirmed
// in its sandbox.
type CreditNoteConfirmation struct {
	At                time.Time
	Contract, Mapping string
}

// Allowed reports whether a service in an environment may use the connection for regulated documents. A connection
// cannot become a production connection by a change of URL or environment: it must be created as one and approved.
func (c *Connection) Allowed(environment, release string) bool {
	production := environment == "production"
	return production == (c.Environment == "production") && (!production || c.Approval.Covers(release))
}

// Covers reports whether an approval, which may be nil, names a release.
func (a *Approval) Covers(release string) bool {
	return a != nil && slices.Contains(strings.Fields(a.Release), release)
}

// NewConnection holds the values of a new connection.
type NewConnection struct {
	Kind, Environment, BaseURL, Format string
	Options                            map[string]string
	Credential                         secret.Text
}

// CredentialBinding is where the credential of a connection stands.
func CredentialBinding(account, id base.ID) secret.Binding {
	return secret.Binding{Tenant: account[:], Table: "connections", Column: "credential", Row: id[:]}
}

// Bound returns what the credential is bound to: the columns that say where and in which format documents are sent, and
// whether that is allowed. If somebody changes one of them in the database, the credential does not open.
func (c *Connection) Bound() []string {
	out := []string{c.Kind, c.Environment, c.BaseURL, c.State, c.Fingerprint}
	// A connection without a format and options is bound as it was before there were any.
	if c.Format != "" || len(c.Options) > 0 {
		out = append(out, "format", c.Format, optionsText(c.Options))
	}
	if a := c.Approval; a != nil {
		out = append(out, strconv.FormatInt(base.Micros(a.At), 10), a.By, a.Contract, a.Release)
	}
	if n := c.CreditNotes; n != nil {
		out = append(out, "credit notes", strconv.FormatInt(base.Micros(n.At), 10), n.Contract, n.Mapping)
	}
	return out
}

// optionsText returns options as they are stored: a JSON object with its keys in order, "" if there are none.
func optionsText(options map[string]string) string {
	if len(options) == 0 {
		return ""
	}
	text, err := json.Marshal(options)
	if err != nil {
		panic(err) // a map of texts
	}
	return string(text)
}

// nullIfEmpty returns a text for a column in which an absent one is null.
func nullIfEmpty(text string) sql.Null[string] { return sql.Null[string]{V: text, Valid: text != ""} }

// ErrSimulator says that a connection to the transport simulator was requested on a database that is not served in the
// environment local.
var ErrSimulator = problem.Setting("the transport simulator exists only in the environment local")

// RefuseSimulator returns [ErrSimulator] if a simulator is an active connection. The database may have an older schema
// or none.
func RefuseSimulator(ctx context.Context, db *base.DB) error {
	if found, err := db.SQL().HasTable(ctx, "connections"); err != nil || !found {
		return err
	}
	var id base.ID
	err := db.Querier().QueryRowContext(ctx,
		`select id from connections where state = 'active' and kind = 'simulator' limit 1`).Scan(&id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return db.Classify(err)
	default:
		return fmt.Errorf("connection %s: %w: disable it first", id, ErrSimulator)
	}
}

// checkSimulatorAllowed returns [ErrSimulator] for a simulator outside of the environment local. A database that was
// never served allows it.
func checkSimulatorAllowed(ctx context.Context, t *base.Tx, kind string) error {
	if kind != "simulator" {
		return nil
	}
	var elsewhere int
	if err := t.QueryRowContext(ctx,
		`select count(*) from settings where key = 'environment' and value <> 'local'`).Scan(&elsewhere); err != nil {
		return err
	}
	if elsewhere > 0 {
		return ErrSimulator
	}
	return nil
}

// AddConnection stores a pending connection of account and seals its credential.
func AddConnection(ctx context.Context, db *base.DB, account base.ID, add NewConnection) (Connection, error) {
	var connection Connection
	err := db.Write(ctx, "add connection", func(ctx context.Context, t *base.Tx) error {
		if _, err := t.LockAccount(ctx, account); err != nil {
			return err
		}
		if err := checkSimulatorAllowed(ctx, t, add.Kind); err != nil {
			return err
		}
		id, err := base.NewID(t.Now(), db.Random())
		if err != nil {
			return err
		}
		connection = Connection{Account: account, ID: id, Kind: add.Kind, Environment: add.Environment, BaseURL: add.BaseURL,
			Format: add.Format, Options: add.Options, State: ConnectionPending, Fingerprint: secret.Fingerprint(add.Credential),
			CreatedAt: t.Now(), UpdatedAt: t.Now()}
		if connection.Sealed, err = db.Sealer().SealBound(add.Credential, CredentialBinding(account, id),
			connection.Bound()); err != nil {
			return err
		}
		statement, args := base.Insert("connections", connectionRow{Account: account, ID: id, Kind: add.Kind,
			Environment: add.Environment, BaseURL: add.BaseURL, State: ConnectionPending, Credential: connection.Sealed,
			Fingerprint: connection.Fingerprint, CreatedAt: base.Micros(connection.CreatedAt),
			UpdatedAt: base.Micros(connection.CreatedAt), Format: nullIfEmpty(add.Format),
			Options: nullIfEmpty(optionsText(add.Options))})
		_, err = t.Exec(ctx, statement, args...)
		if err != nil {
			return err
		}
		details := map[string]string{"kind": add.Kind, "environment": add.Environment, "base_url": add.BaseURL,
			"fingerprint": connection.Fingerprint}
		if add.Format != "" {
			details["profile"] = add.Format
		}
		for name, value := range add.Options {
			details["option_"+name] = value
		}
		return t.Audit(connectionAct("connection.add", connection, details))
	})
	return connection, err
}

func connectionAct(name string, c Connection, details map[string]string) base.Act {
	return base.Act{Name: name, Account: c.Account, SubjectType: "connection", Subject: c.ID.String(), Details: details}
}

// ConnectionColumns are what [ScanConnection] reads.
const ConnectionColumns = `account_id, id, kind, environment, base_url, state, credential, fingerprint, created_at, updated_at,
	approved_at, approved_by, approved_contract, approved_release, failures, failing_since, trouble, retry_at, format, options,
	credit_notes_at, credit_notes_contract, credit_notes_mapping`

// ScanConnection reads a connection.
func ScanConnection(row base.Row) (Connection, error) {
	var c Connection
	var created, updated int64
	var approvedAt, since, retry, confirmedAt sql.Null[int64]
	var by, contract, release, trouble, format, options, notesContract, notesMapping sql.Null[string]
	if err := row.Scan(&c.Account, &c.ID, &c.Kind, &c.Environment, &c.BaseURL, &c.State, &c.Sealed, &c.Fingerprint,
		&created, &updated, &approvedAt, &by, &contract, &release, &c.Failures, &since, &trouble, &retry, &format, &options,
		&confirmedAt, &notesContract, &notesMapping); err != nil {
		return Connection{}, err
	}
	var err error
	if c.Options, err = base.ReadOptions(options); err != nil {
		return Connection{}, fmt.Errorf("%s: %w", c.ID, err)
	}
	c.Format = format.V
	c.CreatedAt, c.UpdatedAt = base.Instant(created), base.Instant(updated)
	c.FailingSince, c.FailureReason, c.RetryAt = base.InstantOrNil(since), trouble.V, base.InstantOrNil(retry)
	if approvedAt.Valid {
		c.Approval = &Approval{At: base.Instant(approvedAt.V), By: by.V, Contract: contract.V, Release: release.V}
	}
	if confirmedAt.Valid {
		c.CreditNotes = &CreditNoteConfirmation{At: base.Instant(confirmedAt.V), Contract: notesContract.V,
			Mapping: notesMapping.V}
	}
	return c, nil
}

// Credential opens the connection's sealed credential. It returns [base.ErrChangedRow] if the kind, environment, URL,
// state, fingerprint, approval or confirmation of credit notes in the row is not what this program recorded.
func Credential(db *base.DB, c Connection) (secret.Text, error) {
	return db.Sealer().OpenBound(c.Sealed, CredentialBinding(c.Account, c.ID), c.Bound())
}

// FindConnection returns one connection.
func FindConnection(ctx context.Context, db *base.DB, id base.ID) (Connection, error) {
	c, err := ScanConnection(db.Querier().QueryRowContext(ctx,
		`select `+ConnectionColumns+` from connections where id = $1`, id))
	return c, db.Classify(err)
}

// UsableConnection returns the active connection of the tenant's account. It returns [ErrConnectionRequired] if there
// is none, and [ErrNotApproved] if a service in this environment and of this release may not use it.
func UsableConnection(ctx context.Context, t *base.Tenant, environment, release string) (c Connection, err error) {
	err = t.Read(func(q base.Querier) error {
		c, err = usableConnection(ctx, t, q, environment, release)
		return err
	})
	return c, err
}

// usableConnection returns the active connection of the tenant's account. It returns [ErrConnectionRequired] if there
// is none, and the connection with [ErrNotApproved] if it may not submit in this environment and release.
func usableConnection(ctx context.Context, t *base.Tenant, q base.Querier, environment,
	release string) (Connection, error) {
	c, err := ScanConnection(q.QueryRowContext(ctx,
		`select `+ConnectionColumns+` from connections where account_id = $1 and state = 'active'`, t.Account()))
	if errors.Is(err, sql.ErrNoRows) {
		return Connection{}, ErrConnectionRequired
	}
	if err != nil {
		return Connection{}, err
	}
	if !c.Allowed(environment, release) {
		return c, fmt.Errorf("%w: connection %s of environment %s, for release %s", ErrNotApproved, c.ID, c.Environment,
			release)
	}
	return c, nil
}

// Connections returns all connections, oldest first, or only those of account if it is not nil.
func Connections(ctx context.Context, db *base.DB, account *base.ID) ([]Connection, error) {
	if account == nil {
		all, err := base.Collect(ctx, db.Querier(), ScanConnection,
			`select `+ConnectionColumns+` from connections order by created_at, id`)
		return all, db.Classify(err)
	}
	own, err := base.Collect(ctx, db.Querier(), ScanConnection,
		`select `+ConnectionColumns+` from connections where account_id = $1 order by created_at, id`, *account)
	return own, db.Classify(err)
}

// changeConnection locks a connection, calls change to modify it, and seals its credential again, bound to the new
// values. change may also replace the credential. The audit log gets an entry with the name act and the details that
// change returns.
func changeConnection(ctx context.Context, db *base.DB, id base.ID, act string,
	change func(c *Connection, credential *secret.Text) (map[string]string, error)) (Connection, error) {
	var c Connection
	err := db.Write(ctx, "change connection", func(ctx context.Context, t *base.Tx) error {
		var err error
		if c, err = ScanConnection(t.QueryRowContext(ctx,
			`select `+ConnectionColumns+` from connections where id = $1`+db.Dialect().ForUpdate(), id)); err != nil {
			return err
		}
		credential, broken := Credential(db, c)
		details, err := change(&c, &credential)
		if err != nil {
			return err
		}
		if c.State == ConnectionActive {
			if err := checkSimulatorAllowed(ctx, t, c.Kind); err != nil {
				return err
			}
		}
		c.UpdatedAt = t.Now()
		if c.Approval != nil && c.Approval.At.IsZero() {
			c.Approval.At = c.UpdatedAt
		}
		if c.CreditNotes != nil && c.CreditNotes.At.IsZero() {
			c.CreditNotes.At = c.UpdatedAt
		}
		switch {
		case broken == nil:
			if c.Sealed, err = db.Sealer().SealBound(credential, CredentialBinding(c.Account, c.ID), c.Bound()); err != nil {
				return err
			}
		case c.State != ConnectionDisabled:
			return broken // sealing would make the altered values valid; disabling the connection is always possible
		}
		if err := updateConnection(ctx, t, &c); err != nil {
			return err
		}
		if err := schedulePurchases(ctx, t, &c); err != nil {
			return err
		}
		t.Notify(base.WorkSubmissions)
		t.Notify(base.WorkPurchases)
		return t.Audit(connectionAct(act, c, details))
	})
	return c, db.ExistsError(err, "connections_active")
}

// updateConnection writes a changed connection.
func updateConnection(ctx context.Context, t *base.Tx, c *Connection) error {
	row := changedConnection{Account: c.Account, ID: c.ID, State: c.State, Credential: c.Sealed,
		Fingerprint: c.Fingerprint, UpdatedAt: base.Micros(c.UpdatedAt)}
	if a := c.Approval; a != nil {
		row.ApprovedAt, row.ApprovedBy, row.ApprovedContract, row.ApprovedRelease = new(base.Micros(a.At)), &a.By,
			&a.Contract, &a.Release
	}
	if n := c.CreditNotes; n != nil {
		row.CreditNotesAt, row.CreditNotesContract, row.CreditNotesMapping = new(base.Micros(n.At)), &n.Contract, &n.Mapping
	}
	if c.RetryAt != nil {
		c.RetryAt = &c.UpdatedAt // probe at once whether the change helps
	}
	row.RetryAt = base.MicrosOrNil(c.RetryAt)
	statement, args := base.Update("connections", row)
	_, err := t.Exec(ctx, statement, args...)
	return err
}

// connectionRow is a new connection.
type connectionRow struct {
	Account     base.ID          `db:"account_id"`
	ID          base.ID          `db:"id"`
	Kind        string           `db:"kind"`
	Environment string           `db:"environment"`
	BaseURL     string           `db:"base_url"`
	State       string           `db:"state"`
	Credential  []byte           `db:"credential"`
	Fingerprint string           `db:"fingerprint"`
	CreatedAt   int64            `db:"created_at"`
	UpdatedAt   int64            `db:"updated_at"`
	Format      sql.Null[string] `db:"format"`
	Options     sql.Null[string] `db:"options"`
}

// changedConnection are the columns of a connection that an administrator changes.
type changedConnection struct {
	Account             base.ID `db:"account_id,key"`
	ID                  base.ID `db:"id,key"`
	State               string  `db:"state"`
	Credential          []byte  `db:"credential"`
	Fingerprint         string  `db:"fingerprint"`
	UpdatedAt           int64   `db:"updated_at"`
	ApprovedAt          *int64  `db:"approved_at"`
	ApprovedBy          *string `db:"approved_by"`
	ApprovedContract    *string `db:"approved_contract"`
	ApprovedRelease     *string `db:"approved_release"`
	RetryAt             *int64  `db:"retry_at"`
	CreditNotesAt       *int64  `db:"credit_notes_at"`
	CreditNotesContract *string `db:"credit_notes_contract"`
	CreditNotesMapping  *string `db:"credit_notes_mapping"`
}

// ErrActiveExists says that another connection of the account is active.
var ErrActiveExists = problem.Local("active_exists", http.StatusConflict,
	"the account already has an active connection: disable it first")

// ActivateConnection makes a connection the active one of its account. It returns [ErrActiveExists] if another one is
// active: that must be disabled first, so that nobody changes a company's provider by accident.
func ActivateConnection(ctx context.Context, db *base.DB, id base.ID) (Connection, error) {
	activate := func(c *Connection, _ *secret.Text) (map[string]string, error) {
		before := c.State
		c.State = ConnectionActive
		return map[string]string{"before": before}, nil
	}
	activated, err := changeConnection(ctx, db, id, "connection.activate", activate)
	if errors.Is(err, base.ErrExists) {
		err = ErrActiveExists
	}
	return activated, err
}

// DisableConnection stops new submissions over a connection. Existing submissions are still polled.
func DisableConnection(ctx context.Context, db *base.DB, id base.ID) (Connection, error) {
	return changeConnection(ctx, db, id, "connection.disable", func(c *Connection, _ *secret.Text) (map[string]string,
		error) {
		before := c.State
		c.State = ConnectionDisabled
		return map[string]string{"before": before}, nil
	})
}

// ErrNotProduction says that an approval was requested for a connection that is not a production connection.
var ErrNotProduction = problem.Local("not_production", http.StatusConflict,
	"only a production connection can be approved, and the environment of a connection cannot be changed")

// ApproveConnection records the approval that allows a production connection to submit. It replaces an earlier
// approval, which stays in the audit log.
func ApproveConnection(ctx context.Context, db *base.DB, id base.ID, by, contract, release string) (Connection, error) {
	return changeConnection(ctx, db, id, "connection.approve", func(c *Connection, _ *secret.Text) (map[string]string,
		error) {
		if c.Environment != "production" {
			return nil, ErrNotProduction
		}
		details := map[string]string{"by": by, "contract": contract, "release": release}
		if before := c.Approval; before != nil {
			details["before_at"], details["before_by"] = before.At.Format(time.RFC3339Nano), before.By
			details["before_contract"], details["before_release"] = before.Contract, before.Release
		}
		c.Approval = &Approval{By: by, Contract: contract, Release: release}
		return details, nil
	})
}

// ConfirmCreditNotes records the contract and the mapping that allow a connection to submit credit notes. The caller
// knows that the adapter carries them. It replaces an earlier record, which stays in the audit log.
func ConfirmCreditNotes(ctx context.Context, db *base.DB, id base.ID, contract, mapping string) (Connection, error) {
	return changeConnection(ctx, db, id, "connection.confirm-credit-notes",
		func(c *Connection, _ *secret.Text) (map[string]string, error) {
			details := map[string]string{"contract": contract, "mapping": mapping}
			if before := c.CreditNotes; before != nil {
				details["before_at"] = before.At.Format(time.RFC3339Nano)
				details["before_contract"], details["before_mapping"] = before.Contract, before.Mapping
			}
			c.CreditNotes = &CreditNoteConfirmation{Contract: contract, Mapping: mapping}
			return details, nil
		})
}

// ReplaceCredential replaces the credential of a connection. The connection and its open submissions stay.
func ReplaceCredential(ctx context.Context, db *base.DB, id base.ID, credential secret.Text) (Connection, error) {
	return changeConnection(ctx, db, id, "connection.replace-credential",
		func(c *Connection, sealed *secret.Text) (map[string]string, error) {
			details := map[string]string{"before": c.Fingerprint, "after": secret.Fingerprint(credential)}
			*sealed, c.Fingerprint = credential, details["after"]
			return details, nil
		})
}
