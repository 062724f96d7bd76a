package account

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
)

// The errors of passkeys.
var (
	// ErrPasskey says that the response of an authenticator to a registration is wrong, or came too late.
	ErrPasskey = errors.New("the passkey could not be registered")
	// ErrPasskeyName says that the name of a passkey is empty, has several lines or is longer than 64 characters.
	ErrPasskeyName = errors.New("the name of a passkey must be one line of 1 to 64 characters")
)

const (
	// maxPasskeyName is how many characters the name of a passkey may have.
	maxPasskeyName = 64
	// maxResponse is the size in bytes of the largest response of an authenticator that is read. Responses without an
	// attestation have about one thousand.
	maxResponse = 16 << 10
	// product is the name of the service that authenticators show.
	product = "Quittance"
)

// RelyingParty is the site that passkeys belong to (WebAuthn Level 3, section 4).
type RelyingParty struct {
	// ID is the host name, to which authenticators bind passkeys.
	ID string
	// Origin is the scheme, the host name and the port of the pages.
	Origin string
}

// RelyingParty returns the site of the service, and false if it cannot have passkeys: browsers demand https and a host
// name, and accept http for localhost alone. Without an address, host, which a request names, counts only if it is
// localhost and the environment is not production: whoever sends a request chooses it.
func (u PublicURL) RelyingParty(environment string, secure bool, host string) (RelyingParty, bool) {
	if u == "" && environment == "production" {
		return RelyingParty{}, false
	}
	parsed, err := url.Parse(u.Base(secure, host))
	if err != nil {
		return RelyingParty{}, false
	}
	name := parsed.Hostname()
	if local := name == "localhost"; !local && (u == "" || parsed.Scheme != "https") ||
		protocol.ValidateRPID(name) != nil {
		return RelyingParty{}, false
	}
	return RelyingParty{ID: name, Origin: parsed.Scheme + "://" + parsed.Host}, true
}

