// Command gorunner makes the calls of the conformance suite with the Go SDK. It reads one call a line from standard
// input and writes one answer a line to standard output, as the README.md of the suite describes.
//
// Its invariant: it adds nothing to the SDK. It retries nothing, and an error of the SDK keeps its type, status and
// code.
//
// Start reading at run; operations.go has the operations.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"quittance/client"
)

// instruction is a line of standard input.
type instruction struct {
	Case        string `json:"case"`
	BaseURL     string `json:"base_url"`
	Credentials struct {
		APIKey   string `json:"api_key"`
		Email    string `json:"email"`
		Password string `json:"password"`
		OTP      string `json:"otp"`
	} `json:"credentials"`
	Options struct {
		MaxRetries *int   `json:"max_retries"`
		TimeoutMS  int    `json:"timeout_ms"`
		UserAgent  string `json:"user_agent"`
	} `json:"options"`
	Operation string          `json:"operation"`
	Arguments json.RawMessage `json:"arguments"`
}

// answer is a line of standard output.
type answer struct {
	Case   string   `json:"case"`
	Result any      `json:"result,omitempty"`
	Error  *failure `json:"error,omitempty"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gorunner:", err)
		os.Exit(1)
	}
}

// run answers each line of in.
func run(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	encoder := json.NewEncoder(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var i instruction
		if err := json.Unmarshal(line, &i); err != nil {
			return err
		}
		result := answer{Case: i.Case}
		if result.Result, err = i.perform(context.Background()); err != nil {
			result = answer{Case: i.Case, Error: describe(err)}
		}
		if err := encoder.Encode(result); err != nil {
			return err
		}
	}
}

// perform makes the call.
func (i instruction) perform(ctx context.Context) (any, error) {
	if perform, found := webhookOperations()[i.Operation]; found {
		return perform(i.Arguments)
	}
	perform, found := operations()[i.Operation]
	if !found {
		return nil, errUnsupported
	}
	c, err := client.New(i.config())
	if err != nil {
		return nil, configurationError{err}
	}
	return perform(ctx, c, i.Arguments)
}

// config returns the configuration of a client for one call. Its connections are its own.
func (i instruction) config() client.Config {
	config := client.Config{BaseURL: i.BaseURL, APIKey: i.Credentials.APIKey, Email: i.Credentials.Email,
		Password: i.Credentials.Password, UserAgent: i.Options.UserAgent,
		HTTPClient: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(), Timeout: client.DefaultTimeout}}
	if i.Credentials.OTP != "" {
		config.OTP = func(context.Context) (string, error) { return i.Credentials.OTP, nil }
	}
	if i.Options.MaxRetries != nil {
		config.MaxAttempts = 1 + *i.Options.MaxRetries
	}
	if i.Options.TimeoutMS != 0 {
		config.HTTPClient.Timeout = time.Duration(i.Options.TimeoutMS) * time.Millisecond
	}
	return config
}
