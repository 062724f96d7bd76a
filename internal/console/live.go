package console

import (
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"net/http"
	"net/url"
	"time"
)

// live is a part of a page that the browser polls and replaces when it has changed. A poll costs one read and an empty
// response while nothing has changed. There is no open connection, so any replica can respond.
type live struct {
	// URL is the address of the page; with the header HX-Request it responds with this part alone.
	URL string
	// Every is the poll interval in the syntax of htmx, or "" when nothing can change any more.
	Every string
	HTML  template.HTML
	// Announcement is a text for screen readers, or "". Announce reports that it has changed since the last poll.
	Announcement string
	Announce     bool
	// Beside is another part of the page, which replaces itself out of band.
	Beside template.HTML
}

// livePart renders the live part of a page: the template name of the page's file, with its data. every is the poll
// interval, or 0 when nothing can change any more.
func (req *request) livePart(page, name string, data any, every time.Duration, announcement string) (live, error) {
	html := req.buffers.get()
	defer req.buffers.put(html)
	if err := req.pages.execute(html, page, name, data); err != nil {
		return live{}, err
	}
	query := req.r.URL.Query()
	announced := query.Get("announced")
	query.Del(noticeParameter)
	query.Set("seen", digest(html.Bytes()))
	query.Set("announced", digest([]byte(announcement)))
	part := live{URL: req.r.URL.Path + "?" + query.Encode(), HTML: template.HTML(html.String()), //nolint:gosec // html/template rendered and escaped it
		Announcement: announcement, Announce: announced != "" && announced != query.Get("announced")}
	if every > 0 {
		part.Every = "every " + every.String()
	}
	return part, nil
}

// respondLive responds to a poll, with no content when the browser already has this version.
func (req *request) respondLive(page string, part live) error {
	if asked, err := url.Parse(part.URL); err == nil && asked.Query().Get("seen") == req.r.URL.Query().Get("seen") &&
		part.Every != "" {
		req.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return req.render(http.StatusOK, page, "live", part)
}

// respondLiveBeside is respondLive with another part of the page that the poll replaces out of band. The live part must
// change with it.
func (req *request) respondLiveBeside(page string, part live, beside string, data any) error {
	html := req.buffers.get()
	defer req.buffers.put(html)
	if err := req.pages.execute(html, page, beside, data); err != nil {
		return err
	}
	part.Beside = template.HTML(html.String()) //nolint:gosec // html/template rendered and escaped it
	return req.respondLive(page, part)
}

// digest returns a short digest of a text.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
