package site_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestChooseLanguage checks that a reader chooses the language in the browser and stays on the page, and that neither a
// language that does not exist nor an address of another site is taken.
func TestChooseLanguage(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Hour)
	v := s.loggedIn(t)
	if got := v.get("/invoices?q=SYN"); !strings.Contains(got.body, `<html lang="en" dir="ltr"`) ||
		!strings.Contains(got.body, `<input type="hidden" name="page" value="/invoices?q=SYN">`) ||
		!strings.Contains(got.body, `value="ar" lang="ar">العربية</button>`) {
		t.Errorf("in English: %d %.600s", got.status, got.body)
	}
	got := v.post("/language", "language", "ar", "page", "/invoices?q=SYN")
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/invoices?q=SYN" ||
		!strings.HasPrefix(got.header.Get("Set-Cookie"),
			"quittance-language=ar; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax") {
		t.Fatalf("choose: %d %v", got.status, got.header)
	}
	chosen := "quittance=" + v.cookie() + "; quittance-language=ar"
	if got := s.visitor(t).get("/invoices?q=SYN", "Cookie", chosen); got.status != http.StatusOK ||
		!strings.Contains(got.body, `<html lang="ar" dir="rtl"`) ||
		!strings.Contains(got.body, `value="en" lang="en">English</button>`) || !strings.Contains(got.body, "الفواتير") {
		t.Errorf("in Arabic: %d %.600s", got.status, got.body)
	}
	if got := s.visitor(t).get("/login", "Accept-Language", "ar-AE"); !strings.Contains(got.body,
		`<html lang="ar" dir="rtl"`) {
		t.Errorf("a login page for a browser in Arabic: %.300s", got.body)
	}
	for _, page := range []string{"https://example.com/", "//example.com/", "/nowhere", "javascript:alert(1)", ""} {
		if got := v.post("/language", "language", "ar", "page", page); got.status != http.StatusSeeOther ||
			got.header.Get("Location") != "/" {
			t.Errorf("back to %q: %d to %q", page, got.status, got.header.Get("Location"))
		}
	}
	for page, want := range map[string]string{"/login/code?next=%2Finvoices": "/login/code?next=%2Finvoices",
		"/join": "/join"} {
		if got := v.post("/language", "language", "ar", "page", page); got.status != http.StatusSeeOther ||
			got.header.Get("Location") != want {
			t.Errorf("back to %q: %d to %q", page, got.status, got.header.Get("Location"))
		}
	}
	if got := v.post("/language", "language", "ar", "page", "/logout", "code", "x"); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != "/" {
		t.Errorf("a form that is no link's: %d to %q", got.status, got.header.Get("Location"))
	}
	for _, language := range []string{"", "fr", "AR", "ar-AE", "../en"} {
		if got := v.post("/language", "language", language, "page", "/"); got.status != http.StatusBadRequest ||
			got.header.Get("Set-Cookie") != "" {
			t.Errorf("language %q: %d %v", language, got.status, got.header)
		}
	}
}
