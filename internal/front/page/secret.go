package page

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"

	"github.com/boombuler/barcode/qr"

	"quittance/internal/account"
	"quittance/internal/platform/secret"
)

// QRCode returns a QR code (ISO/IEC 18004) as a data URL, dark on light with the quiet zone of four modules that
// scanners need.
func QRCode(text secret.Text) (template.URL, error) {
	const scale, quiet = 5, 4
	modules, err := qr.Encode(text.Reveal(), qr.M, qr.Auto)
	if err != nil {
		return "", errors.New("the address of an authenticator app has no QR code") // the cause might have the secret
	}
	side := modules.Bounds().Dx()
	picture := image.NewGray(image.Rect(0, 0, (side+2*quiet)*scale, (side+2*quiet)*scale))
	for y := range picture.Rect.Dy() {
		for x := range picture.Rect.Dx() {
			at := image.Pt(x/scale-quiet, y/scale-quiet)
			if !at.In(modules.Bounds()) || modules.At(at.X, at.Y) != color.Color(color.Black) {
				picture.SetGray(x, y, color.Gray{Y: 0xff})
			}
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		return "", fmt.Errorf("page: QR code: %w", err)
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(out.Bytes())), nil //nolint:gosec // base64 of our own picture
}

// passwordField is a field for a password.
type passwordField struct {
	Name, Label string
	// Fault is the key of an error message below "account.password.", or "".
	Fault string
	Focus bool
}

// Min and Max are the lengths of a new password in characters.
func (passwordField) Min() int { return account.MinPassword }

// Max returns the longest one.
func (passwordField) Max() int { return account.MaxPassword }

// newPassword returns the field of a password that the user chooses.
func newPassword(name, label, fault string) passwordField {
	return passwordField{Name: name, Label: label, Fault: fault}
}

// currentPassword returns the field of the present password.
func currentPassword(label string, wrong, focus bool) passwordField {
	f := passwordField{Label: label, Focus: focus}
	if wrong {
		f.Fault = "wrong"
	}
	return f
}
