package submission

import (
	"context"
	"errors"
	"sync"
	"time"

	"quittance/internal/store"
)

// ErrBusy says that so many submissions of the company are inside their provider calls that another one is not begun.
// Nothing is recorded of it.
var ErrBusy = errors.New("the provider keeps too many submissions of the company waiting")

// What one company's submissions may take of one process while its provider hangs. A company has one active connection.
const (
	maxCalls   = 64
	maxWaiting = 64
	// patience is how long a submission waits for a place: less than a client does.
	patience = 2 * time.Second
)

// lines bounds the submissions of each company that are inside their provider calls. The zero value is ready.
type lines struct {
	mu sync.Mutex
	of map[store.ID]*line
}

// line is one company's. It is there as long as somebody uses it.
type line struct {
	calls chan struct{}
	users int // in a call, or waiting for a place
}

// enter takes a place in a company's line, waiting for one as long as wait, and returns how to leave it. It returns
// [ErrBusy], or the context's error.
func (l *lines) enter(ctx context.Context, company store.ID, wait time.Duration) (leave func(), err error) {
	own, ok := l.join(company)
	if !ok {
		return nil, ErrBusy
	}
	leave = func() {
		<-own.calls
		l.quit(company, own)
	}
	select {
	case own.calls <- struct{}{}:
		return leave, nil
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case own.calls <- struct{}{}:
		return leave, nil
	case <-timer.C:
		err = ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.quit(company, own)
	return nil, err
}

// join counts a user of a company's line; false when it is too long.
func (l *lines) join(company store.ID) (*line, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.of[company]
	if own == nil {
		own = &line{calls: make(chan struct{}, maxCalls)}
		if l.of == nil {
			l.of = map[store.ID]*line{}
		}
		l.of[company] = own
	}
	if own.users == maxCalls+maxWaiting {
		return nil, false
	}
	own.users++
	return own, true
}

func (l *lines) quit(company store.ID, own *line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(l.of, company)
	}
}
