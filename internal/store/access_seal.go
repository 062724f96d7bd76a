package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	base "quittance/internal/db"
	"quittance/internal/secret"
)

// Rows that decide who may act have a seal: a value of the key ring that authenticates the primary key and all columns
// that decide. Whoever can write to the database but has no key can make none, so that a row that was inserted, changed
// or exchanged does not act: those who read it to decide treat it as absent.
//
// The rows are written by [tx.insertSealed] and [tx.changeSealed] alone, which seal them in the same transaction. A row
// that ends for good, such as a revoked token, needs no seal: the statement that ends it sets the seal to null, and
// nothing seals it again.

// sealedTable is a table whose rows decide who may act.
type sealedTable struct {
	name string
	// keys is the primary key, decides are the other columns that decide. Their order is part of the seal.
	keys, decides []string
	// live is the condition that a row needs a seal; "" if all do.
	live string
}

//nolint:gochecknoglobals // constant tables
var (
	sealedAccounts = &sealedTable{name: "accounts", keys: []string{"id"},
		decides: []string{"company", "status", "login_policy", "created_at", "suspended_at"}}
	sealedTenants = &sealedTable{name: "tenants", keys: []string{"id"},
		decides: []string{"account_id", "created_at", "frozen_at"}}
	sealedUsers = &sealedTable{name: "users", keys: []string{"account_id", "id"},
		decides: []string{"email", "role", "password_hash", "password_change_required", "created_at", "password_changed_at",
			"disabled_at", "proved_at"}}
	sealedTokens = &sealedTable{name: "tokens", keys: []string{"digest"}, live: "revoked_at is null",
		decides: []string{"account_id", "tenant_id", "user_id", "password_change_required", "created_at", "expires_at",
			"client", "means"}}
	sealedAPIKeys = &sealedTable{name: "api_keys", keys: []string{"account_id", "id"}, live: "revoked_at is null",
		decides: []string{"digest", "scopes", "networks", "created_by", "created_at", "expires_at"}}
	sealedInvitations = &sealedTable{name: "invitations", keys: []string{"account_id", "id"},
		decides: []string{"email", "role", "digest", "mail_digest", "mail_id", "invited_by", "created_at", "expires_at"}}
	sealedResets = &sealedTable{name: "password_resets", keys: []string{"account_id", "user_id"},
		decides: []string{"digest", "password_changed_at", "created_at", "expires_at"}}
	sealedProofs = &sealedTable{name: "address_proofs", keys: []string{"account_id", "user_id"},
		decides: []string{"digest", "created_at", "expires_at"}}
	sealedChoices = &sealedTable{name: "sign_on_choices", keys: []string{"digest"},
		decides: []string{"issuer", "subject", "email", "expires_at"}}
	sealedPending = &sealedTable{name: "pending_logins", keys: []string{"digest"},
		decides: []string{"account_id", "user_id", "means", "expires_at", "issuer", "subject"}}
	sealedSubjects = &sealedTable{name: "sign_on_subjects", keys: []string{"account_id", "user_id"},
		decides: []string{"issuer", "subject", "linked_at"}}
	sealedCodes = &sealedTable{name: "recovery_codes", keys: []string{"account_id", "user_id", "digest"},
		live: "used_at is null"}

	sealedOperators = &sealedTable{name: "operators", keys: []string{"id"},
		decides: []string{"email", "password_hash", "enrolment", "enrolment_expires_at", "created_at", "enrolled_at",
			"disabled_at"}}
	sealedOperatorSessions = &sealedTable{name: "operator_sessions", keys: []string{"digest"},
		decides: []string{"operator_id", "created_at", "expires_at"}}
	sealedOperatorCodes = &sealedTable{name: "operator_recovery_codes", keys: []string{"operator_id", "digest"},
		live: "used_at is null"}

	sealedKeys = &sealedTable{name: "sealing_keys", keys: []string{"id"}, decides: []string{"recorded_at", "retired_at"}}

	sealedTables = []*sealedTable{
		sealedAccounts, sealedTenants, sealedUsers, sealedTokens, sealedAPIKeys, sealedInvitations, sealedResets,
		sealedProofs, sealedChoices, sealedPending, sealedSubjects, sealedCodes, sealedOperators, sealedOperatorSessions,
		sealedOperatorCodes, sealedKeys,
	}
)

