package console

import (
	"net/http"
	"path"
	"strings"

	"golang.org/x/text/language"

	"quittance/client/api"
	"quittance/internal/access"
	"quittance/internal/account"
	"quittance/internal/problem"
)

// tongue is a language of the console. Its texts are in messages/NAME.json, where NAME is the language's tag (BCP 47).
type tongue struct {
	tag language.Tag
	// direction is the value of the attribute dir of HTML.
	direction string
}

// tongues are the languages of the console. The first is that of readers who prefer none of them. Numbers have Western
// digits in all of them: those are usual in the business documents of the United Arab Emirates.
var tongues = []tongue{{language.English, "ltr"}, {language.Arabic, "rtl"}} //nolint:gochecknoglobals // a constant table

// The names of the cookie with the language that a reader has chosen; see [secureCookie].
const (
	secureLanguageCookie = "__Host-quittance-language"
	plainLanguageCookie  = "quittance-language"
)

// languageCookieAge is the age, in seconds, at which a browser forgets the choice of a language: one year.
const languageCookieAge = 365 * 24 * 60 * 60

// maxAcceptLanguage is the number of bytes of a header Accept-Language that count.
const maxAcceptLanguage = 200

func languageRoutes() []route {
	return []route{{method: http.MethodPost, path: "/language", needs: access.Public, serve: (*request).chooseLanguage}}
}

// languages holds the pages in all languages.
type languages struct {
	// pages has the pages in the order of tongues.
	pages   []*templates
	matcher language.Matcher
}

func newLanguages(assets *assetFiles) (*languages, error) {
	l := &languages{}
	var tags []language.Tag
	for _, t := range tongues {
		messages, err := readCatalogue(t)
		if err != nil {
			return nil, err
		}
		pages, err := newTemplates(messages, assets, texts)
		if err != nil {
			return nil, err
		}
		l.pages, tags = append(l.pages, pages), append(tags, t.tag)
	}
	l.matcher = language.NewMatcher(tags)
	return l, nil
}

// named returns the pages in a language, or nil if the console does not have it.
func (l *languages) named(name string) *templates {
	for _, pages := range l.pages {
		if pages.messages.tag.String() == name {
			return pages
		}
	}
	return nil
}

// pagesFor returns the pages in the language of a request: the one that the reader has chosen in this browser, or else
// the one that the browser prefers.
func (c *Console) pagesFor(r *http.Request) *templates {
	if chosen, err := r.Cookie(c.languageCookieName()); err == nil {
		if pages := c.languages.named(chosen.Value); pages != nil {
			return pages
		}
	}
	header := r.Header.Get("Accept-Language")
	preferred, _, err := language.ParseAcceptLanguage(header[:min(len(header), maxAcceptLanguage)])
	if err != nil {
		return c.languages.pages[0]
	}
	_, index, confidence := c.languages.matcher.Match(preferred...)
	if confidence == language.No {
		return c.languages.pages[0]
	}
	return c.languages.pages[index]
}

func (c *Console) languageCookieName() string {
	if c.Secure {
		return secureLanguageCookie
	}
	return plainLanguageCookie
}

// languageChoice offers another language of the console.
type languageChoice struct {
	// Tag is the language's tag, and Name its name in itself.
	Tag, Name string
}

// otherLanguages returns the languages that the page does not have.
func (req *request) otherLanguages() (others []languageChoice) {
	for _, pages := range req.languages.pages {
		if pages != req.pages {
			others = append(others, languageChoice{Tag: pages.messages.tag.String(),
				Name: pages.messages.textOr("language.name", "")})
		}
	}
	return others
}

// chooseLanguage remembers a language in the browser and shows the page in it from which it was chosen. The cookie
// holds no secret, and the choice changes nothing that is stored.
func (req *request) chooseLanguage() error {
	chosen := req.form.Get("language")
	if req.languages.named(chosen) == nil {
		return problem.For(api.CodeMalformedRequest)
	}
	//nolint:gosec // Secure wherever browsers use TLS; otherwise the server listens on loopback only
	http.SetCookie(req.w, &http.Cookie{Name: req.languageCookieName(), Value: chosen, Path: "/", MaxAge: languageCookieAge,
		Secure: req.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	to, found := req.pageAt(req.form.Get("page"))
	if found == nil {
		to = "/"
	}
	if req.form.Get("code") != "" && opensWithCode(to) {
		// the browser sends the form there, and the code in no address
		http.Redirect(req.w, req.r, to, http.StatusTemporaryRedirect)
		return nil
	}
	return req.redirect(to)
}

// opensWithCode reports whether the page at a path is opened by the form with the secret of a link. Such a form changes
// nothing.
func opensWithCode(path string) bool { return path == account.JoinPath || path == account.ResetPath }

// pagePath returns the address of the page that a request shows, which chooseLanguage leads back to. A form that was
// sent leads to the page that it belongs to: the nearest one above its address. The page of an error does not repeat
// the address that it is about.
func (req *request) pagePath(status int) string {
	query, at := req.r.URL.Query(), req.r.URL.EscapedPath()
	query.Del(noticeParameter)
	switch {
	case req.r.Method == http.MethodPost:
		if next := req.form.Get("next"); next != "" { // a login leads there
			query.Set("next", next)
		}
		for _, found := req.pageAt(at); found == nil && at != "/"; _, found = req.pageAt(at) {
			at = path.Dir(at)
		}
	case status != http.StatusOK:
		return "/"
	}
	return strings.TrimSuffix(at+"?"+query.Encode(), "?")
}
