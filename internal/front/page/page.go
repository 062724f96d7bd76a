// Package page is the kit that the pages of Quittance are made with: those of a company (package console) and those of
// the operators (package operator). It has their layout, their components, their style and scripts, their languages,
// and the way in which a request is read and a response is sent.
//
// A surface has one [Kit] and makes a [Request] of each request; its own request embeds it. A page is a template in a
// file of the surface, which defines "content", and a handler that ends with [Request.Show]. Its texts are in the files
// messages/LANGUAGE.json of the surface; what all surfaces say is in those of this package.
//
// Its invariants: nothing is written before a response is complete, so that an error has a page of its own; every text
// is escaped by html/template; a page loads nothing of other sites; and the page of an error says nothing about its
// cause.
//
// Start reading at [New] and [Request.Serve].
package page

import (
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"golang.org/x/text/language"
)

//go:embed templates/*.html messages/*.json
var files embed.FS

// Config configures the pages of a surface.
type Config struct {
	// Files has the templates in templates/*.html, of which those in parts*.html are part of each page, and the texts in
	// messages/LANGUAGE.json.
	Files fs.FS
	// More has more templates, in the same way.
	More []fs.FS
	// Languages are the languages that the surface has. The first is that of readers who prefer none of them.
	Languages []Language
	// Funcs returns the functions of the templates in a language, beside those of this package; nil for none.
	Funcs func(Texts) template.FuncMap
	// Cookie is the beginning of the names of cookies.
	Cookie string
	// Environment is local, sandbox or production. Every page names the first two.
	Environment string
	// Secure reports that browsers use TLS to reach this server or a proxy in front of it.
	Secure bool
}

// Kit is what the pages of a surface have in common. It is safe for concurrent use.
type Kit struct {
	config    Config
	assets    *assetFiles
	languages []*Pages
	matcher   language.Matcher
	origins   *http.CrossOriginProtection
	buffers   bufferPool
	gzip      gzipPool
}

// New returns the kit of a surface. It fails when a template or a text cannot be read, so that the server does not
// start with a broken page.
func New(config Config) (*Kit, error) {
	k := &Kit{config: config, origins: http.NewCrossOriginProtection()}
	var err error
	if k.assets, err = newAssets(); err != nil {
		return nil, err
	}
	var tags []language.Tag
	for _, of := range config.Languages {
		texts, err := ReadTexts(of, config.Files)
		if err != nil {
			return nil, err
		}
		pages, err := newPages(texts, k.assets, config)
		if err != nil {
			return nil, err
		}
		k.languages, tags = append(k.languages, pages), append(tags, of.Tag)
	}
	k.matcher = language.NewMatcher(tags)
	return k, nil
}

// ServeAsset responds to a request for an asset, and reports whether it is one.
func (k *Kit) ServeAsset(w http.ResponseWriter, r *http.Request) bool {
	if !isAsset(r) {
		return false
	}
	k.assets.serve(w, r)
	return true
}

// AssetsRoute is the route of assets in the log.
const AssetsRoute = "/assets"

// isAsset reports whether a request is for an asset.
func isAsset(r *http.Request) bool { return strings.HasPrefix(r.URL.EscapedPath(), assetsPath) }

// CookieName returns the name of a cookie, which begins with [Config].Cookie. The prefix __Host- binds a cookie to this
// host and to TLS (RFC 6265bis, section 4.1.3.2). Browsers reject that name over plain HTTP, which is used on loopback
// only.
func (k *Kit) CookieName(suffix string) string {
	if k.config.Secure {
		return "__Host-" + k.config.Cookie + suffix
	}
	return k.config.Cookie + suffix
}

// NewCookie returns a cookie that expires at a time, which scripts cannot read; an empty value removes it.
func (k *Kit) NewCookie(suffix, value string, expires time.Time) *http.Cookie {
	//nolint:gosec // Secure wherever browsers use TLS; otherwise the server listens on loopback only
	cookie := &http.Cookie{Name: k.CookieName(suffix), Value: value, Path: "/", Secure: k.config.Secure, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Expires: expires}
	if value == "" {
		cookie.MaxAge = -1
	}
	return cookie
}

// policy is the content security policy of every page: it allows only this site's own scripts, styles, fonts and
// pictures.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secureHeaders sets the headers of every response. Assets and attachments override some of them.
func secureHeaders(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Frame-Options", "DENY")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	header.Set("Cache-Control", "no-store")
}
