package secret

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// TokenPrefix begins every access token, so that people and secret scanners recognise one.
const TokenPrefix = "qt_"

// SessionPrefix begins the secret of a browser's session. It differs from [TokenPrefix], so that people see which is
// which.
const SessionPrefix = "qs_"

// InvitationPrefix begins the secret of an invitation.
const InvitationPrefix = "qi_"

// ResetPrefix begins the secret of a link with which a user chooses a new password.
const ResetPrefix = "qr_"

// ProofPrefix begins the secret of a link with which a user proves to have an e-mail address.
const ProofPrefix = "qv_"

// ChoicePrefix begins the secret that binds the choice of a company to a browser.
const ChoicePrefix = "qc_"

// LoginPrefix begins the secret that binds a pending login to a browser.
const LoginPrefix = "ql_"

// The prefixes of the secrets of operators: that of an enrolment link, and that of a session.
const (
	EnrolmentPrefix       = "qe_"
	OperatorSessionPrefix = "qo_"
)

// tokenBytes is the entropy of an access token: 256 bits.
const tokenBytes = 32

// NewToken returns a new access token: [TokenPrefix] and 256 bits of random as 43 base64url characters (RFC 4648,
// section 5). It fails only if random does.
func NewToken(random io.Reader) (Text, error) { return newToken(TokenPrefix, random) }

// NewSession returns the secret of a new session of a browser: [SessionPrefix] and as much random as a token has. It
// fails only if random does.
func NewSession(random io.Reader) (Text, error) { return newToken(SessionPrefix, random) }

// NewInvitation returns the secret of a new invitation: [InvitationPrefix] and as much random as a token has. It fails
// only if random does.
func NewInvitation(random io.Reader) (Text, error) { return newToken(InvitationPrefix, random) }

// NewReset returns the secret of a new link for a password: [ResetPrefix] and as much random as a token has. It fails
// only if random does.
func NewReset(random io.Reader) (Text, error) { return newToken(ResetPrefix, random) }

// NewProof returns the secret of a new link that proves an address: [ProofPrefix] and as much random as a token has. It
// fails only if random does.
func NewProof(random io.Reader) (Text, error) { return newToken(ProofPrefix, random) }

// NewChoice returns the secret of a new choice of a company: [ChoicePrefix] and as much random as a token has. It fails
// only if random does.
func NewChoice(random io.Reader) (Text, error) { return newToken(ChoicePrefix, random) }

// NewLogin returns the secret of a pending login: [LoginPrefix] and as much random as a token has. It fails only if
// random does.
func NewLogin(random io.Reader) (Text, error) { return newToken(LoginPrefix, random) }

// NewEnrolment returns the secret of the link with which an operator enrols: [EnrolmentPrefix] and as much random as a
// token has. It fails only if random does.
func NewEnrolment(random io.Reader) (Text, error) { return newToken(EnrolmentPrefix, random) }

// NewOperatorSession returns the secret of a new session of an operator: [OperatorSessionPrefix] and as much random as
// a token has. It fails only if random does.
func NewOperatorSession(random io.Reader) (Text, error) {
	return newToken(OperatorSessionPrefix, random)
}

func newToken(prefix string, random io.Reader) (Text, error) {
	var raw [tokenBytes]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return Text{}, fmt.Errorf("secret: new token: %w", err)
	}
	return New(prefix + base64.RawURLEncoding.EncodeToString(raw[:])), nil
}

// Digest returns the SHA-256 by which an access token is stored and looked up.
//
// It needs neither salt nor a slow hash: these slow down guessing a value that people choose, and a token has 256
// random bits. The digest can be an index key: because an attacker cannot choose a digest close to a stored one, the
// time of an index look-up reveals nothing. Never use it for a password.
func Digest(t Text) [sha256.Size]byte { return sha256.Sum256([]byte(t.Reveal())) }

// SessionDigest is the [Digest] of a session. Tokens and sessions are rows of one table, because they end for the same
// reasons. The label that is hashed before the secret keeps them apart: the cookie of a session is not accepted as a
// bearer token, nor a bearer token as a session.
func SessionDigest(t Text) [sha256.Size]byte {
	return sha256.Sum256([]byte("quittance/session/v1\x00" + t.Reveal()))
}

// InvitationDigest is the [Digest] of the secret of an invitation, kept apart from the others by its label.
func InvitationDigest(t Text) [sha256.Size]byte {
	return sha256.Sum256([]byte("quittance/invitation/v1\x00" + t.Reveal()))
}

// ResetDigest is the [Digest] of the secret of a link for a new password, kept apart from the others by its label.
func ResetDigest(t Text) [sha256.Size]byte {
	return sha256.Sum256([]byte("quittance/password reset/v1\x00" + t.Reveal()))
}

// ProofDigest is the [Digest] of the secret of a link that proves an address, kept apart from the others by its label.
func ProofDigest(t Text) [sha256.Size]byte {
	return sha256.Sum256([]byte("quittance/address proof/v1\x00" + t.Reveal()))
}

// ChoiceDigest is the [Digest] of the secret of the choice of a company, kept apart from the others by its label.
func ChoiceDigest(t Text) [sha256.Size]byte {
	return sha256.Sum256([]byte("quittance/sign-on choice/v1\x00" + t.Reveal()))
}

// LoginDigest is the [Digest] of the secret of a pending login, kept apart from the others by its label: it is no
// session.
func LoginDigest(t Text) [sha256.Size]byte {
	return sha256.Sum256([]byte("quittance/login/v1\x00" + t.Reveal()))
}

// EnrolmentDigest is the [Digest] of the secret of an enrolment link, kept apart from the others by its label.
func EnrolmentDigest(t Text) [sha256.Size]byte {
	return sha256.Sum256([]byte("quittance/enrolment/v1\x00" + t.Reveal()))
}

// OperatorSessionDigest is the [Digest] of a session of an operator, kept apart from the others by its label.
func OperatorSessionDigest(t Text) [sha256.Size]byte {
	return sha256.Sum256([]byte("quittance/operator session/v1\x00" + t.Reveal()))
}

// The form of a generated password: seven groups of four characters out of 31, which is 138 bits.
const (
	// passwordAlphabet omits i, l, o, 0 and 1, which are easily confused.
	passwordAlphabet = "abcdefghjkmnpqrstuvwxyz23456789"
	passwordGroups   = 7
	passwordGroup    = 4
)

// NewPassword returns an initial password for a user: 34 characters such as abcd-efgh-jkmn-pqrs-tuvw-xyz2-3456 with 138
// bits of entropy and without characters that look alike. It fails only if random does.
func NewPassword(random io.Reader) (Text, error) {
	var raw [8 * passwordGroups * passwordGroup]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return Text{}, fmt.Errorf("secret: new password: %w", err)
	}
	var out strings.Builder
	for i := range passwordGroups * passwordGroup {
		if i > 0 && i%passwordGroup == 0 {
			out.WriteByte('-')
		}
		// 64 bits for each character keep the bias of the remainder below 2^-59.
		n := binary.BigEndian.Uint64(raw[8*i:]) % uint64(len(passwordAlphabet))
		out.WriteByte(passwordAlphabet[n])
	}
	return New(out.String()), nil
}
