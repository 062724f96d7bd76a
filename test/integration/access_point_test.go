package integration_test

import (
	"encoding/json"
	"net/http/httptest"
	"time"

	"quittance/test/providertest"
)

// accessPoint starts a stand-in for the access point e-invoice.be in this process, or controls it:
//
//	access-point start CREDENTIAL   set AP_URL
//	access-point stall OPERATION    let the next call of an operation take effect, and never respond to it
//	access-point move FROM TO       put the documents of a state into another
func (w *world) accessPoint(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "start" && w.ap == nil:
		w.ap = providertest.NewEInvoiceBE(args[1], time.Now())
		server := httptest.NewServer(w.ap)
		w.closers = append(w.closers, server.CloseClientConnections, server.Close)
		w.ts.Setenv("AP_URL", server.URL)
	case len(args) == 2 && args[0] == "stall" && w.ap != nil:
		w.ap.Add(providertest.Fault{Operation: args[1], Times: 1, After: true, Hang: time.Hour})
	case len(args) == 3 && args[0] == "move" && w.ap != nil:
		w.ap.Move(args[1], args[2])
	default:
		return errUsage
	}
	return nil
}

// accessPointHas checks a value in the list of the documents that the access point has.
func (w *world) accessPointHas(args []string) error {
	if len(args) != 2 || w.ap == nil {
		return errUsage
	}
	text, err := json.Marshal(w.ap.Documents())
	if err != nil {
		return err
	}
	return wantAt(text, args[0], args[1])
}
