package sso

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// AttemptTTL is how long a person may take to log in at the provider.
const AttemptTTL = 10 * time.Minute

// maxNext is the length in bytes of the longest page that an attempt leads to.
const maxNext = 1024

// Attempt is one attempt to log in, which only the browser that began it can continue. A cookie keeps it, so that every
// replica knows it.
//
// State, nonce and code verifier are derived from the key in the cookie by HMAC-SHA-256, so that they need not be
// stored anywhere and each reveals nothing about the others. They cover the time and the page too: a cookie that was
// changed belongs to another attempt.
type Attempt struct {
	key   [32]byte
	began int64 // seconds since 1970
	// Next is the page that the login leads to.
	Next string
}

// NewAttempt begins an attempt that leads to a page of the console. It fails only if random does.
func NewAttempt(random io.Reader, now time.Time, next string) (Attempt, error) {
	a := Attempt{began: now.Unix(), Next: next}
	if len(next) > maxNext {
		a.Next = "/"
	}
	if _, err := io.ReadFull(random, a.key[:]); err != nil {
		return Attempt{}, fmt.Errorf("begin a login: %w", err)
	}
	return a, nil
}

// Cookie returns the attempt as the value of a cookie, which [ReadAttempt] reads.
func (a Attempt) Cookie() string {
	return base64.RawURLEncoding.EncodeToString(a.key[:]) + "." + strconv.FormatInt(a.began, 10) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(a.Next))
}

// ReadAttempt reads the value of a cookie. The error is [ErrState].
func ReadAttempt(cookie string) (Attempt, error) {
	var a Attempt
	parts := strings.Split(cookie, ".")
	if len(parts) != 3 || len(cookie) > 2*maxNext {
		return Attempt{}, ErrState
	}
	key, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil || copy(a.key[:], key) != len(a.key) || len(key) != len(a.key) {
		return Attempt{}, ErrState
	}
	if a.began, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
		return Attempt{}, ErrState
	}
	next, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return Attempt{}, ErrState
	}
	a.Next = string(next)
	return a, nil
}

// derive returns a value of the attempt: 256 bits as 43 base64url characters, which is also the form of a code verifier
// (RFC 7636, section 4.1).
func (a Attempt) derive(purpose string) string {
	hash := hmac.New(sha256.New, a.key[:])
	fmt.Fprintf(hash, "%s\x00%d\x00%s", purpose, a.began, a.Next) // a hash.Hash returns no error
	return base64.RawURLEncoding.EncodeToString(hash.Sum(nil))
}

// Answer is what the provider answered to an attempt of this browser. Only [Attempt.Answer] makes one.
type Answer struct {
	attempt Attempt
	// code is the authorization code; "" if the provider did not log the person in.
	code string
	// issuer is the provider's name for itself, or "".
	issuer string
	// fault is the provider's error code.
	fault string
}

// Answer reads the query with which the provider sent a browser back. The error is [ErrState] unless it answers this
// attempt, in time.
func (a Attempt) Answer(query url.Values, now time.Time) (Answer, error) {
	for _, values := range query {
		if len(values) > 1 {
			return Answer{}, ErrState // which of them counts must not depend on the reader (RFC 6749, section 3.1)
		}
	}
	same := subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(a.derive("state"))) == 1
	age := now.Sub(time.Unix(a.began, 0))
	if !same || age > AttemptTTL || age < -AttemptTTL { // clocks of replicas differ
		return Answer{}, ErrState
	}
	return Answer{attempt: a, code: query.Get("code"), issuer: query.Get("iss"), fault: query.Get("error")}, nil
}

// Next is the page that the login leads to.
func (a Answer) Next() string { return a.attempt.Next }

// Digest names the attempt, so that it can be used up. It reveals nothing about the attempt.
func (a Answer) Digest() [sha256.Size]byte { return sha256.Sum256([]byte(a.attempt.derive("digest"))) }
