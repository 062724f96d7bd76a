package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/fairlimit"
	"quittance/internal/store"
)

// problem is an error with a page of its own. Its texts are error.KEY.title and error.KEY.text in the messages, where
// KEY is messageKey or, if that is empty, the status.
type problem struct {
	status     int
	messageKey string
	cause      error
}

func (p *problem) Error() string { return http.StatusText(p.status) }
func (p *problem) Unwrap() error { return p.cause }

// problemPage is the view model of an error page. It contains nothing about the cause.
type problemPage struct {
	Status     int
	MessageKey string
	RequestID  string
}

// respondError responds with the page of an error. It returns internal errors, for the log.
func (req *request) respondError(err error) error {
	p := problemOf(err)
	if limited, ok := errors.AsType[*account.LimitedError](err); ok {
		req.w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(limited.Limit.Reset.Seconds())))))
	}
	if p.status == http.StatusServiceUnavailable {
		req.w.Header().Set("Retry-After", "5")
	}
	key := cmp.Or(p.messageKey, strconv.Itoa(p.status))
	title := req.pages.messages.textOr("error."+key+".title", http.StatusText(p.status))
	shownErr := req.page(p.status, "error", pageData{Title: title,
		Body: problemPage{Status: p.status, MessageKey: key, RequestID: req.w.Header().Get(api.HeaderRequestID)}})
	if shownErr != nil { // the layout itself is broken
		shownErr = errors.Join(shownErr, req.send(http.StatusInternalServerError, "text/plain; charset=utf-8",
			bytes.NewBufferString(http.StatusText(http.StatusInternalServerError)+"\n")))
	}
	if p.status < http.StatusInternalServerError {
		return shownErr
	}
	return errors.Join(err, shownErr)
}

// problemOf maps the errors of other packages to a problem.
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
	if errors.Is(err, store.ErrForbidden) {
		return &problem{status: http.StatusForbidden, messageKey: "forbidden", cause: err}
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
