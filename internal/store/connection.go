package store

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

	"quittance/internal/problem"
	"quittance/internal/secret"
)

// The states of a provider connection.
const (
	ConnectionPending  = "pending"
	ConnectionActive   = "active"
	ConnectionDisabled = "disabled"
)

// Connection is an account's connection to a provider.
type Connection struct {
	Account     ID
	ID          ID
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

	sealed []byte
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

func credentialBinding(account, id ID) secret.Binding {
	return secret.Binding{Tenant: account[:], Table: "connections", Column: "credential", Row: id[:]}
}

// bound returns what the credential is bound to: the columns that say where and in which format documents are sent, and
// whether that is allowed. If somebody changes one of them in the database, the credential does not open.
func (c *Connection) bound() []string {
	out := []string{c.Kind, c.Environment, c.BaseURL, c.State, c.Fingerprint}
	// A connection without a format and options is bound as it was before there were any.
	if c.Format != "" || len(c.Options) > 0 {
		out = append(out, "format", c.Format, optionsText(c.Options))
	}
	if a := c.Approval; a != nil {
		out = append(out, strconv.FormatInt(micros(a.At), 10), a.By, a.Contract, a.Release)
	}
	if n := c.CreditNotes; n != nil {
		out = append(out, "credit notes", strconv.FormatInt(micros(n.At), 10), n.Contract, n.Mapping)
	}
	return out
}

// readOptions is the reverse of [optionsText].
func readOptions(text sql.Null[string]) (options map[string]string, err error) {
	if !text.Valid {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text.V), &options); err != nil {
		return nil, fmt.Errorf("stored options of a connection: %w", err)
	}
	return options, nil
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
func (db *DB) RefuseSimulator(ctx context.Context) error {
	if found, err := db.database.HasTable(ctx, "connections"); err != nil || !found {
		return err
	}
	var id ID
	err := db.reader.QueryRowContext(ctx,
		`select id from connections where state = 'active' and kind = 'simulator' limit 1`).Scan(&id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return db.classify(err)
	default:
		return fmt.Errorf("connection %s: %w: disable it first", id, ErrSimulator)
	}
}

// checkSimulatorAllowed returns [ErrSimulator] for a simulator outside of the environment local. A database that was
// never served allows it.
func (t *tx) checkSimulatorAllowed(ctx context.Context, kind string) error {
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
func (db *DB) AddConnection(ctx context.Context, account ID, add NewConnection) (Connection, error) {
	var connection Connection
	err := db.write(ctx, "add connection", func(ctx context.Context, t *tx) error {
		if _, err := t.account(ctx, account); err != nil {
			return err
		}
		if err := t.checkSimulatorAllowed(ctx, add.Kind); err != nil {
			return err
		}
		id, err := newID(t.Now(), db.random)
		if err != nil {
			return err
		}
		connection = Connection{Account: account, ID: id, Kind: add.Kind, Environment: add.Environment, BaseURL: add.BaseURL,
			Format: add.Format, Options: add.Options, State: ConnectionPending, Fingerprint: secret.Fingerprint(add.Credential),
			CreatedAt: t.Now(), UpdatedAt: t.Now()}
		if connection.sealed, err = t.sealBound(ctx, add.Credential, credentialBinding(account, id),
			connection.bound()); err != nil {
			return err
		}
		_, err = t.Exec(ctx,
			`insert into connections (account_id, id, kind, environment, base_url, state, credential, fingerprint, created_at, updated_at, format, options)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $11)`, account, id, add.Kind, add.Environment, add.BaseURL,
			ConnectionPending, connection.sealed, connection.Fingerprint, micros(connection.CreatedAt), nullIfEmpty(add.Format),
			nullIfEmpty(optionsText(add.Options)))
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
		return t.audit(connectionAct("connection.add", connection, details))
	})
	return connection, err
}

func connectionAct(name string, c Connection, details map[string]string) Act {
	return Act{Name: name, Account: c.Account, SubjectType: "connection", Subject: c.ID.String(), Details: details}
}

const connectionColumns = `account_id, id, kind, environment, base_url, state, credential, fingerprint, created_at, updated_at,
	approved_at, approved_by, approved_contract, approved_release, failures, failing_since, trouble, retry_at, format, options,
	credit_notes_at, credit_notes_contract, credit_notes_mapping`

func scanConnection(row scanner) (Connection, error) {
	var c Connection
	var created, updated int64
	var approvedAt, since, retry, confirmedAt sql.Null[int64]
	var by, contract, release, trouble, format, options, notesContract, notesMapping sql.Null[string]
	if err := row.Scan(&c.Account, &c.ID, &c.Kind, &c.Environment, &c.BaseURL, &c.State, &c.sealed, &c.Fingerprint,
		&created, &updated, &approvedAt, &by, &contract, &release, &c.Failures, &since, &trouble, &retry, &format, &options,
		&confirmedAt, &notesContract, &notesMapping); err != nil {
		return Connection{}, err
	}
	var err error
	if c.Options, err = readOptions(options); err != nil {
		return Connection{}, fmt.Errorf("%s: %w", c.ID, err)
	}
	c.Format = format.V
	c.CreatedAt, c.UpdatedAt = instant(created), instant(updated)
	c.FailingSince, c.FailureReason, c.RetryAt = instantOrNil(since), trouble.V, instantOrNil(retry)
	if approvedAt.Valid {
		c.Approval = &Approval{At: instant(approvedAt.V), By: by.V, Contract: contract.V, Release: release.V}
	}
	if confirmedAt.Valid {
		c.CreditNotes = &CreditNoteConfirmation{At: instant(confirmedAt.V), Contract: notesContract.V,
			Mapping: notesMapping.V}
	}
	return c, nil
}

// Credential opens the connection's sealed credential. It returns [ErrChangedRow] if the kind, environment, URL, state,
// fingerprint, approval or confirmation of credit notes in the row is not what this program recorded.
func (db *DB) Credential(c Connection) (secret.Text, error) {
	return db.keys.openBound(c.sealed, credentialBinding(c.Account, c.ID), c.bound())
}

// Connection returns one connection.
func (db *DB) Connection(ctx context.Context, id ID) (Connection, error) {
	c, err := scanConnection(db.reader.QueryRowContext(ctx, `select `+connectionColumns+` from connections where id = $1`,
		id))
	return c, db.classify(err)
}

// UsableConnection returns the active connection of the tenant's account. It returns [ErrConnectionRequired] if there
// is none, and [ErrNotApproved] if a service in this environment and of this release may not use it.
func (t *Tenant) UsableConnection(ctx context.Context, environment, release string) (c Connection, err error) {
	err = t.read(func(q querier) error {
		c, err = t.usableConnection(ctx, q, environment, release)
		return err
	})
	return c, err
}

// usableConnection returns the active connection of the tenant's account. It returns [ErrConnectionRequired] if there
// is none, and the connection with [ErrNotApproved] if it may not submit in this environment and release.
func (t *Tenant) usableConnection(ctx context.Context, q querier, environment, release string) (Connection, error) {
	c, err := scanConnection(q.QueryRowContext(ctx,
		`select `+connectionColumns+` from connections where account_id = $1 and state = 'active'`, t.account))
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
func (db *DB) Connections(ctx context.Context, account *ID) ([]Connection, error) {
	if account == nil {
		all, err := collect(ctx, db.reader, scanConnection,
			`select `+connectionColumns+` from connections order by created_at, id`)
		return all, db.classify(err)
	}
	own, err := collect(ctx, db.reader, scanConnection,
		`select `+connectionColumns+` from connections where account_id = $1 order by created_at, id`, *account)
	return own, db.classify(err)
}

// changeConnection locks a connection, calls change to modify it, and seals its credential again, bound to the new
// values. change may also replace the credential. The audit log gets an entry with the name act and the details that
// change returns.
func (db *DB) changeConnection(ctx context.Context, id ID, act string,
	change func(c *Connection, credential *secret.Text) (map[string]string, error)) (Connection, error) {
	var c Connection
	err := db.write(ctx, "change connection", func(ctx context.Context, t *tx) error {
		var err error
		if c, err = scanConnection(t.QueryRowContext(ctx,
			`select `+connectionColumns+` from connections where id = $1`+db.dialect.ForUpdate(), id)); err != nil {
			return err
		}
		credential, broken := db.Credential(c)
		details, err := change(&c, &credential)
		if err != nil {
			return err
		}
		if c.State == ConnectionActive {
			if err := t.checkSimulatorAllowed(ctx, c.Kind); err != nil {
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
			if c.sealed, err = t.sealBound(ctx, credential, credentialBinding(c.Account, c.ID), c.bound()); err != nil {
				return err
			}
		case c.State != ConnectionDisabled:
			return broken // sealing would make the altered values valid; disabling the connection is always possible
		}
		if err := t.updateConnection(ctx, &c); err != nil {
			return err
		}
		if err := t.schedulePurchases(ctx, &c); err != nil {
			return err
		}
		t.notify(WorkSubmissions)
		t.notify(WorkPurchases)
		return t.audit(connectionAct(act, c, details))
	})
	return c, db.existsError(err, "connections_active")
}

// updateConnection writes a changed connection.
func (t *tx) updateConnection(ctx context.Context, c *Connection) error {
	var at, by, contract, release any
	if c.Approval != nil {
		at, by, contract, release = micros(c.Approval.At), c.Approval.By, c.Approval.Contract, c.Approval.Release
	}
	var confirmed, notesContract, notesMapping any
	if c.CreditNotes != nil {
		confirmed, notesContract, notesMapping = micros(c.CreditNotes.At), c.CreditNotes.Contract, c.CreditNotes.Mapping
	}
	if c.RetryAt != nil {
		c.RetryAt = &c.UpdatedAt // probe at once whether the change helps
	}
	_, err := t.Exec(ctx, `update connections set state = $3, credential = $4, fingerprint = $5, updated_at = $6,
		approved_at = $7, approved_by = $8, approved_contract = $9, approved_release = $10, retry_at = $11,
		credit_notes_at = $12, credit_notes_contract = $13, credit_notes_mapping = $14 where account_id = $1 and id = $2`,
		c.Account, c.ID, c.State, c.sealed, c.Fingerprint, micros(c.UpdatedAt), at, by, contract, release,
		microsOrNil(c.RetryAt), confirmed, notesContract, notesMapping)
	return err
}

// ErrActiveExists says that another connection of the account is active.
var ErrActiveExists = problem.Local("active_exists", http.StatusConflict,
	"the account already has an active connection: disable it first")

// ActivateConnection makes a connection the active one of its account. It returns [ErrActiveExists] if another one is
// active: that must be disabled first, so that nobody changes a company's provider by accident.
func (db *DB) ActivateConnection(ctx context.Context, id ID) (Connection, error) {
	activate := func(c *Connection, _ *secret.Text) (map[string]string, error) {
		before := c.State
		c.State = ConnectionActive
		return map[string]string{"before": before}, nil
	}
	activated, err := db.changeConnection(ctx, id, "connection.activate", activate)
	if errors.Is(err, ErrExists) {
		err = ErrActiveExists
	}
	return activated, err
}

// DisableConnection stops new submissions over a connection. Existing submissions are still polled.
func (db *DB) DisableConnection(ctx context.Context, id ID) (Connection, error) {
	return db.changeConnection(ctx, id, "connection.disable", func(c *Connection, _ *secret.Text) (map[string]string,
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
func (db *DB) ApproveConnection(ctx context.Context, id ID, by, contract, release string) (Connection, error) {
	return db.changeConnection(ctx, id, "connection.approve", func(c *Connection, _ *secret.Text) (map[string]string,
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
func (db *DB) ConfirmCreditNotes(ctx context.Context, id ID, contract, mapping string) (Connection, error) {
	return db.changeConnection(ctx, id, "connection.confirm-credit-notes",
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
func (db *DB) ReplaceCredential(ctx context.Context, id ID, credential secret.Text) (Connection, error) {
	return db.changeConnection(ctx, id, "connection.replace-credential",
		func(c *Connection, sealed *secret.Text) (map[string]string, error) {
			details := map[string]string{"before": c.Fingerprint, "after": secret.Fingerprint(credential)}
			*sealed, c.Fingerprint = credential, details["after"]
			return details, nil
		})
}
