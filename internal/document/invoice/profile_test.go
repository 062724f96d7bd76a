package invoice

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"quittance/client/api"
)

// picture returns an image of the given size; a noisy one cannot be compressed.
func picture(width, height int, noisy bool) *image.Gray {
	m := image.NewGray(image.Rect(0, 0, width, height))
	if noisy {
		draw := rand.New(rand.NewPCG(1, 2))
		for n := range m.Pix {
			m.Pix[n] = byte(draw.Uint32())
		}
	}
	return m
}

func pngOf(t *testing.T, m image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, m); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func jpegOf(t *testing.T, m image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := jpeg.Encode(&out, m, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestProfileFaults: a currency must be a known one, and a logo must be an image of limited size and nothing else.
func TestProfileFaults(t *testing.T) {
	small := pngOf(t, picture(40, 20, true))
	data := func(kind string, raw []byte) *string {
		return new("data:image/" + kind + ";base64," + base64.StdEncoding.EncodeToString(raw))
	}
	for name, tt := range map[string]struct {
		profile    api.Profile
		path, rule string
	}{
		"nothing":      {},
		"currency":     {profile: api.Profile{Currency: new("AED")}},
		"no currency":  {api.Profile{Currency: new("aed")}, "currency", "currency"},
		"PNG":          {profile: api.Profile{Logo: data("png", small)}},
		"JPEG":         {profile: api.Profile{Logo: data("jpeg", jpegOf(t, picture(40, 20, true)))}},
		"largest side": {profile: api.Profile{Logo: data("png", pngOf(t, picture(MaxLogoSide, 1, false)))}},
		"too wide": {api.Profile{Logo: data("png", pngOf(t, picture(MaxLogoSide+1, 1, false)))}, "logo",
			"image_size"},
		"too high": {api.Profile{Logo: data("png", pngOf(t, picture(1, MaxLogoSide+1, false)))}, "logo",
			"image_size"},
		"too many bytes":  {api.Profile{Logo: data("png", pngOf(t, picture(400, 400, true)))}, "logo", "image_size"},
		"of another kind": {api.Profile{Logo: data("jpeg", small)}, "logo", "image"},
		"SVG": {api.Profile{Logo: data("svg+xml",
			[]byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>`))}, "logo", "image"},
		"SVG that says PNG": {api.Profile{Logo: data("png", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`))},
			"logo", "image"},
		"a page":                 {api.Profile{Logo: new("data:text/html;base64,PGI+")}, "logo", "image"},
		"an address":             {api.Profile{Logo: new("https://example.com/logo.png")}, "logo", "image"},
		"not base64":             {api.Profile{Logo: new("data:image/png;base64,%")}, "logo", "image"},
		"not in base64":          {api.Profile{Logo: new("data:image/png," + string(small))}, "logo", "image"},
		"cut short":              {api.Profile{Logo: data("png", small[:len(small)-20])}, "logo", "image"},
		"empty":                  {api.Profile{Logo: new("")}, "logo", "image"},
		"a bomb of large bounds": {api.Profile{Logo: data("png", bomb(t))}, "logo", "image_size"},
	} {
		got := ProfileFaults(&tt.profile)
		if tt.rule == "" {
			if len(got) != 0 || got == nil {
				t.Errorf("%s: %v", name, got)
			}
			continue
		}
		if len(got) != 1 || len(got[tt.path]) != 1 || got[tt.path][0].Rule != tt.rule {
			t.Errorf("%s: %v, want %s at %s", name, got, tt.rule, tt.path)
		}
	}
}

// bomb returns a small file that claims to be an image of 50,000 by 50,000 pixels.
func bomb(t *testing.T) []byte {
	t.Helper()
	raw := pngOf(t, picture(50_000, 1, false))
	if len(raw) > MaxLogo || !strings.HasPrefix(string(raw), "\x89PNG") {
		t.Fatalf("a file of %d bytes", len(raw))
	}
	return raw
}
