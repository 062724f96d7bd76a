package console

import "testing"

// TestTemplatesParse parses every page in every language, as a server does when it first shows one.
func TestTemplatesParse(t *testing.T) {
	assets, err := newAssets()
	if err != nil {
		t.Fatal(err)
	}
	all, err := newLanguages(assets)
	if err != nil {
		t.Fatal(err)
	}
	for _, pages := range all.pages {
		if len(pages.byPage) < 20 {
			t.Errorf("%s has only %d pages", pages.messages.tag, len(pages.byPage))
		}
		for name, parsed := range pages.byPage {
			if _, err := parsed(); err != nil {
				t.Errorf("%s, %s: %v", pages.messages.tag, name, err)
			}
		}
	}
}
