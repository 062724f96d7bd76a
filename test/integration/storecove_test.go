package integration_test

import (
	"encoding/json"
	"net/http"
	"os"
	"sync/atomic"

	"quittance/test/providertest"
)

// storecoveWorld is a stand-in for the service Storecove.
type storecoveWorld struct {
	*providertest.Storecove
	stalled atomic.Int64 // deletions that get no response
}

// storecove starts a stand-in for Storecove in this process, or controls it:
//
//	storecove start CREDENTIAL        set SC_URL
//	storecove report REFERENCE WORD   add an event with a word about a submission to its queue
//	storecove receive ENTITY FILE     let a legal entity receive a document, with an event
//	storecove lose                    lose the responses to submissions from now on
//	storecove stall|resume            never respond to deletions of events from now on, which then have no effect; or respond again
func (w *world) storecove(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "start" && w.sc == nil:
		w.sc = &storecoveWorld{Storecove: providertest.NewStorecove(args[1])}
		w.closers = append(w.closers, w.sc.CloseClientConnections, w.sc.Close)
		w.ts.Setenv("SC_URL", w.sc.BaseURL())
	case len(args) == 3 && args[0] == "report" && w.sc != nil:
		w.sc.Report(args[1], args[2])
	case len(args) == 3 && args[0] == "receive" && w.sc != nil:
		document, err := os.ReadFile(w.ts.MkAbs(args[2]))
		if err != nil {
			return err
		}
		var entity int
		if err := json.Unmarshal([]byte(args[1]), &entity); err != nil {
			return err
		}
		w.sc.Receive(entity, document)
	case len(args) == 1 && args[0] == "lose" && w.sc != nil:
		w.sc.Play(providertest.StorecoveLosesResponse)
	case len(args) == 1 && args[0] == "stall" && w.sc != nil:
		w.sc.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodDelete {
				return false
			}
			w.sc.stalled.Add(1)
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		})
	case len(args) == 1 && args[0] == "resume" && w.sc != nil:
		w.sc.Intercept(nil)
	default:
		return errUsage
	}
	return nil
}

// storecoveHas checks a value of the stand-in: how many events wait, were deleted, or are being deleted without a
// response, and how many documents were posted.
func (w *world) storecoveHas(args []string) error {
	if len(args) != 2 || w.sc == nil {
		return errUsage
	}
	posted := 0
	for _, request := range w.sc.Received() {
		if request == "POST /api/v2/document_submissions" {
			posted++
		}
	}
	text, err := json.Marshal(map[string]int{"waiting": len(w.sc.Waiting()), "deleted": len(w.sc.Deleted()),
		"stalled": int(w.sc.stalled.Load()), "posted": posted})
	if err != nil {
		return err
	}
	return wantAt(text, args[0], args[1])
}
