package account

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/internal/platform/source"
)

// InvitationTTL is how long an invitation can be used.
const InvitationTTL = 72 * time.Hour

// JoinPath is the path of the page on which an invited person becomes a user.
const JoinPath = "/join"

// The errors of invitations.
var (
	// ErrEmail says that a text is not an e-mail address.
	ErrEmail = errors.New("not a valid e-mail address")
	// ErrInvitation says that an invitation cannot be used. It does not say why.
	ErrInvitation = errors.New("the invitation cannot be used")
	// ErrName says that a name is not one line of at most 256 characters.
	ErrName = errors.New("not a valid name")
	// ErrPasswordLength says that a new password has fewer than 15 or more than 256 characters.
	ErrPasswordLength = errors.New("the new password is too short or too long")
)

// The length of a new password in characters.
const (
	MinPassword = 15
	MaxPassword = 256
)

// Invitation is a new invitation with its secret, which is not stored.
type Invitation struct {
	identity.Invitation
	secret secret.Text
}

// Link returns the address that the invited person opens: base, such as https://invoices.example, and the page with the
// secret in the fragment. Browsers do not send a fragment, so that the secret is in no log of a server or proxy. An
// empty base gives a path.
func (i Invitation) Link(base string) string {
	return strings.TrimSuffix(base, "/") + JoinPath + "#" + i.secret.Reveal()
}

// PublicURL is the address at which people reach the service, for links, such as https://invoices.example; it may be
// empty.
type PublicURL string

// UnmarshalText accepts an http or https URL that has nothing after the host.
func (u *PublicURL) UnmarshalText(text []byte) error {
	parsed, err := url.Parse(strings.TrimSuffix(string(text), "/"))
	if err != nil || parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Host == "" ||
		parsed.Scheme+"://"+parsed.Host != parsed.String() {
		return fmt.Errorf("%q: want an address like https://invoices.example", text)
	}
	*u = PublicURL(parsed.String())
	return nil
}

// Base returns the address, or if it is empty, that of the host which a request names. Show it to the caller alone, who
// has chosen that host.
func (u PublicURL) Base(secure bool, host string) string {
	switch {
	case u != "":
		return string(u)
	case secure:
		return "https://" + host
	}
	return "http://" + host
}

// ParseEmail returns an e-mail address in the form in which it is stored. The error is [ErrEmail].
func ParseEmail(text string) (string, error) {
	email := NormalizeEmail(text)
	at := strings.LastIndexByte(email, '@')
	if at < 1 || at == len(email)-1 || utf8.RuneCountInString(email) > 256 || !utf8.ValidString(email) ||
		strings.ContainsFunc(email, func(r rune) bool { return r <= ' ' || r == 0x7f || r == utf8.RuneError }) {
		return "", ErrEmail
	}
	return email, nil
}

// Invite invites a person to the company of a tenant, on behalf of the user of a session, or of an administrator if by
// is nil. The error is [ErrEmail], or one of [identity.Invite].
func (s *Service) Invite(ctx context.Context, t *base.Tenant, by *base.Session, email string,
	role access.Role) (Invitation, error) {
	email, err := ParseEmail(email)
	if err != nil {
		return Invitation{}, err
	}
	code, err := secret.NewInvitation(s.Random)
	if err != nil {
		return Invitation{}, err
	}
	mailed, err := secret.NewInvitation(s.Random) // only the mail has it: whoever uses it has the mailbox
	if err != nil {
		return Invitation{}, err
	}
	made, err := identity.Invite(ctx, t, by, identity.NewInvitation{Email: email, Role: role,
		Digest: secret.InvitationDigest(code), Secret: mailed, MailDigest: secret.InvitationDigest(mailed),
		ExpiresAt: s.Now().Add(InvitationTTL).UTC().Truncate(time.Microsecond)})
	return Invitation{Invitation: made, secret: code}, err
}

// FindInvitation returns the invitation with a secret. The error is [*LimitedError], [ErrInvitation] or
// [identity.ErrProvedElsewhere]; an unknown secret counts towards the login limits of its source.
func (s *Service) FindInvitation(ctx context.Context, from, code string) (identity.UsableInvitation, error) {
	a, err := s.beginInvitation(ctx, from)
	if err != nil {
		return identity.UsableInvitation{}, err
	}
	found, err := identity.FindUsableInvitation(ctx, s.DB, secret.InvitationDigest(secret.New(code)))
	if errors.Is(err, base.ErrNotFound) {
		return identity.UsableInvitation{}, ErrInvitation
	}
	return found, errors.Join(err, a.cancel(ctx))
}

// Join uses up the invitation with a secret: its person becomes a user with a name, which may be empty, and a password.
// The mailed link proves the address. The error is [*LimitedError], [ErrInvitation], [identity.ErrProvedElsewhere],
// [ErrName], [ErrPasswordLength], [ErrCommonPassword] or [ErrBusy].
func (s *Service) Join(ctx context.Context, from, code, name, password string) (base.User, error) {
	a, err := s.beginInvitation(ctx, from)
	if err != nil {
		return base.User{}, err
	}
	digest := secret.InvitationDigest(secret.New(code))
	invitation, err := identity.FindUsableInvitation(ctx, s.DB, digest) // before any work for the password
	if errors.Is(err, base.ErrNotFound) {
		return base.User{}, ErrInvitation
	}
	if name = strings.TrimSpace(name); name == "" {
		name = invitation.Email
	}
	if err == nil && !isName(name) {
		err = ErrName
	}
	if err == nil {
		err = checkNewPassword(password)
	}
	if err != nil {
		return base.User{}, errors.Join(err, a.cancel(ctx))
	}
	hash, err := s.Hasher.Hash(ctx, a.turn, password)
	if err != nil {
		return base.User{}, errors.Join(err, a.cancel(ctx))
	}
	proof, err := s.newProof()
	if err != nil {
		return base.User{}, errors.Join(err, a.cancel(ctx))
	}
	user, err := identity.Join(ctx, s.DB, digest, identity.NewUser{Name: name, PasswordHash: hash}, proof)
	if errors.Is(err, base.ErrNotFound) || errors.Is(err, base.ErrExists) {
		return base.User{}, ErrInvitation // it has ended, or the person was added meanwhile
	}
	return user, errors.Join(err, a.cancel(ctx))
}

// isName reports whether a text is one line of at most 256 characters.
func isName(text string) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= 256 &&
		!strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError })
}

// checkNewPassword applies the rules for passwords that people choose.
func checkNewPassword(password string) error {
	switch length := utf8.RuneCountInString(password); {
	case length < MinPassword || length > MaxPassword || !utf8.ValidString(password):
		return ErrPasswordLength
	case Common(password):
		return ErrCommonPassword
	}
	return nil
}

// beginInvitation charges the limits of logins that depend on the source alone: there is no e-mail address yet.
func (s *Service) beginInvitation(ctx context.Context, from string) (*attempt, error) {
	a := &attempt{Service: s, from: source.Parse(from)}
	a.turn = Turn{Holder: "source " + a.from.Wide().String()}
	if s.LoginRate == 0 {
		return a, nil
	}
	return a, a.charge(ctx, a.sourceUses("invitation"))
}