// party returns the library's form of a site. Only its configuration can fail.
func (p RelyingParty) party() (*webauthn.WebAuthn, error) {
	return webauthn.New(&webauthn.Config{RPID: p.ID, RPDisplayName: product, RPOrigins: []string{p.Origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{ResidentKey: protocol.ResidentKeyRequirementPreferred,
			UserVerification: protocol.VerificationPreferred},
		// Password managers send outputs that nobody asked for. None is read.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore})
}

// ceremony is what a challenge is good for, and the digest of the pending login or session that holds it: a challenge
// of one browser is worth nothing in another one.
type ceremony struct {
	purpose identity.ChallengePurpose
	holder  [32]byte
}

func loginCeremony(login identity.PendingLogin) ceremony {
	return ceremony{identity.ChallengeLogin, login.Digest}
}

func confirmation(session base.Session) ceremony {
	return ceremony{identity.ChallengeConfirmation, session.Digest}
}

func registration(session base.Session) ceremony {
	return ceremony{identity.ChallengeRegistration, session.Digest}
}

// challenge returns the digest of a challenge, in base64url as clients return it.
func (c ceremony) challenge(text string) identity.Challenge {
	hash := sha256.New()
	fmt.Fprintf(hash, "quittance/passkey/challenge/v1 %s %x ", c.purpose, c.holder)
	hash.Write([]byte(text))
	return identity.Challenge{Digest: [32]byte(hash.Sum(nil)), Purpose: c.purpose}
}

// credentialUser is a user with passkeys, as the library wants it.
type credentialUser struct {
	base.User
	passkeys []identity.Passkey
}

func (u credentialUser) WebAuthnID() []byte          { return u.ID[:] }
func (u credentialUser) WebAuthnName() string        { return u.Email }
func (u credentialUser) WebAuthnDisplayName() string { return u.Name }

func (u credentialUser) WebAuthnCredentials() []webauthn.Credential {
	var out []webauthn.Credential
	for _, p := range u.passkeys {
		c := webauthn.Credential{ID: p.Credential.ID, PublicKey: p.Credential.PublicKey,
			Flags:         webauthn.CredentialFlags{BackupEligible: p.Credential.BackupEligible},
			Authenticator: webauthn.Authenticator{SignCount: p.SignCount}}
		for _, transport := range p.Credential.Transports {
			c.Transport = append(c.Transport, protocol.AuthenticatorTransport(transport))
		}
		out = append(out, c)
	}
	return out
}

// BeginPasskey returns the options for the registration of a passkey of the user of a session, in JSON
// (PublicKeyCredentialCreationOptionsJSON). Their challenge works once within five minutes.
func (s *Service) BeginPasskey(ctx context.Context, session base.Session, site RelyingParty) ([]byte, error) {
	user, err := s.credentialUser(ctx, session)
	if err != nil {
		return nil, err
	}
	party, err := site.party()
	if err != nil {
		return nil, err
	}
	options, _, err := party.BeginRegistration(user,
		webauthn.WithExclusions(webauthn.Credentials(user.WebAuthnCredentials()).CredentialDescriptors()))
	if err != nil {
		return nil, err
	}
	if err := identity.BeginPasskey(ctx, session.Tenant, session,
		registration(session).challenge(options.Response.Challenge.String())); err != nil {
		return nil, err
	}
	return json.Marshal(options.Response)
}

// BeginConfirmation returns the options for an assertion that confirms a change of the user of a session, in JSON
// (PublicKeyCredentialRequestOptionsJSON). The error is [base.ErrNotFound] if the user has no passkey, or
// [identity.ErrSessionEnded].
func (s *Service) BeginConfirmation(ctx context.Context, session base.Session, site RelyingParty) ([]byte, error) {
	user, err := s.credentialUser(ctx, session)
	if err != nil {
		return nil, err
	}
	return site.request(user, func(challenge string) error {
		return identity.BeginPasskey(ctx, session.Tenant, session, confirmation(session).challenge(challenge))
	})
}

// BeginPasskeyLogin returns the options for an assertion that completes a pending login, in JSON as
// [Service.BeginConfirmation] does. It counts towards the limits of the source. The error is [ErrNoPendingLogin],
// [base.ErrNotFound] if the user has no passkey, or [*LimitedError].
func (s *Service) BeginPasskeyLogin(ctx context.Context, from string, pending secret.Text,
	site RelyingParty) ([]byte, error) {
	if _, err := s.beginInvitation(ctx, from); err != nil {
		return nil, err
	}
	waiting, err := identity.FindPendingLogin(ctx, s.DB, secret.LoginDigest(pending))
	if errors.Is(err, base.ErrNotFound) {
		return nil, ErrNoPendingLogin
	}
	if err != nil {
		return nil, err
	}
	factor, err := identity.FindSecondFactor(ctx, s.DB, waiting.User)
	if err != nil {
		return nil, err
	}
	return site.request(credentialUser{waiting.User, factor.Passkeys}, func(challenge string) error {
		return identity.BeginPasskeyLogin(ctx, s.DB, waiting, loginCeremony(waiting).challenge(challenge).Digest)
	})
}

// LoginFactors returns the second factor of the user of a pending login. The error is [ErrNoPendingLogin].
func (s *Service) LoginFactors(ctx context.Context, pending secret.Text) (identity.SecondFactor, error) {
	waiting, err := identity.FindPendingLogin(ctx, s.DB, secret.LoginDigest(pending))
	if err != nil {
		return identity.SecondFactor{}, noPendingLogin(err)
	}
	factor, err := identity.FindSecondFactor(ctx, s.DB, waiting.User)
	return factor, noPendingLogin(err)
}

// noPendingLogin converts [base.ErrNotFound] to [ErrNoPendingLogin].
func noPendingLogin(err error) error {
	if errors.Is(err, base.ErrNotFound) {
		return ErrNoPendingLogin
	}
	return err
}

// credentialUser returns the user of a session with the passkeys, if there are any.
func (s *Service) credentialUser(ctx context.Context, session base.Session) (credentialUser, error) {
	user, err := identity.FindUserOf(ctx, s.DB, session)
	if err != nil {
		return credentialUser{}, err
	}
	factor, err := identity.FindSecondFactor(ctx, s.DB, user)
	if errors.Is(err, base.ErrNotFound) {
		err = nil
	}
	return credentialUser{user, factor.Passkeys}, err
}

// request returns the options for an assertion of a user whose challenge was stored.
func (p RelyingParty) request(user credentialUser, keep func(challenge string) error) ([]byte, error) {
	if len(user.passkeys) == 0 {
		return nil, base.ErrNotFound
	}
	party, err := p.party()
	if err != nil {
		return nil, err
	}
	options, _, err := party.BeginLogin(user)
	if err != nil {
		return nil, err
	}
	if err := keep(options.Response.Challenge.String()); err != nil {
		return nil, err
	}
	return json.Marshal(options.Response)
}

// verify returns the proof of an assertion; nil for a wrong one. That its challenge was given out for this ceremony is
// known when it is used up, and so is whether the counter has grown.
func (c ceremony) verify(given Factor, user base.User, passkeys []identity.Passkey) *identity.FactorProof {
	if len(given.Assertion) > maxResponse || len(passkeys) == 0 {
		return nil
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(given.Assertion)
	if err != nil {
		return nil
	}
	party, err := given.Site.party()
	if err != nil {
		return nil
	}
	challenge := parsed.Response.CollectedClientData.Challenge
	if _, err := party.ValidateLogin(credentialUser{user, passkeys},
		webauthn.SessionData{Challenge: challenge, UserID: user.ID[:]}, parsed); err != nil {
		return nil
	}
	used := slices.IndexFunc(passkeys,
		func(p identity.Passkey) bool { return string(p.Credential.ID) == string(parsed.RawID) })
	if used < 0 {
		return nil
	}
	return &identity.FactorProof{Passkey: &identity.PasskeyProof{Passkey: passkeys[used].ID,
		SignCount: parsed.Response.AuthenticatorData.Counter, Challenge: c.challenge(challenge)}}
}

// NewPasskey is a passkey to be added.
type NewPasskey struct {
	Name string
	// Response is that of the authenticator in JSON (WebAuthn Level 3, section 5.1.8.1).
	Response []byte
	Site     RelyingParty
	// Present is for the present second factor, or the password if there is none.
	Present Factor
}

// AddPasskey adds a passkey of the user of a session, and returns recovery codes if it is the user's first second
// factor. The error is [ErrPasskeyName], [ErrPasskey], [base.ErrExists], [identity.ErrPasskeyLimit], [*LimitedError],
// [identity.ErrSessionEnded] or one of proveOwner.
func (s *Service) AddPasskey(ctx context.Context, session base.Session, from string,
	add NewPasskey) ([]secret.Text, error) {
	name, err := passkeyName(add.Name)
	if err != nil {
		return nil, err
	}
	user, err := identity.FindUserOf(ctx, s.DB, session)
	if err != nil {
		return nil, err
	}
	a, err := s.beginInvitation(ctx, from)
	if err != nil {
		return nil, err
	}
	fresh, err := register(add, user, registration(session))
	if err != nil {
		return nil, err
	}
	if fresh.Proof, err = a.proveOwner(ctx, session, user, from, add.Present); err != nil {
		return nil, err
	}
	codes, digests, err := s.newRecoveryCodes(user.ID)
	if err != nil {
		return nil, err
	}
	fresh.Name, fresh.Recovery = name, digests
	first, err := identity.AddPasskey(ctx, session.Tenant, session, fresh)
	switch err := a.refused(ctx, user, fresh.Proof, err); {
	case errors.Is(err, identity.ErrChallenge):
		return nil, ErrPasskey
	case errors.Is(err, base.ErrExists), errors.Is(err, identity.ErrPasskeyLimit), err == nil:
		if !first {
			codes = nil
		}
		return codes, errors.Join(err, a.cancel(ctx))
	default:
		return nil, err
	}
}

// register verifies the response of an authenticator to a registration. The error is [ErrPasskey]. That the challenge
// was given out for it is known when it is used up.
func register(add NewPasskey, user base.User, by ceremony) (identity.NewPasskey, error) {
	if len(add.Response) > maxResponse {
		return identity.NewPasskey{}, ErrPasskey
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(add.Response)
	if err != nil {
		return identity.NewPasskey{}, ErrPasskey
	}
	party, err := add.Site.party()
	if err != nil {
		return identity.NewPasskey{}, err
	}
	challenge := parsed.Response.CollectedClientData.Challenge
	made, err := party.CreateCredential(credentialUser{User: user}, webauthn.SessionData{Challenge: challenge,
		UserID: user.ID[:], CredParams: webauthn.CredentialParametersDefault()}, parsed)
	if err != nil {
		return identity.NewPasskey{}, ErrPasskey
	}
	out := identity.NewPasskey{SignCount: made.Authenticator.SignCount, Challenge: by.challenge(challenge),
		Credential: identity.PasskeyCredential{ID: made.ID, PublicKey: made.PublicKey,
			BackupEligible: made.Flags.BackupEligible}}
	for _, transport := range made.Transport {
		out.Credential.Transports = append(out.Credential.Transports, string(transport))
	}
	return out, nil
}

// RenamePasskey gives a passkey of the user of a session another name. The error is [ErrPasskeyName],
// [base.ErrNotFound] or [identity.ErrSessionEnded].
func (s *Service) RenamePasskey(ctx context.Context, session base.Session, id base.ID, name string) error {
	name, err := passkeyName(name)
	if err != nil {
		return err
	}
	return identity.RenamePasskey(ctx, session.Tenant, session, id, name)
}

// RemovePasskey removes a passkey of the user of a session, and ends the user's other sessions. Its errors are those of
// [Service.DisableSecondFactor]; [base.ErrNotFound] says that the user has no such passkey.
func (s *Service) RemovePasskey(ctx context.Context, session base.Session, from, password string, given Factor,
	id base.ID) error {
	_, err := s.withBothFactors(ctx, session, from, password, given, func(_ base.User, proof *identity.FactorProof) error {
		if proof == nil {
			return base.ErrNotFound
		}
		return identity.RemovePasskey(ctx, session.Tenant, session, id, proof)
	})
	return err
}

// passkeyName returns the name of a passkey without surrounding white space. The error is [ErrPasskeyName].
func passkeyName(text string) (string, error) {
	if text = strings.TrimSpace(text); text == "" || !isName(text) || len([]rune(text)) > maxPasskeyName {
		return "", ErrPasskeyName
	}
	return text, nil
}
