package site

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"

	"quittance/internal/front/page"
)

// placeholder is a verb of package fmt with its flags and argument index.
var placeholder = regexp.MustCompile(`%[-+# 0-9.]*(?:\[(\d+)\])?([a-z%])`)

// arguments returns the placeholders of a message by the index of their arguments, from 1.
func arguments(text string) map[int]string {
	out, next := map[int]string{}, 1
	for _, found := range placeholder.FindAllStringSubmatch(text, -1) {
		if found[2] == "%" {
			continue
		}
		if n, err := strconv.Atoi(found[1]); err == nil {
			next = n
		}
		out[next] = found[2]
		next++
	}
	return out
}

// formsOf returns the endings of the plural forms of a language.
func formsOf(of language.Tag) (forms []string) {
	pluralForms := map[plural.Form]string{plural.Zero: ".zero", plural.One: ".one", plural.Two: ".two", plural.Few: ".few",
		plural.Many: ".many", plural.Other: ".other"}
	for n := range 200 {
		if form := pluralForms[plural.Cardinal.MatchPlural(of, n, 0, 0, 0, 0)]; !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}

// TestLanguages checks that every language has a message for each English one, with all plural forms that the language
// has, and with the same arguments; and no other messages.
func TestLanguages(t *testing.T) {
	t.Parallel()
	english := textsIn(t, language.English)
	for _, of := range page.Languages()[1:] {
		messages := textsIn(t, of.Tag)
		wanted := map[string]string{}
		for key, text := range english {
			family, isPlural := strings.CutSuffix(key, ".other")
			if _, hasOne := english[family+".one"]; isPlural && hasOne {
				for _, form := range formsOf(of.Tag) {
					wanted[family+form] = text
				}
				continue
			}
			if family, isOne := strings.CutSuffix(key, ".one"); !isOne || english[family+".other"] == "" {
				wanted[key] = text
			}
		}
		for key, text := range wanted {
			translated, found := messages[key]
			switch {
			case !found && !translatable(key):
			case !found || strings.TrimSpace(translated) == "":
				t.Errorf("%s: no message %q, which is %q in English", of.Tag, key, text)
			case fmt.Sprint(arguments(translated)) != fmt.Sprint(arguments(text)):
				t.Errorf("%s: %q has other arguments: %q for %q", of.Tag, key, translated, text)
			case extraArguments(translated, len(arguments(text))):
				t.Errorf("%s: %q does not use all arguments: %q", of.Tag, key, translated)
			}
		}
		for key := range messages {
			if _, known := wanted[key]; !known && translatable(key) {
				t.Errorf("%s: there is no message %q in English", of.Tag, key)
			}
		}
	}
}

// translatable reports that a message has to exist in every language and nowhere else. The names of codes and other
// words for them are those that a language has. The messages about rules replace those of the API, which are in
// English.
func translatable(key string) bool {
	return !slices.ContainsFunc([]string{"code.", "words.", "official.", "fault."},
		func(family string) bool { return strings.HasPrefix(key, family) })
}

// TestOfficialRules checks that there is an Arabic message for each official rule of PINT-AE, the format of the United
// Arab Emirates, whose English message pages show.
func TestOfficialRules(t *testing.T) {
	t.Parallel()
	arabic := textsIn(t, language.Arabic)
	var source strings.Builder
	files, err := filepath.Glob("../../../document/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	_, requirements, _ := strings.Cut(source.String(), "var requirements")
	requirements, _, _ = strings.Cut(requirements, "\n}")
	ids := regexp.MustCompile(`"((?:ibr|aligned)-[a-z0-9-]+)"`).FindAllStringSubmatch(source.String(), -1)
	if len(ids) < 80 {
		t.Fatalf("%d rules", len(ids))
	}
	for _, id := range ids {
		_, known := arabic["official."+id[1]]
		if generic := strings.Contains(requirements, id[0]); known == generic && id[1] != "ibr-co-15" {
			t.Errorf("%s: a message of its own: %v, only required: %v", id[1], known, generic)
		}
	}
}

// extraArguments reports that package fmt complains about a message with some arguments.
func extraArguments(text string, n int) bool {
	values := make([]any, n)
	for at := range values {
		values[at] = "value"
	}
	return n > 0 && strings.Contains(fmt.Sprintf(strings.ReplaceAll(text, "%d", "%s"), values...), "%!")
}

// TestLanguageOfRequest checks that the choice of the reader comes first, then the preference of the browser, then
// English.
func TestLanguageOfRequest(t *testing.T) {
	t.Parallel()
	kit := testKit(t)
	for _, test := range []struct{ cookie, accept, want string }{
		{"", "", "en"}, {"", "ar", "ar"}, {"", "ar-AE,ar;q=0.9,en;q=0.8", "ar"}, {"", "en-GB,ar;q=0.5", "en"},
		{"", "fr", "en"}, {"", "fr,ar;q=0.3", "ar"}, {"ar", "en", "ar"}, {"en", "ar", "en"}, {"xx", "ar", "ar"},
		{"<script>", "", "en"}, {"", ";;;", "en"},
		{"", strings.Repeat("ar,", 2000), "ar"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/login", http.NoBody)
		if test.cookie != "" {
			r.Header.Set("Cookie", "quittance-language="+test.cookie)
		}
		r.Header.Set("Accept-Language", test.accept)
		if got := kit.For(r).Texts.Tag.String(); got != test.want {
			t.Errorf("%+.80v: %s", test, got)
		}
	}
}
