package server

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// pace is the lowest speed at which a client may send its body and read its response.
type pace struct {
	// grace is added to the time that the rate allows for the bytes.
	grace time.Duration
	// rate is in bytes a second.
	rate int64
}

// defaultPace is a speed that every network of today reaches.
var defaultPace = pace{grace: 10 * time.Second, rate: 4 << 10} //nolint:gochecknoglobals // a constant

// deadline returns the time by which a transfer that began at a given time must have moved that many bytes.
func (p pace) deadline(began time.Time, bytes int64) time.Time {
	return began.Add(p.grace + time.Duration(bytes)*time.Second/time.Duration(p.rate))
}

// The limits for a body that no handler has read. If the server closes a connection while the client still sends, the
// client may lose the response, so the server reads and discards some of the body: for at most lingerTime, and at most
// lingerBytes. The connection stays open after a body of at most smallBody bytes, such as that of a call whose token
// has expired.
const (
	lingerTime  = time.Second
	lingerBytes = 8 << 20
	smallBody   = 64 << 10
)

// pacedBody is a request body that must arrive at a pace.
type pacedBody struct {
	io.ReadCloser
	controller *http.ResponseController
	pace       pace
	began      time.Time
	read       int64
	// ended means that the body was read to its end.
	ended bool
}

// responseTimeout is the time from the last byte of a body to the first of its response, from which on the pace counts.
const responseTimeout = time.Minute

// Read implements [io.Reader].
func (b *pacedBody) Read(p []byte) (int, error) {
	if b.began.IsZero() {
		b.began = systemTime()
	}
	until := b.pace.deadline(b.began, b.read)
	// The time for the response begins after the body.
	err := errors.Join(setDeadline(b.controller.SetReadDeadline, until),
		setDeadline(b.controller.SetWriteDeadline, until.Add(responseTimeout)))
	if err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if errors.Is(err, io.EOF) {
		b.ended = true // net/http removes the deadline and watches for the end of the connection
	}
	return n, err
}

// systemTime returns the time of the clock that connection deadlines use.
func systemTime() time.Time { return time.Now() } //nolint:forbidigo // the operating system knows no other

// setDeadline sets a deadline if the connection supports deadlines.
func setDeadline(set func(time.Time) error, at time.Time) error {
	if err := set(at); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// responseWriter writes a response at a pace, and records its status and size for the log.
type responseWriter struct {
	http.ResponseWriter
	controller *http.ResponseController
	request    *http.Request
	body       *pacedBody // nil for a request without one
	pace       pace
	// onStart is called when the handler has finished computing the response, before its first byte is written.
	onStart         func()
	began           time.Time
	status, written int
	failed          error
	// lingers means that the connection ends after this response while the client may still be sending.
	lingers bool
}

// newResponseWriter returns the writer of the response to a request, and limits the pace of the request body.
func newResponseWriter(w http.ResponseWriter, r *http.Request, p pace) *responseWriter {
	written := &responseWriter{ResponseWriter: w, controller: http.NewResponseController(w), request: r, pace: p,
		onStart: func() {}}
	if r.Body != nil && r.ContentLength != 0 {
		written.body = &pacedBody{ReadCloser: r.Body, controller: written.controller, pace: p}
		r.Body = written.body
	}
	return written
}

// Unwrap is for [http.ResponseController].
func (a *responseWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (a *responseWriter) WriteHeader(status int) {
	if a.status == 0 {
		a.status, a.began = status, systemTime()
		a.onStart()
		a.failed = errors.Join(a.limitUnreadBody(), setDeadline(a.controller.SetWriteDeadline, a.pace.deadline(a.began, 0)))
	}
	a.ResponseWriter.WriteHeader(status)
}

// limitUnreadBody limits how much net/http reads of a body that no handler has read, which it does to keep the
// connection. If the body is long or partly read, the connection ends instead.
func (a *responseWriter) limitUnreadBody() error {
	if a.body == nil || a.body.ended || a.request.ProtoMajor != 1 { // an HTTP/2 stream is reset
		return nil
	}
	if isSafeMethod(a.request.Method) || a.request.Method == http.MethodDelete || a.body.read > 0 ||
		a.request.ContentLength < 0 || a.request.ContentLength > smallBody {
		a.Header().Set("Connection", "close")
		a.lingers = true
	}
	return setDeadline(a.controller.SetReadDeadline, systemTime().Add(lingerTime))
}

// linger lets a client that is still sending receive its response before the connection ends.
func (a *responseWriter) linger() {
	if !a.lingers || a.controller.Flush() != nil || setDeadline(a.controller.SetReadDeadline,
		systemTime().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, a.body.ReadCloser, lingerBytes) // the connection ends in any case
}

// Write implements [io.Writer]. It writes in chunks, because a deadline holds for the bytes that are written before it.
func (a *responseWriter) Write(text []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	const chunk = 64 << 10
	for total := 0; ; {
		part := text[total:min(len(text), total+chunk)]
		if a.failed == nil {
			a.failed = setDeadline(a.controller.SetWriteDeadline, a.pace.deadline(a.began, int64(a.written+len(part))))
		}
		if a.failed != nil {
			return total, a.failed
		}
		n, err := a.ResponseWriter.Write(part)
		a.written += n
		total += n
		if err != nil || total == len(text) {
			return total, err
		}
	}
}
