package base

import (
	"context"
	"database/sql"
)

// UserColumns are what [ScanUser] reads of a row of users.
const UserColumns = `account_id, id, email, name, role, password_hash, password_change_required, created_at, disabled_at, proved_at,
	exists (select 1 from sign_on_subjects s where s.account_id = users.account_id and s.user_id = users.id)`

// ActingUser reads a user; rest is what follows the columns in the query. It returns [sql.ErrNoRows] if there is none,
// or the row does not act.
func (db *DB) ActingUser(ctx context.Context, q Querier, rest string, args ...any) (User, error) {
	record := SealedUsers.Record()
	user, err := ScanUserAnd(q.QueryRowContext(ctx, `select `+UserColumns+`, `+SealedUsers.Columns("users")+` from users `+
		rest, args...), record.Into()...)
	return user, db.Acting(ctx, err, record)
}

// ScanUser reads UserColumns.
func ScanUser(row Row) (User, error) { return ScanUserAnd(row) }

// ScanUserAnd reads userColumns, and the columns that more receives.
func ScanUserAnd(row Row, more ...any) (User, error) {
	var user User
	var created, required int64
	var disabled, proved sql.Null[int64]
	err := row.Scan(append([]any{&user.Account, &user.ID, &user.Email, &user.Name, &user.Role, &user.PasswordHash,
		&required, &created, &disabled, &proved, &user.Linked}, more...)...)
	user.PasswordChangeRequired, user.CreatedAt, user.DisabledAt, user.ProvedAt = required != 0, Instant(created),
		InstantOrNil(disabled), InstantOrNil(proved)
	return user, err
}

// UserByEmail returns the user with exactly the given e-mail address who has proved it, or else the one who was added
// first.
func (db *DB) UserByEmail(ctx context.Context, email string) (User, error) {
	user, err := db.ActingUser(ctx, db.reader, `where email = $1 order by proved_at is null, created_at, id limit 1`,
		email)
	return user, db.Classify(err)
}

// MaxLogins is how many users with one address a login considers. Who has proved it comes first, and only companies
// that administrators have created can have others.
const MaxLogins = 8

// UsersToLogIn returns the users who may log in with exactly the given e-mail address and a password: to an account, or
// with the zero ID to any. Who has proved the address comes first, then who was added first, and last those whose
// account is suspended or requires single sign-on. There are at most 8.
func (db *DB) UsersToLogIn(ctx context.Context, email string, account ID) ([]User, error) {
	var of []byte
	if !account.IsZero() {
		of = account[:]
	}
	type candidate struct {
		user   User
		record *SealedRecord
	}
	found, err := Collect(ctx, db.reader, func(row Row) (candidate, error) {
		record := SealedUsers.Record()
		user, err := ScanUserAnd(row, record.Into()...)
		return candidate{user, record}, err
	}, `select `+UserColumns+`, `+SealedUsers.Columns("users")+` from users
		where email = $1 and (cast($2 as bytea) is null or account_id = $2) and disabled_at is null and password_hash <> ''
		order by (select a.status <> 'active' or a.login_policy = 'single_sign_on' from accounts a where a.id = users.account_id), proved_at is null, created_at, id
		limit $3`, email, of, MaxLogins)
	var users []User
	for _, c := range found {
		if db.Acts(ctx, c.record) {
			users = append(users, c.user)
		}
	}
	return users, db.Classify(err)
}

// UserOf returns the user of an account with exactly the given e-mail address.
func (db *DB) UserOf(ctx context.Context, account ID, email string) (User, error) {
	user, err := db.ActingUser(ctx, db.reader, `where account_id = $1 and email = $2`, account, email)
	return user, db.Classify(err)
}
