package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	"quittance/api"
	"quittance/internal/account"
	"quittance/internal/fairlimit"
	"quittance/internal/store"
)

// problem is a refusal that has a page of its own: its words are error.WORDS.title and error.WORDS.text in the messages;
// without words, those of its status.
type problem struct {
	status     int
	messageKey string
	cause      error
}

func (p *problem) Error() string { return http.StatusText(p.status) }
func (p *problem) Unwrap() error { return p.cause }

// problemPage is what the page of a problem shows. Nothing about the cause is in it.
type problemPage struct {
	Status     int
	MessageKey string
	RequestID  string
}

// fail answers with the page of a failure. It returns the failures that are ours, for the log.
func (req *request) answerError(err error) error {
	p := problemOf(err)
	if limited, ok := errors.AsType[*account.LimitedError](err); ok {
		req.w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(limited.Limit.Reset.Seconds())))))
	}
	if p.status == http.StatusServiceUnavailable {
		req.w.Header().Set("Retry-After", "5")
	}
	words := cmp.Or(p.messageKey, strconv.Itoa(p.status))
	title := req.pages.messages.textOr("error."+words+".title", http.StatusText(p.status))
	shownErr := req.page(p.status, "error", pageData{Title: title, Body: problemPage{Status: p.status, MessageKey: words, RequestID: req.w.Header().Get(api.HeaderRequestID)}})
	if shownErr != nil { // the layout itself fails: then without it
		shownErr = errors.Join(shownErr, req.send(http.StatusInternalServerError, "text/plain; charset=utf-8",
			bytes.NewBufferString(http.StatusText(http.StatusInternalServerError)+"\n")))
	}
	if p.status < http.StatusInternalServerError {
		return shownErr
	}
	return errors.Join(err, shownErr)
}

// problemOf maps what the packages below return to what a person is told.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if _, ok := errors.AsType[*account.LimitedError](err); ok {
		return &problem{status: http.StatusTooManyRequests, cause: err}
	}
	if quota, ok := errors.AsType[*store.QuotaError](err); ok {
		return &problem{status: http.StatusConflict, messageKey: "quota_" + quota.Quota, cause: err}
	}
	for _, known := range [...]struct {
		err    error
		status int
	}{
		{store.ErrNotFound, http.StatusNotFound},
		{store.ErrUnavailable, http.StatusServiceUnavailable},
		{fairlimit.ErrFull, http.StatusServiceUnavailable},
		{account.ErrBusy, http.StatusServiceUnavailable},
		{context.Canceled, http.StatusServiceUnavailable},
		{context.DeadlineExceeded, http.StatusServiceUnavailable},
	} {
		if errors.Is(err, known.err) {
			return &problem{status: known.status, cause: err}
		}
	}
	return &problem{status: http.StatusInternalServerError, cause: err}
}
