package page

import (
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"net/http"
	"net/url"
	"time"
)

// Live is a part of a page that the browser polls and replaces when it has changed. A poll costs one read and an empty
// response while nothing has changed. There is no open connection, so any replica can respond.
type Live struct {
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

// LivePart renders the live part of a page: the template name of the page's file, with its data. every is the poll
// interval, or 0 when nothing can change any more.
func (req *Request) LivePart(page, name string, data any, every time.Duration, announcement string) (Live, error) {
	html, err := req.Part(page, name, data)
	if err != nil {
		return Live{}, err
	}
	query := req.R.URL.Query()
	announced := query.Get("announced")
	query.Del(NoticeParameter)
	query.Set("seen", Digest([]byte(html)))
	query.Set("announced", Digest([]byte(announcement)))
	part := Live{URL: req.R.URL.Path + "?" + query.Encode(), HTML: html,
		Announcement: announcement, Announce: announced != "" && announced != query.Get("announced")}
	if every > 0 {
		part.Every = "every " + every.String()
	}
	return part, nil
}

// ShowLive responds to a poll, with no content when the browser already has this version.
func (req *Request) ShowLive(page string, part Live) error {
	if asked, err := url.Parse(part.URL); err == nil && asked.Query().Get("seen") == req.R.URL.Query().Get("seen") &&
		part.Every != "" {
		req.Status = http.StatusNoContent
		req.W.WriteHeader(req.Status)
		return nil
	}
	return req.Render(http.StatusOK, page, "live", part)
}

// ShowLiveBeside is ShowLive with another part of the page that the poll replaces out of band. The live part must
// change with it.
func (req *Request) ShowLiveBeside(page string, part Live, beside string, data any) error {
	var err error
	if part.Beside, err = req.Part(page, beside, data); err != nil {
		return err
	}
	return req.ShowLive(page, part)
}

// Digest returns a short digest of a text.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
