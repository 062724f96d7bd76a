package page

import (
	"net/http"
	"time"

	"golang.org/x/text/language"
)

// Language is a language of the pages. Its texts are in messages/TAG.json, where TAG is its tag (BCP 47).
type Language struct {
	Tag language.Tag
	// Direction is the value of the attribute dir of HTML.
	Direction string
}

// Languages returns the languages that this package has. Numbers have Western digits in all of them: those are usual in
// the business documents of the United Arab Emirates.
func Languages() []Language { return []Language{{language.English, "ltr"}, {language.Arabic, "rtl"}} }

const (
	languageCookie = "-language"
	// languageCookieAge is the age, in seconds, at which a browser forgets the choice of a language: one year.
	languageCookieAge = 365 * 24 * 60 * 60
	// maxAcceptLanguage is the number of bytes of a header Accept-Language that count.
	maxAcceptLanguage = 200
)

// Named returns the pages in the language with a tag, or nil if the surface does not have it.
func (k *Kit) Named(tag string) *Pages {
	for _, pages := range k.languages {
		if pages.Texts.Tag.String() == tag {
			return pages
		}
	}
	return nil
}

// For returns the pages in the language of a request: the one that the reader has chosen in this browser, or else the
// one that the browser prefers.
func (k *Kit) For(r *http.Request) *Pages {
	if len(k.languages) == 1 {
		return k.languages[0]
	}
	if chosen, err := r.Cookie(k.CookieName(languageCookie)); err == nil {
		if pages := k.Named(chosen.Value); pages != nil {
			return pages
		}
	}
	header := r.Header.Get("Accept-Language")
	preferred, _, err := language.ParseAcceptLanguage(header[:min(len(header), maxAcceptLanguage)])
	if err != nil {
		return k.languages[0]
	}
	_, index, confidence := k.matcher.Match(preferred...)
	if confidence == language.No {
		return k.languages[0]
	}
	return k.languages[index]
}

// Choose remembers a language in the browser. The cookie holds no secret, and the choice changes nothing that is
// stored.
func (req *Request) Choose(pages *Pages) {
	cookie := req.NewCookie(languageCookie, pages.Texts.Tag.String(), time.Time{}) //nolint:gosec // the kit makes it secure
	cookie.MaxAge = languageCookieAge
	http.SetCookie(req.W, cookie)
}

// LanguageChoice offers a language.
type LanguageChoice struct {
	// Tag is the language's tag, and Name its name in itself.
	Tag, Name string
}

// LanguageChoices returns all languages of the surface.
func (k *Kit) LanguageChoices() (all []LanguageChoice) {
	for _, pages := range k.languages {
		all = append(all, LanguageChoice{Tag: pages.Texts.Tag.String(), Name: pages.Texts.TextOr("language.name", "")})
	}
	return all
}

// otherLanguages returns the languages that the page does not have.
func (req *Request) otherLanguages() (others []LanguageChoice) {
	for n, choice := range req.LanguageChoices() {
		if req.languages[n] != req.Pages {
			others = append(others, choice)
		}
	}
	return others
}
