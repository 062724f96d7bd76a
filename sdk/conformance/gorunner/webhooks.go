package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"quittance/client/receiver"
)

// callback is a request of a webhook as it arrived.
type callback struct {
	Body    string            `json:"body"`
	Bytes   []byte            `json:"body_base64"` // instead of Body, if it is not UTF-8
	Headers map[string]string `json:"headers"`
	Fail    bool              `json:"fail"`
}

// verify verifies a callback.
func (c callback) verify(v receiver.Verifier) (receiver.Event, error) {
	header := http.Header{}
	for name, value := range c.Headers {
		header.Set(name, value)
	}
	body := c.Bytes
	if body == nil {
		body = []byte(c.Body)
	}
	return v.Verify(header, body)
}

// settings configures a verifier.
type settings struct {
	Secrets     []string  `json:"secrets"`
	Now         time.Time `json:"now"`
	ToleranceMS int       `json:"tolerance_ms"`
}

func (s settings) verifier() receiver.Verifier {
	return receiver.Verifier{Secrets: s.Secrets, Tolerance: time.Duration(s.ToleranceMS) * time.Millisecond,
		Now: func() time.Time { return s.Now }}
}

// webhookOperations returns the operations that need no client, by name.
func webhookOperations() map[string]func(json.RawMessage) (any, error) {
	return map[string]func(json.RawMessage) (any, error){
		"webhooks.verify": func(text json.RawMessage) (any, error) {
			var a struct {
				settings
				callback
			}
			if err := json.Unmarshal(text, &a); err != nil {
				return nil, err
			}
			return a.verify(a.verifier())
		},
		"webhooks.once": func(text json.RawMessage) (any, error) {
			var a struct {
				settings
				Capacity  int        `json:"capacity"`
				Callbacks []callback `json:"callbacks"`
			}
			if err := json.Unmarshal(text, &a); err != nil {
				return nil, err
			}
			return once(a.verifier(), a.Capacity, a.Callbacks), nil
		},
	}
}

// handling is the result of the operation webhooks.once.
type handling struct {
	Handled []string `json:"handled"`
	Results []string `json:"results"`
}

// once passes callbacks through verification to a handler that [receiver.Once] wraps.
func once(v receiver.Verifier, capacity int, callbacks []callback) handling {
	done := handling{Handled: []string{}, Results: []string{}}
	fail := false
	handle := receiver.Once(capacity, func(_ context.Context, event receiver.Event) error {
		done.Handled = append(done.Handled, event.ID)
		if fail {
			return errors.New("the handler fails")
		}
		return nil
	})
	for _, c := range callbacks {
		result := "ok"
		event, err := c.verify(v)
		if err != nil {
			result = reason(err)
		} else if fail = c.Fail; handle(context.Background(), event) != nil {
			result = "failed"
		}
		done.Results = append(done.Results, result)
	}
	return done
}
