package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

type eventsResendCmd struct {
	target
	ID         string `arg:"" help:"Identifier of the event."`
	ForwardTo  string `required:"" env:"-" placeholder:"URL" help:"Address on this machine to send to, such as http://localhost:3000/hooks."`
	SecretFile string `required:"" env:"-" type:"path" placeholder:"FILE" help:"File with the signing secret, as for listen; it is made if it does not exist."`
}

// Help is shown by --help.
func (eventsResendCmd) Help() string {
	return `Sends one event of the feed as listen does, once. The exit status is 0 if the program answers with a 2xx status.

Example:
  quittance events resend 01890a5d-ac96-774b-bcce-b302099a8057 --forward-to http://localhost:3000/hooks --secret-file secret.txt`
}

var eventID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Validate rejects flags that can be judged without a server.
func (c eventsResendCmd) Validate() error {
	_, err := parseLocal(c.ForwardTo)
	if !eventID.MatchString(c.ID) { // the whole feed would be read for nothing
		err = errors.Join(fmt.Errorf("%q is not the identifier of an event, such as 01890a5d-ac96-774b-bcce-b302099a8057",
			c.ID), err)
	}
	return errors.Join(c.target.Validate(), err)
}

// Run sends an event.
func (c eventsResendCmd) Run(env Environment) error {
	if err := checkLocal(env.Context, c.ForwardTo); err != nil {
		return err
	}
	_, service, err := c.connect()
	if err != nil {
		return err
	}
	key, err := keptSecret(c.SecretFile)
	if err != nil {
		return err
	}
	l := &listener{feed: feed{env: env, service: service, wait: sleep}, to: c.ForwardTo, key: []byte(key),
		calls: localClient()}
	e, err := l.find(env.Context, c.ID)
	if err != nil {
		return err
	}
	body, err := encode(e)
	if err != nil {
		return err
	}
	started := env.Now()
	status, err := l.post(env.Context, e, body)
	if err != nil {
		return fmt.Errorf("no answer to the event: %w", err)
	}
	if err := l.show(e, status, started, ""); err != nil {
		return err
	}
	if status < http.StatusOK || status >= http.StatusMultipleChoices {
		return fmt.Errorf("the program answers with status %d", status)
	}
	return nil
}

// find returns an event. It reads the feed from the end, page by page, because people repeat what has just happened.
func (f feed) find(ctx context.Context, id string) (found event, err error) {
	cursor, err := f.end(ctx)
	if err != nil {
		return found, err
	}
	end, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil {
		return found, fmt.Errorf("cursor of the feed: %w", err)
	}
	for end > 0 {
		first := max(end-feedPage, 0)
		for after := first; after < end; {
			page, err := f.read(ctx, strconv.FormatInt(after, 10))
			if err != nil {
				return found, err
			}
			for _, e := range page.Data {
				if e.ID == id {
					return e, nil
				}
			}
			next, err := strconv.ParseInt(page.Pagination.NextCursor, 10, 64)
			if err != nil {
				return found, fmt.Errorf("cursor of the feed: %w", err)
			}
			if next-int64(len(page.Data)) >= end { // what is earlier was removed by age
				first = 0
				break
			}
			after = max(next, after+1)
		}
		end = first
	}
	return found, fmt.Errorf("the feed has no event %s", id)
}

// show prints that an event was answered. note is appended.
func (l *listener) show(e event, status int, started time.Time, note string) error {
	_, err := fmt.Fprintf(l.env.Out, "%s  %d  %4d ms  %-30s  %s  %s%s\n", started.Format(time.TimeOnly), status,
		l.env.Now().Sub(started).Milliseconds(), e.Event, e.ID, subject(e), note)
	return err
}
