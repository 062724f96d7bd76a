package store_test

import (
	"context"
	"crypto/sha256"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"quittance/internal/access"
	"quittance/internal/store"
	"quittance/test/kit"
)

// sessionDigest returns the digest of the n-th secret of a test.
func sessionDigest(n byte) [32]byte { return sha256.Sum256([]byte{n}) }

// startSession begins a session of a user, with a token whose digest is sessionDigest(n).
func (f *fixture) startSession(ctx context.Context, t *testing.T, user store.User, n byte,
	userAgent string) store.Session {
	t.Helper()
	_, err := f.CreateToken(ctx, user, store.NewToken{Digest: sessionDigest(n), ExpiresAt: f.Clock.Now().Add(time.Hour),
		Client: store.ClientConsole, Means: store.LoginByPassword, UserAgent: userAgent})
	kit.Must(t, err)
	session, err := f.Authenticate(ctx, sessionDigest(n))
	kit.Must(t, err)
	return session
}

// TestSessionRecords: a session has a record of its login and of its last use, which ends with the session; and the
// record of a session is no credential.
func TestSessionRecords(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := store.WithActor(t.Context(), ann)
		first := f.startSession(ctx, t, f.user, 41, "curl/8.5.0")
		f.Clock.Advance(30 * time.Second)
		second := f.startSession(ctx, t, f.user, 42, "")
		records, total, err := f.tenant.SessionRecords(ctx, f.user.ID, 1, 1)
		kit.Must(t, err)
		if total != 2 || len(records) != 1 || records[0].ID != second.RecordID() || records[0].LastUsedAt != nil {
			t.Fatalf("%d sessions, the last begun %+v", total, records)
		}
		f.Clock.Advance(30 * time.Second)
		for range 2 {
			_, err = f.Authenticate(ctx, sessionDigest(41))
			kit.Must(t, err)
		}
		used := f.Clock.Now()
		kit.Must(t, f.RecordUses(ctx))
		f.Clock.Advance(30 * time.Second)
		_, err = f.Authenticate(ctx, sessionDigest(41)) // within a minute
		kit.Must(t, err)
		kit.Must(t, f.RecordUses(ctx))
		records, _, err = f.tenant.SessionRecords(ctx, f.user.ID, 2, 1)
		kit.Must(t, err)
		wantEqual(t, "record", records, []store.SessionRecord{{ID: first.RecordID(), User: f.user.ID,
			Client: store.ClientConsole, Means: store.LoginByPassword, Source: ann.Source, UserAgent: "curl/8.5.0",
			CreatedAt: records[0].CreatedAt, ExpiresAt: records[0].ExpiresAt, LastUsedAt: &used}})

		ended, err := f.tenant.EndSession(ctx, second, first.RecordID())
		kit.Must(t, err)
		if ended.EndedAt == nil {
			t.Error("the ended session has no time of its end")
		}
		_, err = f.Authenticate(ctx, sessionDigest(41))
		wantErr(t, err, store.ErrNotFound)
		again, err := f.tenant.EndSession(ctx, second, first.RecordID())
		kit.Must(t, err)
		wantEqual(t, "ended again", again, ended)
		_, err = f.tenant.EndSession(ctx, second, store.ID{7})
		wantErr(t, err, store.ErrNotFound)
		f.Clock.Advance(time.Hour)
		_, total, err = f.tenant.SessionRecords(ctx, f.user.ID, 1, 10)
		kit.Must(t, err)
		wantEqual(t, "sessions after their expiry", total, 0)
		acts, err := f.Audit(ctx, store.AuditFilter{Account: &f.account.ID, Act: "session.revoke", Limit: 10})
		kit.Must(t, err)
		if len(acts) != 1 || acts[0].Subject != f.user.ID.String() ||
			!strings.Contains(acts[0].Details, first.RecordID().String()) {
			t.Errorf("acts %+v", acts)
		}
	})
}

// TestWhoEndsSessions: a user ends the own sessions, an owner those of the company, and nobody those of another
// company.
func TestWhoEndsSessions(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		id, err := f.AddUser(ctx, f.account.ID, store.NewUser{Email: "viewer@example.com", Name: "V", PasswordHash: "$v",
			Role: access.Viewer})
		kit.Must(t, err)
		viewer, err := f.tenant.User(ctx, id)
		kit.Must(t, err)
		third := f.newCompany(t, "third@example.com")
		owners, viewers, more := f.startSession(ctx, t, f.user, 41, ""), f.startSession(ctx, t, viewer, 42, ""),
			f.startSession(ctx, t, viewer, 43, "")
		stranger := f.startSession(ctx, t, third.user, 44, "")
		_, err = f.tenant.EndSession(ctx, viewers, owners.RecordID())
		wantErr(t, err, store.ErrNotFound)
		_, err = third.tenant.EndSession(ctx, stranger, owners.RecordID())
		wantErr(t, err, store.ErrNotFound)
		_, err = f.tenant.EndSession(ctx, owners, stranger.RecordID())
		wantErr(t, err, store.ErrNotFound)
		_, err = f.tenant.EndSession(ctx, store.Session{Key: &store.SessionKey{}}, owners.RecordID())
		wantErr(t, err, store.ErrNotFound)
		_, err = f.tenant.EndSession(ctx, owners, viewers.RecordID())
		kit.Must(t, err)
		_, err = f.Authenticate(ctx, viewers.Digest)
		wantErr(t, err, store.ErrNotFound)

		f.startSession(ctx, t, viewer, 45, "")
		ended, err := f.tenant.EndOtherSessions(ctx, more)
		kit.Must(t, err)
		wantEqual(t, "ended others", ended, 1)
		for _, live := range []store.Session{owners, more, stranger} {
			_, err = f.Authenticate(ctx, live.Digest)
			kit.Must(t, err)
		}
		ended, err = f.tenant.EndOtherSessions(ctx, more)
		kit.Must(t, err)
		wantEqual(t, "ended others again", ended, 0)
	})
}

// TestHostileUserAgent: what is stored of a User-Agent is bounded, and text that people can read.
func TestHostileUserAgent(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		for n, hostile := range []string{"<script>\x00\x1b[31m\n\u202e", strings.Repeat("é", 5000),
			"\xff\xfe" + strings.Repeat("a", 255) + "é"} {
			f.startSession(ctx, t, f.user, byte(60+n), hostile)
			records, _, err := f.tenant.SessionRecords(ctx, f.user.ID, 1, 1)
			kit.Must(t, err)
			if got := records[0].UserAgent; len(got) > 256 || got == "" || !utf8.ValidString(got) ||
				strings.ContainsAny(got, "\x00\x1b\n\u202e") {
				t.Errorf("stored %q", got)
			}
			f.Clock.Advance(time.Second)
		}
	})
}
