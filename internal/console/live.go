package console

import (
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"net/http"
	"net/url"
	"time"
)

// live is a part of a page that asks for itself from time to time and is replaced when it has changed. Asking costs one
// read and an empty answer while nothing has, and needs no connection that stays open, so that any replica can answer.
type live struct {
	// URL is the page's own address; with the header HX-Request it answers with the part alone.
	URL string
	// Every is the interval as htmx writes it; "" once nothing can change any more.
	Every string
	HTML  template.HTML
	// Say is what a screen reader is told when it changes, "" for nothing. Fresh tells that it has.
	Announcement string
	Announce     bool
}

// livePart makes the part of a page that moves: the template name of the page's file, with its data. every is 0 once
// nothing can change any more.
func (req *request) livePart(page, name string, data any, every time.Duration, say string) (live, error) {
	html := req.buffers.get()
	defer req.buffers.put(html)
	if err := req.pages.execute(html, page, name, data); err != nil {
		return live{}, err
	}
	query := req.r.URL.Query()
	spoken := query.Get("heard")
	query.Del("said")
	query.Set("seen", digest(html.Bytes()))
	query.Set("heard", digest([]byte(say)))
	part := live{URL: req.r.URL.Path + "?" + query.Encode(), HTML: template.HTML(html.String()), //nolint:gosec // a template made it
		Announcement: say, Announce: spoken != "" && spoken != query.Get("heard")}
	if every > 0 {
		part.Every = "every " + every.String()
	}
	return part, nil
}

// answerLive answers a live part that asks: with nothing when it has seen this already.
func (req *request) answerLive(page string, part live) error {
	if asked, err := url.Parse(part.URL); err == nil && asked.Query().Get("seen") == req.r.URL.Query().Get("seen") && part.Every != "" {
		req.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return req.render(http.StatusOK, page, "live", part)
}

// mark is a short digest of a text.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
