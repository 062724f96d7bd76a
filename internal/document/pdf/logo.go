package pdf

import (
	"bytes"
	"encoding/base64"
	"image"
	standard "image/color"
	_ "image/jpeg" // a format of logos
	_ "image/png"  // a format of logos
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
	"golang.org/x/image/draw"
)

// maxLogoPixels is the width and height of the embedded logo, which is enough for 300 dots per inch at its largest
// size.
const maxLogoPixels = 640

// logo is an image on white.
type logo struct{ pixels *image.RGBA }

// readLogo decodes a logo: a data URL as the company profile has it. It is nil if there is none, or if it is not an
// image, which the API does not accept.
func readLogo(url string) *logo {
	_, text, ok := strings.Cut(url, ";base64,")
	if !ok {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	if size, _, err := image.DecodeConfig(bytes.NewReader(raw)); err != nil || size.Width < 1 || size.Height < 1 ||
		max(size.Width, size.Height) > 2048 {
		return nil
	}
	decoded, _, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	width, height := decoded.Bounds().Dx(), decoded.Bounds().Dy()
	if largest := max(width, height); largest > maxLogoPixels {
		width, height = max(1, width*maxLogoPixels/largest), max(1, height*maxLogoPixels/largest)
	}
	pixels := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(pixels, pixels.Bounds(), image.NewUniform(standard.White), image.Point{}, draw.Src)
	draw.ApproxBiLinear.Scale(pixels, pixels.Bounds(), decoded, decoded.Bounds(), draw.Over, nil)
	return &logo{pixels: pixels}
}

// size returns the width and height in points, within a box.
func (l *logo) size(most, highest float64) (width, height float64) {
	width, height = float64(l.pixels.Rect.Dx()), float64(l.pixels.Rect.Dy())
	factor := min(most/width, highest/height)
	return width * factor, height * factor
}

// write adds the image to a file.
func (l *logo) write(w *file) (types.IndirectRef, error) {
	colors := make([]byte, 0, len(l.pixels.Pix)/4*3)
	for at := 0; at < len(l.pixels.Pix); at += 4 {
		colors = append(colors, l.pixels.Pix[at:at+3]...)
	}
	return w.stream(types.Dict{
		"Type": types.Name("XObject"), "Subtype": types.Name("Image"), "Width": types.Integer(l.pixels.Rect.Dx()),
		"Height": types.Integer(l.pixels.Rect.Dy()), "ColorSpace": types.Name("DeviceRGB"),
		"BitsPerComponent": types.Integer(8),
	}, colors)
}
