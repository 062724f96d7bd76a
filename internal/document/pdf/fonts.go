package pdf

import (
	"bytes"
	"embed"
	"fmt"
	"sync"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

//go:embed assets/*.ttf assets/sRGB.icc
var assets embed.FS

// The typefaces, as indices of [typefaces]. Those of one weight follow each other.
const (
	latin = iota
	arabic
	latinBold
	arabicBold
	typefaceCount
)

// replacement is shown for a character that no font has. The Latin fonts have it.
const replacement = '\uFFFD'

// unitsPerEm is the size of the em square of every font, so that its units are those of PDF.
const unitsPerEm = 1000

// typeface is a font with the tables that are embedded.
type typeface struct {
	name   string
	font   *font.Font
	tables map[string][]byte
}

// embeddedTables are the tables of a TrueType font that a PDF needs (ISO 32000-1, 9.9), in the order of their tags.
var embeddedTables = [...]string{"glyf", "head", "hhea", "hmtx", "loca", "maxp"} //nolint:gochecknoglobals // a constant list

// typefaces parses the embedded fonts once. A font can be used concurrently.
var typefaces = sync.OnceValues(func() ([typefaceCount]typeface, error) { //nolint:gochecknoglobals // parsed once
	var out [typefaceCount]typeface
	for n, name := range [typefaceCount]string{"NotoSans-Regular", "NotoSansArabic-Regular", "NotoSans-Bold",
		"NotoSansArabic-Bold"} {
		file, err := assets.ReadFile("assets/" + name + ".ttf")
		if err != nil {
			return out, fmt.Errorf("font: %w", err)
		}
		loader, err := opentype.NewLoader(bytes.NewReader(file))
		if err != nil {
			return out, fmt.Errorf("font %s: %w", name, err)
		}
		out[n] = typeface{name: name, tables: map[string][]byte{}}
		if out[n].font, err = font.NewFont(loader); err != nil {
			return out, fmt.Errorf("font %s: %w", name, err)
		}
		for _, table := range embeddedTables {
			if out[n].tables[table], err = loader.RawTable(opentype.MustNewTag(table)); err != nil {
				return out, fmt.Errorf("font %s: %w", name, err)
			}
		}
	}
	return out, nil
})
