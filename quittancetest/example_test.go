package quittancetest_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/client/receiver"
	"quittance/quittancetest"
)

// exampleT is the t of an example, which has no test of its own.
type exampleT struct {
	testing.TB
	dir      string
	cleanups []func()
}

// example calls run with a t, and then what a test does at its end.
func example(run func(t testing.TB)) {
	dir, err := os.MkdirTemp("", "quittancetest-")
	if err != nil {
		panic(err)
	}
	t := &exampleT{dir: dir}
	defer func() {
		for _, clean := range slices.Backward(t.cleanups) {
			clean()
		}
		if err := os.RemoveAll(dir); err != nil {
			panic(err)
		}
	}()
	run(t)
}

func (t *exampleT) Helper()                           {}
func (t *exampleT) TempDir() string                   { return t.dir }
func (t *exampleT) Context() context.Context          { return context.Background() }
func (t *exampleT) Cleanup(f func())                  { t.cleanups = append(t.cleanups, f) }
func (t *exampleT) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (t *exampleT) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (t *exampleT) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// A response is lost, and the invoice is sent once all the same. In a test, t is that of the test.
func ExampleProvider_Fail() {
	example(func(t testing.TB) {
		server := quittancetest.Start(t, quittancetest.WithStoppedClock())
		server.Provider().Fail(quittancetest.SubmitCall, quittancetest.DropAfter, 1)

		invoice, err := billOrder(t.Context(), server.Client(), "order-1")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(invoice.Submission.Outcome)

		server.Advance(time.Minute) // the service asks the provider
		if invoice, err = server.Client().Invoice(t.Context(), invoice.ID); err != nil {
			t.Fatal(err)
		}
		fmt.Println(invoice.Submission.Outcome, len(server.Provider().Documents()))
	})
	// Output:
	// unknown
	// acknowledged 1
}

// The receiver rejects a document, although its recipient is not a magic one.
func ExampleProvider_Play() {
	example(func(t testing.TB) {
		server := quittancetest.Start(t)
		server.Provider().Play(quittancetest.RecipientRejectedByReceiver, 1)
		submitted, err := billOrder(t.Context(), server.Client(), "order-1")
		if err != nil {
			t.Fatal(err)
		}
		invoice := server.WaitForInvoice(submitted.ID,
			func(i api.Invoice) bool { return i.ReceiverState != nil && *i.ReceiverState == "rejected" })
		fmt.Println(*invoice.ReceiverState)
	})
	// Output:
	// rejected
}

// The service delivers an event to a handler of the test.
func ExampleServer_Subscribe() {
	example(func(t testing.TB) {
		server := quittancetest.Start(t)
		server.Subscribe(func(secret string) http.Handler {
			return receiver.Handler(receiver.Verifier{Secrets: []string{secret}},
				func(_ context.Context, event receiver.Event) error {
					fmt.Println("received", event.Event)
					return nil
				})
		}, api.EventIncomingReceived)
		server.Provider().AddIncoming("P-1")
		callback := server.WaitForCallback(func(quittancetest.Callback) bool { return true })
		fmt.Println("answered", callback.Status)
	})
	// Output:
	// received einvoice.incoming.received
	// answered 204
}
