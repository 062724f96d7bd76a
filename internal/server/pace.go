package server

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// pace is the least speed at which a client has to send its body and take its answer.
type pace struct {
	// grace is how long it may take beside what the rate makes of the bytes.
	grace time.Duration
	// rate is in bytes a second.
	rate int64
}

// leastPace is what every network of today manages.
var leastPace = pace{grace: 10 * time.Second, rate: 4 << 10} //nolint:gochecknoglobals // a constant

// until is when so many bytes have to have passed that began to pass at a time.
func (p pace) until(began time.Time, bytes int64) time.Time {
	return began.Add(p.grace + time.Duration(bytes)*time.Second/time.Duration(p.rate))
}

// The bounds of a body that nobody has read. A connection that is closed while its client still sends may cost the client
// the answer, so a little of it is read and thrown away: lingering is for how long at most, and lingerBytes how much. One of
// smallBody bytes at most, such as that of a call whose token has expired, leaves the connection open.
const (
	lingering   = time.Second
	lingerBytes = 8 << 20
	smallBody   = 64 << 10
)

// pacedBody is a body that has to arrive at a pace.
type pacedBody struct {
	io.ReadCloser
	controller *http.ResponseController
	pace       pace
	began      time.Time
	read       int64
	// ended tells that it was read to its end.
	ended bool
}

// Read implements [io.Reader].
func (b *pacedBody) Read(p []byte) (int, error) {
	if b.began.IsZero() {
		b.began = machineTime()
	}
	until := b.pace.until(b.began, b.read)
	// The time for the answer begins after the body.
	if err := errors.Join(deadline(b.controller.SetReadDeadline, until), deadline(b.controller.SetWriteDeadline, until.Add(backstop))); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if errors.Is(err, io.EOF) {
		b.ended = true // net/http takes the deadline away, and listens for the end of the connection
	}
	return n, err
}

// machineTime is the clock that deadlines of connections go by.
func machineTime() time.Time { return time.Now() } //nolint:forbidigo // the operating system knows no other

// deadline sets a deadline where there is a connection that has one.
func deadline(set func(time.Time) error, at time.Time) error {
	if err := set(at); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// answerWriter writes an answer at a pace, and notes what was written, for the log.
type answerWriter struct {
	http.ResponseWriter
	controller *http.ResponseController
	request    *http.Request
	body       *pacedBody // nil for a request without one
	pace       pace
	// begun is called when an answer is complete and begins to be written.
	begun           func()
	began           time.Time
	status, written int
	failed          error
	// lingers tells that the connection ends with this answer while the client may still send.
	lingers bool
}

// newAnswerWriter returns the writer of a request's answer, and sees to the pace of its body.
func newAnswerWriter(w http.ResponseWriter, r *http.Request, least pace) *answerWriter {
	a := &answerWriter{ResponseWriter: w, controller: http.NewResponseController(w), request: r, pace: least, begun: func() {}}
	if r.Body != nil && r.ContentLength != 0 {
		a.body = &pacedBody{ReadCloser: r.Body, controller: a.controller, pace: least}
		r.Body = a.body
	}
	return a
}

// Unwrap is for [http.ResponseController].
func (a *answerWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (a *answerWriter) WriteHeader(status int) {
	if a.status == 0 {
		a.status, a.began = status, machineTime()
		a.begun()
		a.failed = errors.Join(a.leaveBody(), deadline(a.controller.SetWriteDeadline, a.pace.until(a.began, 0)))
	}
	a.ResponseWriter.WriteHeader(status)
}

// leaveBody bounds what net/http reads of a body that nobody has read: it does so to keep the connection. A body that
// nobody wants costs the connection.
func (a *answerWriter) leaveBody() error {
	if a.body == nil || a.body.ended || a.request.ProtoMajor != 1 { // an HTTP/2 stream is reset
		return nil
	}
	if reads(a.request.Method) || a.request.Method == http.MethodDelete || a.body.read > 0 || a.request.ContentLength < 0 || a.request.ContentLength > smallBody {
		a.Header().Set("Connection", "close")
		a.lingers = true
	}
	return deadline(a.controller.SetReadDeadline, machineTime().Add(lingering))
}

// linger lets a client that still sends see its answer before the connection ends.
func (a *answerWriter) linger() {
	if !a.lingers || a.controller.Flush() != nil || deadline(a.controller.SetReadDeadline, machineTime().Add(lingering)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, a.body.ReadCloser, lingerBytes) // whatever ends it, the connection ends
}

// Write implements [io.Writer], piece by piece: a deadline is for what is to be written before it.
func (a *answerWriter) Write(text []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	const piece = 64 << 10
	for total := 0; ; {
		part := text[total:min(len(text), total+piece)]
		if a.failed == nil {
			a.failed = deadline(a.controller.SetWriteDeadline, a.pace.until(a.began, int64(a.written+len(part))))
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
