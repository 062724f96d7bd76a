package mail

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/textproto"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// errMessage says that a mail cannot be written.
var errMessage = errors.New("the message cannot be written")

// code returns the number with which the relay refused; 0 if it did not.
func code(err error) int {
	if refused, ok := errors.AsType[*gomail.SendError](err); ok && refused.ErrorCode() > 0 {
		return refused.ErrorCode()
	}
	if refused, ok := errors.AsType[*textproto.Error](err); ok {
		return refused.Code
	}
	return 0
}

// reasonOf returns why an attempt has failed, and whether no other attempt can succeed: only a refusal of the recipient or of the message
// with a permanent number (5xx) is final. A refusal of the login or the sender is a matter of the settings, which somebody can mend.
func reasonOf(err error) (reason string, final bool) {
	if errors.Is(err, errMessage) {
		return reasonUnwritableMessage, true
	}
	number := code(err)
	refused, sending := errors.AsType[*gomail.SendError](err)
	switch {
	case isTLS(err):
		return reasonNoTLS, false
	case number >= 400 && number < 500:
		return reasonDeferred, false
	case number >= 500 && sending && refused.Reason == gomail.ErrSMTPRcptTo:
		return reasonRecipientRefused, true
	case number >= 500 && sending && (refused.Reason == gomail.ErrSMTPData || refused.Reason == gomail.ErrSMTPDataClose):
		return reasonMessageRefused, true
	case number >= 500, errors.Is(err, gomail.ErrPlainAuthNotSupported), errors.Is(err, gomail.ErrLoginAuthNotSupported), strings.Contains(err.Error(), "SMTP AUTH"):
		return reasonRelayRefused, false
	}
	return reasonUnreachable, false
}

// isTLS reports whether an error is about TLS. The library has no error for a relay without STARTTLS.
func isTLS(err error) bool {
	_, verification := errors.AsType[*tls.CertificateVerificationError](err)
	_, header := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	return verification || header || alert || unknown || strings.Contains(err.Error(), "does not support STARTTLS")
}

// Explain says in a sentence why sending has failed; it repeats nothing of what the relay said but its number.
func Explain(err error) string {
	reason, _ := reasonOf(err)
	return map[string]string{
		reasonUnreachable:       "the relay does not answer, or has ended the dialogue early",
		reasonDeferred:          "the relay asks to try again later",
		reasonRelayRefused:      "the relay refuses the login or the sender",
		reasonRecipientRefused:  "the relay refuses the recipient",
		reasonMessageRefused:    "the relay refuses the message",
		reasonNoTLS:             "the relay offers no TLS, or its certificate is not valid (see --smtp-ca)",
		reasonUnwritableMessage: "the address cannot be written into a message",
	}[reason]
}
