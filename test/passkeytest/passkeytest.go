// Package passkeytest is an authenticator in software (WebAuthn Level 3), for tests without a browser.
package passkeytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Authenticator has one passkey. It is not safe for concurrent use.
type Authenticator struct {
	// Origin is that of the page which the browser shows.
	Origin string
	// Site is the host name that the passkey belongs to, from the registration.
	Site string
	// ID is the identifier of the passkey.
	ID []byte
	// Count is the signature counter of the last assertion. Each assertion has the next number.
	Count uint32
	key   *ecdsa.PrivateKey
}

// New returns an authenticator with a new key, for pages of an origin such as https://invoices.example.
func New(origin string) (*Authenticator, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	id := make([]byte, 32)
	_, err = rand.Read(id)
	return &Authenticator{Origin: origin, ID: id, key: key}, err
}

// stored is an authenticator in JSON.
type stored struct {
	Origin, Site string
	ID, Key      []byte
	Count        uint32
}

// MarshalJSON writes the authenticator with its private key.
func (a *Authenticator) MarshalJSON() ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		return nil, err
	}
	return json.Marshal(stored{a.Origin, a.Site, a.ID, key, a.Count})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (a *Authenticator) UnmarshalJSON(text []byte) error {
	var from stored
	if err := json.Unmarshal(text, &from); err != nil {
		return err
	}
	key, err := x509.ParsePKCS8PrivateKey(from.Key)
	if err != nil {
		return err
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return fmt.Errorf("the key of an authenticator is a %T", key)
	}
	*a = Authenticator{Origin: from.Origin, Site: from.Site, ID: from.ID, Count: from.Count, key: private}
	return nil
}

// The flags of authenticator data: a person is present, was verified, and the data has a credential.
const (
	userPresent  = 1 << 0
	userVerified = 1 << 2
	attested     = 1 << 6
)

// encoded is what WebAuthn has in base64url.
type encoded []byte

// MarshalText encodes it.
func (e encoded) MarshalText() ([]byte, error) {
	return []byte(base64.RawURLEncoding.EncodeToString(e)), nil
}

// Register returns the response to the options of a registration, in JSON.
func (a *Authenticator) Register(options string) (string, error) {
	var asked struct {
		Challenge string
		RP        struct{ ID string }
	}
	if err := json.Unmarshal([]byte(options), &asked); err != nil || asked.Challenge == "" || asked.RP.ID == "" {
		return "", fmt.Errorf("options of a registration: %q: %w", options, err)
	}
	a.Site = asked.RP.ID
	public, err := a.key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		return "", err
	}
	data := a.data(userPresent | userVerified | attested)
	data = append(data, make([]byte, 16)...)
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.ID))) //nolint:gosec // 32 bytes
	data = append(data, a.ID...)
	data = append(data, 0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32) // a COSE_Key: EC2, ES256, P-256
	data = append(data, public[1:33]...)
	data = append(data, 0x22, 0x58, 32)
	data = append(data, public[33:]...)
	object := slices.Concat([]byte{0xa3, 0x63}, []byte("fmt"), []byte{0x64}, []byte("none"), []byte{0x67},
		[]byte("attStmt"), []byte{0xa0, 0x68}, []byte("authData"), []byte{0x59})
	object = binary.BigEndian.AppendUint16(object, uint16(len(data))) //nolint:gosec // some hundred bytes
	client, err := a.clientData("webauthn.create", asked.Challenge)
	if err != nil {
		return "", err
	}
	return a.response(map[string]any{"clientDataJSON": encoded(client),
		"attestationObject": encoded(append(object, data...)), "transports": []string{"internal"}})
}

// Assert returns the response to the options of an assertion, in JSON. It fails if they do not allow the passkey.
func (a *Authenticator) Assert(options string) (string, error) {
	var asked struct {
		Challenge        string
		RPID             string
		AllowCredentials []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(options), &asked); err != nil || asked.Challenge == "" {
		return "", fmt.Errorf("options of an assertion: %q: %w", options, err)
	}
	if !slices.ContainsFunc(asked.AllowCredentials,
		func(c struct{ ID string }) bool { return c.ID == base64.RawURLEncoding.EncodeToString(a.ID) }) {
		return "", errors.New("the passkey is not allowed")
	}
	return a.Sign(asked.Challenge)
}

// Sign returns an assertion for a challenge, whoever has given it out, in JSON.
func (a *Authenticator) Sign(challenge string) (string, error) {
	a.Count++
	client, err := a.clientData("webauthn.get", challenge)
	if err != nil {
		return "", err
	}
	data, hash := a.data(userPresent|userVerified), sha256.Sum256(client)
	digest := sha256.Sum256(append(slices.Clone(data), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	if err != nil {
		return "", err
	}
	return a.response(map[string]any{"clientDataJSON": encoded(client), "authenticatorData": encoded(data),
		"signature": encoded(signature)})
}

func (a *Authenticator) data(flags byte) []byte {
	site := sha256.Sum256([]byte(a.Site))
	return binary.BigEndian.AppendUint32(append(site[:], flags), a.Count)
}

func (a *Authenticator) clientData(kind, challenge string) ([]byte, error) {
	return json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.Origin, "crossOrigin": false})
}

func (a *Authenticator) response(made map[string]any) (string, error) {
	text, err := json.Marshal(map[string]any{"id": encoded(a.ID), "rawId": encoded(a.ID), "type": "public-key",
		"clientExtensionResults": map[string]any{}, "response": made})
	return string(text), err
}
