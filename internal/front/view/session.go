package view

import (
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

// Session presents the record of a session to the caller with the session by.
func Session(r identity.SessionRecord, by base.Session) api.Session {
	given := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	var used *time.Time
	if r.LastUsedAt != nil {
		used = new(*r.LastUsedAt)
	}
	return api.Session{ID: r.ID.String(), UserID: r.User.String(), Current: r.ID == by.RecordID(),
		Client: given(string(r.Client)), Means: given(string(r.Means)), Source: given(r.Source),
		Device: given(Device(r.UserAgent)), UserAgent: given(r.UserAgent), CreatedAt: r.CreatedAt,
		LastUsedAt: used, ExpiresAt: r.ExpiresAt, EndedAt: r.EndedAt}
}

// The programs and systems that people know by name, with the text of a User-Agent by which they are recognized. The
// first that matches counts: browsers also name those that they are compatible with.
var (
	browsers = [...][2]string{{"Edg/", "Edge"}, {"EdgA/", "Edge"}, {"EdgiOS/", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, //nolint:gochecknoglobals // a constant table
		{"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"Chrome/", "Chrome"}, {"CriOS/", "Chrome"}, {"Version/", "Safari"}}
	systems = [...][2]string{{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"CrOS", "ChromeOS"}, //nolint:gochecknoglobals // a constant table
		{"Mac OS X", "macOS"}, {"Macintosh", "macOS"}, {"Linux", "Linux"}}
)

// maxDevice is the length in bytes of the description of a program that is no known browser.
const maxDevice = 64

// Device returns a short description of what a User-Agent says (RFC 9110, section 10.1.5): "Firefox on Windows", or the
// first product with its version, such as "curl/8.5.0"; "" for an empty one. It is what a program says about itself,
// for people only.
func Device(userAgent string) string {
	if !strings.HasPrefix(userAgent, "Mozilla/") {
		product, _, _ := strings.Cut(strings.TrimSpace(userAgent), " ")
		if len(product) > maxDevice {
			product = strings.ToValidUTF8(product[:maxDevice], "")
		}
		return product
	}
	var named []string
	for _, table := range [...][][2]string{browsers[:], systems[:]} {
		for _, known := range table {
			if strings.Contains(userAgent, known[0]) {
				named = append(named, known[1])
				break
			}
		}
	}
	if len(named) == 0 {
		return "Mozilla"
	}
	return strings.Join(named, " on ")
}
