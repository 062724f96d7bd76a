package mail

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/textproto"
	"regexp"
	"slices"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// errMessage says that a mail cannot be written.
var errMessage = errors.New("the message cannot be written")

// The reasons of failed attempts, which people read and logs and metrics show. They say nothing of the recipient.
const (
	reasonUnreachable = "unreachable" // no connection, a time-out, or a dialogue that ended early
	reasonDeferred    = "deferred"    // the relay said to try again later
	reasonNoTLS       = "tls"         // the relay offers no TLS, or its certificate is not valid
	// the relay refused the form of the dialogue, most often the name in EHLO
	reasonHelloRefused      = "hello_refused"
	reasonLoginRefused      = "login_refused"      // the relay wants a login, or another one
	reasonSenderRefused     = "sender_refused"     // the relay refused the sender
	reasonRelayDenied       = "relay_denied"       // a policy of the relay forbids the mail
	reasonRelayRefused      = "relay_refused"      // the relay refused before it knew the mail
	reasonRecipientRefused  = "recipient_refused"  // the relay refused the recipient
	reasonMessageRefused    = "message_refused"    // the relay refused the message
	reasonUnwritableMessage = "unwritable_message" // the address cannot be written into a message
)

// Reasons returns the reasons for which an attempt can fail.
func Reasons() []string {
	return []string{reasonUnreachable, reasonDeferred, reasonNoTLS, reasonHelloRefused, reasonLoginRefused,
		reasonSenderRefused, reasonRelayDenied, reasonRelayRefused, reasonRecipientRefused, reasonMessageRefused,
		reasonUnwritableMessage}
}

// reply is how the relay has refused.
type reply struct {
	// code is its number; 0 if the relay did not refuse.
	code int
	// status is the enhanced status code (RFC 3463) without its class, such as 1.1; "" if there is none.
	status string
}

// statusText finds both numbers of a reply in the text of an error.
var statusText = regexp.MustCompile(`\b[245]\d\d "?[245]\.(\d{1,3}\.\d{1,3})\b`)

// replyOf returns how the relay has refused. Relays give enhanced status codes whether they announce them or not.
func replyOf(err error) (r reply) {
	text := ""
	if refused, ok := errors.AsType[*gomail.SendError](err); ok && refused.ErrorCode() > 0 {
		r.code, text = refused.ErrorCode(), refused.Error()
	} else if refused, ok := errors.AsType[*textproto.Error](err); ok {
		r.code, text = refused.Code, refused.Error()
	}
	if found := statusText.FindStringSubmatch(text); found != nil {
		r.status = found[1]
	}
	return r
}

// reasonOf returns why an attempt has failed, and whether no other attempt can succeed: only a recipient that does not
// exist, and an address that cannot be written, are final. At which stage a relay refuses says nothing: many refuse the
// client, the login and the sender only when they hear of the recipient. All of that is a matter of settings, which
// somebody can mend.
func reasonOf(err error) (reason string, final bool) {
	r := replyOf(err)
	switch {
	case errors.Is(err, errMessage):
		return reasonUnwritableMessage, true
	case isTLS(err):
		return reasonNoTLS, false
	case r.code >= 400 && r.code < 500:
		return reasonDeferred, false
	case r.code >= 500:
		return refusal(r, err)
	case isLogin(err):
		return reasonLoginRefused, false
	}
	return reasonUnreachable, false
}

// refusal is [reasonOf] for a permanent reply (5xx).
func refusal(r reply, err error) (reason string, final bool) {
	subject, _, _ := strings.Cut(r.status, ".")
	switch {
	// no such mailbox or domain, or it has moved
	case slices.Contains([]string{"1.1", "1.2", "1.3", "1.6", "1.10"}, r.status):
		return reasonRecipientRefused, true
	// RFC 4954
	case slices.Contains([]int{530, 534, 535, 538}, r.code) || r.status == "7.8" || r.status == "7.9" || isLogin(err):
		return reasonLoginRefused, false
	case r.status == "1.7" || r.status == "1.8":
		return reasonSenderRefused, false
	case subject == "7":
		return reasonRelayDenied, false
	case subject == "5":
		return reasonHelloRefused, false
	case subject == "6":
		return reasonMessageRefused, false
	}
	// Without a status code that says more, the stage names the reason, and decides nothing.
	if sending, ok := errors.AsType[*gomail.SendError](err); ok {
		switch sending.Reason { //nolint:exhaustive // the relay replies at these alone
		case gomail.ErrSMTPMailFrom:
			return reasonSenderRefused, false
		case gomail.ErrSMTPRcptTo:
			return reasonRecipientRefused, false
		case gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
			return reasonMessageRefused, false
		}
	}
	return reasonRelayRefused, false
}

// isLogin reports whether an error is about the login.
func isLogin(err error) bool {
	return errors.Is(err, gomail.ErrPlainAuthNotSupported) || errors.Is(err, gomail.ErrLoginAuthNotSupported) ||
		strings.Contains(err.Error(), "SMTP AUTH")
}

// isTLS reports whether an error is about TLS. The library has no error for a relay without STARTTLS.
func isTLS(err error) bool {
	_, verification := errors.AsType[*tls.CertificateVerificationError](err)
	_, header := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	return verification || header || alert || unknown || strings.Contains(err.Error(), "does not support STARTTLS")
}

// Explain says in a sentence why sending has failed; it repeats nothing of what the relay said but its numbers.
func Explain(err error) string {
	reason, _ := reasonOf(err)
	text := map[string]string{
		reasonUnreachable:       "the relay does not answer, or has ended the dialogue early",
		reasonDeferred:          "the relay asks to try again later",
		reasonNoTLS:             "the relay offers no TLS, or its certificate is not valid (see --smtp-ca)",
		reasonHelloRefused:      "the relay refuses the form of the dialogue, most often the name of this server (see --smtp-hello)",
		reasonLoginRefused:      "the relay refuses the login, or requires one (see --smtp-url and --smtp-password-file)",
		reasonSenderRefused:     "the relay refuses the sender (see --smtp-from)",
		reasonRelayDenied:       "a policy of the relay forbids the e-mail: it may not accept e-mails from this server or this sender for others",
		reasonRelayRefused:      "the relay refuses this server",
		reasonRecipientRefused:  "the relay refuses the recipient",
		reasonMessageRefused:    "the relay refuses the message",
		reasonUnwritableMessage: "the address cannot be written into a message",
	}[reason]
	switch r := replyOf(err); {
	case r.code == 0:
		return text
	case r.status == "":
		return fmt.Sprintf("%s (%d)", text, r.code)
	default:
		return fmt.Sprintf("%s (%d %d.%s)", text, r.code, r.code/100, r.status)
	}
}
