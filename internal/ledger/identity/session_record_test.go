package identity_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestSessionRecords: a session has a record of its login and of its last use, which ends with the session; and the
// record of a session is no credential.
func TestSessionRecords(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := base.WithActor(t.Context(), fixture.Ann)
		first := f.StartSession(ctx, t, f.User, 41, "curl/8.5.0")
		f.Clock.Advance(30 * time.Second)
		second := f.StartSession(ctx, t, f.User, 42, "")
		records, total, err := identity.SessionRecords(ctx, f.Tenant, f.User.ID, 1, 1)
		kit.Must(t, err)
		if total != 2 || len(records) != 1 || records[0].ID != second.RecordID() || records[0].LastUsedAt != nil {
			t.Fatalf("%d sessions, the last begun %+v", total, records)
		}
		f.Clock.Advance(30 * time.Second)
		for range 2 {
			_, err = f.Authenticate(ctx, fixture.SessionDigest(41))
			kit.Must(t, err)
		}
		used := f.Clock.Now()
		kit.Must(t, f.RecordUses(ctx))
		f.Clock.Advance(30 * time.Second)
		_, err = f.Authenticate(ctx, fixture.SessionDigest(41)) // within a minute
		kit.Must(t, err)
		kit.Must(t, f.RecordUses(ctx))
		records, _, err = identity.SessionRecords(ctx, f.Tenant, f.User.ID, 2, 1)
		kit.Must(t, err)
		fixture.WantEqual(t, "record", records, []identity.SessionRecord{{ID: first.RecordID(), User: f.User.ID,
			Client: identity.ClientConsole, Means: identity.LoginByPassword, Source: fixture.Ann.Source, UserAgent: "curl/8.5.0",
			CreatedAt: records[0].CreatedAt, ExpiresAt: records[0].ExpiresAt, LastUsedAt: &used}})

		ended, err := identity.EndSession(ctx, f.Tenant, second, first.RecordID())
		kit.Must(t, err)
		if ended.EndedAt == nil {
			t.Error("the ended session has no time of its end")
		}
		_, err = f.Authenticate(ctx, fixture.SessionDigest(41))
		fixture.WantErr(t, err, base.ErrNotFound)
		again, err := identity.EndSession(ctx, f.Tenant, second, first.RecordID())
		kit.Must(t, err)
		fixture.WantEqual(t, "ended again", again, ended)
		_, err = identity.EndSession(ctx, f.Tenant, second, base.ID{7})
		fixture.WantErr(t, err, base.ErrNotFound)
		f.Clock.Advance(time.Hour)
		_, total, err = identity.SessionRecords(ctx, f.Tenant, f.User.ID, 1, 10)
		kit.Must(t, err)
		fixture.WantEqual(t, "sessions after their expiry", total, 0)
		acts, err := f.Audit(ctx, base.AuditFilter{Account: &f.Account.ID, Act: "session.revoke", Limit: 10})
		kit.Must(t, err)
		if len(acts) != 1 || acts[0].Subject != f.User.ID.String() ||
			!strings.Contains(acts[0].Details, first.RecordID().String()) {
			t.Errorf("acts %+v", acts)
		}
	})
}

// TestWhoEndsSessions: a user ends the own sessions, an owner those of the company, and nobody those of another
// company.
func TestWhoEndsSessions(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		id, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Email: "viewer@example.com",
			Name: "V", PasswordHash: "$v", Role: access.Viewer})
		kit.Must(t, err)
		viewer, err := identity.FindUser(ctx, f.Tenant, id)
		kit.Must(t, err)
		third := f.NewCompany(t, "third@example.com")
		owners, viewers, more := f.StartSession(ctx, t, f.User, 41, ""), f.StartSession(ctx, t, viewer, 42, ""),
			f.StartSession(ctx, t, viewer, 43, "")
		stranger := f.StartSession(ctx, t, third.User, 44, "")
		_, err = identity.EndSession(ctx, f.Tenant, viewers, owners.RecordID())
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = identity.EndSession(ctx, third.Tenant, stranger, owners.RecordID())
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = identity.EndSession(ctx, f.Tenant, owners, stranger.RecordID())
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = identity.EndSession(ctx, f.Tenant, base.Session{Key: &base.SessionKey{}}, owners.RecordID())
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = identity.EndSession(ctx, f.Tenant, owners, viewers.RecordID())
		kit.Must(t, err)
		_, err = f.Authenticate(ctx, viewers.Digest)
		fixture.WantErr(t, err, base.ErrNotFound)

		f.StartSession(ctx, t, viewer, 45, "")
		ended, err := identity.EndOtherSessions(ctx, f.Tenant, more)
		kit.Must(t, err)
		fixture.WantEqual(t, "ended others", ended, 1)
		for _, live := range []base.Session{owners, more, stranger} {
			_, err = f.Authenticate(ctx, live.Digest)
			kit.Must(t, err)
		}
		ended, err = identity.EndOtherSessions(ctx, f.Tenant, more)
		kit.Must(t, err)
		fixture.WantEqual(t, "ended others again", ended, 0)
	})
}

// TestHostileUserAgent: what is stored of a User-Agent is bounded, and text that people can read.
func TestHostileUserAgent(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		for n, hostile := range []string{"<script>\x00\x1b[31m\n\u202e", strings.Repeat("é", 5000),
			"\xff\xfe" + strings.Repeat("a", 255) + "é"} {
			f.StartSession(ctx, t, f.User, byte(60+n), hostile)
			records, _, err := identity.SessionRecords(ctx, f.Tenant, f.User.ID, 1, 1)
			kit.Must(t, err)
			if got := records[0].UserAgent; len(got) > 256 || got == "" || !utf8.ValidString(got) ||
				strings.ContainsAny(got, "\x00\x1b\n\u202e") {
				t.Errorf("stored %q", got)
			}
			f.Clock.Advance(time.Second)
		}
	})
}