// columns returns the columns of a row with an alias of the table, as [sealedRecord.into] receives them. It leaves out
// those that the caller knows, because the condition of its query says what they are.
func (s *sealedTable) columns(alias string, known ...string) string {
	var out strings.Builder
	for n := range len(s.keys) + len(s.decides) {
		if column := s.column(n); !slices.Contains(known, column) {
			out.WriteString(alias + "." + column + ", ")
		}
	}
	return out.String() + alias + ".seal"
}

// where returns the condition on the primary key, whose parameters begin with the number first.
func (s *sealedTable) where(first int) string {
	var conditions []string
	for n, key := range s.keys {
		conditions = append(conditions, key+" = "+base.Parameter(first+n))
	}
	return strings.Join(conditions, " and ")
}

// needsSeal returns the condition that a row needs a seal.
func (s *sealedTable) needsSeal() string {
	if s.live == "" {
		return "1 = 1"
	}
	return s.live
}

// row names a row by the values of its primary key.
func (s *sealedTable) row(key ...any) sealedKey { return sealedKey{s, key} }

// sealedKey names a row of a sealed table.
type sealedKey struct {
	table *sealedTable
	key   []any
}

// sealedRecord is a row of a sealed table as it was read.
type sealedRecord struct {
	table  *sealedTable
	values []any // of the primary key and the columns that decide
	seal   []byte
}

func (s *sealedTable) record() *sealedRecord {
	return &sealedRecord{table: s, values: make([]any, len(s.keys)+len(s.decides))}
}

// into returns where [sealedTable.columns] are scanned. A known column is null until [sealedRecord.set].
func (r *sealedRecord) into(known ...string) []any {
	out := make([]any, 0, len(r.values)+1)
	for n := range r.values {
		if len(known) == 0 || !slices.Contains(known, r.table.column(n)) {
			out = append(out, &r.values[n])
		}
	}
	return append(out, &r.seal)
}

// column returns the name of a column by its place in the values of records.
func (s *sealedTable) column(n int) string {
	if n < len(s.keys) {
		return s.keys[n]
	}
	return s.decides[n-len(s.keys)]
}

// value returns where the value of a column is, which the table must have.
func (r *sealedRecord) value(column string) *any {
	for n := range r.values {
		if r.table.column(n) == column {
			return &r.values[n]
		}
	}
	panic("store: the seals of " + r.table.name + " do not cover " + column)
}

// set sets a known column.
func (r *sealedRecord) set(column string, value any) { *r.value(column) = value }

// text, number and id return the value of a column, or the zero value if it has another type, which no row has that
// acts.
func (r *sealedRecord) text(column string) string {
	text, _ := (*r.value(column)).(string)
	return text
}

func (r *sealedRecord) number(column string) int64 {
	number, _ := (*r.value(column)).(int64)
	return number
}

func (r *sealedRecord) id(column string) (id ID) {
	if value, ok := (*r.value(column)).([]byte); ok && len(value) == len(id) {
		id = ID(value)
	}
	return id
}

// scanRecord reads columns of a table.
func (s *sealedTable) scanRecord(row scanner) (*sealedRecord, error) {
	r := s.record()
	return r, row.Scan(r.into()...)
}

// key returns the primary key.
func (r *sealedRecord) key() []any { return r.values[:len(r.table.keys)] }

// columnText encodes a value of a column, so that no two values of any types have the same text.
func columnText(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case int64:
		return "number " + strconv.FormatInt(value, 10)
	case string:
		return "text " + value
	case []byte:
		return "bytes " + string(value)
	default:
		return fmt.Sprintf("%T %v", value, value) // the service writes no other
	}
}

// binding returns what the seal of the row authenticates. The parts are preceded by their lengths there.
func (r *sealedRecord) binding() secret.Binding {
	at := secret.Binding{Table: r.table.name, Column: "seal", Bound: make([]string, 0, len(r.values))}
	for n, value := range r.values {
		text := columnText(value)
		at.Bound = append(at.Bound, text)
		if n < len(r.table.keys) {
			at.Row = append(binary.BigEndian.AppendUint64(at.Row, uint64(len(text))), text...)
		}
	}
	return at
}

