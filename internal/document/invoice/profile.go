package invoice

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/codelist"
)

// The limits of a logo.
const (
	// MaxLogo is the largest image in bytes.
	MaxLogo = 64 << 10
	// MaxLogoSide is the largest width and height in pixels.
	MaxLogoSide = 2048
)

// logoForms are the image formats of a logo, by the prefix of its data URL. Formats that can contain a program, such as
// SVG, are not among them.
var logoForms = []struct { //nolint:gochecknoglobals // a constant table
	prefix string
	size   func(io.Reader) (image.Config, error)
	read   func(io.Reader) (image.Image, error)
}{
	{"data:image/png;base64,", png.DecodeConfig, png.Decode},
	{"data:image/jpeg;base64,", jpeg.DecodeConfig, jpeg.Decode},
}

// ProfileFaults checks the form rules of a company profile that struct tags cannot express: the currency must be one of
// ISO 4217, and the logo a complete PNG or JPEG image within [MaxLogo] and [MaxLogoSide], as a data URL in base64. The
// result is never nil.
func ProfileFaults(p *api.Profile) api.Faults {
	faults := api.Faults{}
	if p.Currency != nil && !codelist.Currencies().Has(*p.Currency) {
		faults.Add("currency", "currency", "must be a currency code of ISO 4217, in capital letters")
	}
	if p.Logo != nil {
		logoFaults(faults, *p.Logo)
	}
	return faults
}

func logoFaults(faults api.Faults, logo string) {
	for _, form := range logoForms {
		text, ok := strings.CutPrefix(logo, form.prefix)
		if !ok {
			continue
		}
		raw, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil {
			break
		}
		if len(raw) > MaxLogo {
			faults.Add("logo", "image_size", fmt.Sprintf("must have at most %d bytes", MaxLogo))
			return
		}
		// Check the dimensions first, because a small file may decode to a large image.
		size, err := form.size(bytes.NewReader(raw))
		if err != nil {
			break
		}
		if size.Width > MaxLogoSide || size.Height > MaxLogoSide {
			faults.Add("logo", "image_size", fmt.Sprintf("must be at most %d pixels wide and high", MaxLogoSide))
			return
		}
		if _, err := form.read(bytes.NewReader(raw)); err != nil {
			break
		}
		return
	}
	faults.Add("logo", "image",
		"must be a PNG or JPEG image as a data URL: data:image/png;base64,… or data:image/jpeg;base64,…")
}