// sealed reports whether the row has the right seal.
func (r *sealedRecord) sealed(keys *sealer) bool {
	if len(r.seal) == 0 {
		return false
	}
	text, err := keys.Open(r.seal, r.binding())
	return err == nil && len(text) == 0
}

// name names the row for logs and faults. It gives away no secret: the digest of a session or a code is shortened.
func (r *sealedRecord) name() string {
	var parts []string
	for _, value := range r.key() {
		switch value := value.(type) {
		case []byte:
			if len(value) == len(ID{}) {
				parts = append(parts, ID(value).String())
			} else {
				parts = append(parts, fmt.Sprintf("%x…", value[:min(len(value), recordPrefix)]))
			}
		default:
			parts = append(parts, fmt.Sprint(value))
		}
	}
	return strings.Join(parts, "/")
}

// acts reports whether rows have the right seals. It logs the first that has not, and counts it. In a database that a
// server of an earlier release may still use, all rows act.
func (db *DB) acts(ctx context.Context, rows ...*sealedRecord) bool {
	if !db.keys.access.Load() {
		return true
	}
	for _, r := range rows {
		if !r.sealed(db.keys) {
			db.keys.changed.Add(1)
			db.log.ErrorContext(ctx, "a row does not act: it was written or changed outside of the service",
				"table", r.table.name, "row", r.name())
			return false
		}
	}
	return true
}

// acting returns [sql.ErrNoRows] instead of nil if a row that was read has no right seal.
func (db *DB) acting(ctx context.Context, err error, rows ...*sealedRecord) error {
	if err == nil && !db.acts(ctx, rows...) {
		return sql.ErrNoRows
	}
	return err
}

// readSealed reads and locks a row. It returns nil if there is none.
func (t *tx) readSealed(ctx context.Context, row sealedKey) (*sealedRecord, error) {
	r, err := row.table.scanRecord(t.QueryRowContext(ctx,
		`select `+row.table.columns(row.table.name)+` from `+row.table.name+
			` where `+row.table.where(1)+t.db.dialect.ForUpdate(), row.key...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // there is none
	}
	return r, err
}

// checkSealed returns [sql.ErrNoRows] if a row is missing or does not act. It locks the row.
func (t *tx) checkSealed(ctx context.Context, row sealedKey) error {
	r, err := t.readSealed(ctx, row)
	if err == nil && r == nil {
		err = sql.ErrNoRows
	}
	if err != nil {
		return err
	}
	return t.db.acting(ctx, nil, r)
}

// insertSealed runs a statement that inserts the row, and seals it. It returns how many rows the statement inserted.
func (t *tx) insertSealed(ctx context.Context, row sealedKey, statement string, args ...any) (int64, error) {
	n, err := t.Exec(ctx, statement, args...)
	if err != nil || n == 0 {
		return n, err
	}
	return n, t.sealRow(ctx, row, nil)
}

// changeSealed runs a statement that changes the row, and seals it again. It does neither if the row does not act, and
// returns [sql.ErrNoRows] then, so that no change makes what somebody else wrote valid. It returns how many rows the
// statement changed.
func (t *tx) changeSealed(ctx context.Context, row sealedKey, statement string, args ...any) (int64, error) {
	before, err := t.readSealed(ctx, row)
	if err != nil || before == nil {
		return 0, err
	}
	if err := t.db.acting(ctx, nil, before); err != nil {
		return 0, err
	}
	n, err := t.Exec(ctx, statement, args...)
	if err != nil || n == 0 {
		return n, err
	}
	return n, t.sealRow(ctx, row, before)
}

// sealRow seals a row as it is now. before is the row as it was, or nil.
func (t *tx) sealRow(ctx context.Context, row sealedKey, before *sealedRecord) error {
	r, err := t.readSealed(ctx, row)
	if err != nil || r == nil {
		return err
	}
	if row.table == sealedTenants {
		t.AtCommit(tenantChange{before, r})
	}
	return t.writeSeal(ctx, r)
}

// writeSeal seals a row that the transaction has locked.
func (t *tx) writeSeal(ctx context.Context, r *sealedRecord) error {
	sealed, err := t.db.keys.Seal(nil, r.binding())
	if err != nil {
		return err
	}
	r.seal = sealed
	return t.ExecDeferred(ctx, `update `+r.table.name+` set seal = $1 where `+r.table.where(2),
		append([]any{sealed}, r.key()...)...)
}
