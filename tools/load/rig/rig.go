// Package rig has what both programs of this module need to put a load on a deployment: a party that listens, a
// receiver of webhooks, the draft that is sent, and a wait.
//
// Its invariant: a party behaves towards the service like a stranger's server, with which it shares nothing but its
// address and its certificate. Start reading at [StartReceiver].
package rig

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"quittance/client/api"
	"quittance/internal/platform/httpserver"
	"quittance/sandbox/fakeprovider"
)

// Loopback is the address of a party on this machine: a free port.
const Loopback = "127.0.0.1:0"

// Party is a server that the service, or the load, calls.
type Party struct {
	*httpserver.Server
	// Ended is closed when it serves no more.
	Ended chan struct{}
	err   error // why it has ended; valid once Ended is closed
}

// Listen starts a party. With a certificate it speaks TLS. What net/http says about connections is dropped, because
// they break when a server ends or is killed.
func Listen(ctx context.Context, address string, handler http.Handler, certificate *tls.Certificate) (*Party, error) {
	config := httpserver.Config{Handler: handler, Log: slog.New(slog.DiscardHandler)}
	if certificate != nil {
		config.Certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	server, err := fakeprovider.Listen(ctx, address, config)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p := &Party{Server: server, Ended: make(chan struct{})}
	go func() {
		defer close(p.Ended)
		p.err = server.Serve()
	}()
	return p, nil
}

// Close ends the party and all its connections, and returns why it ended before if it did.
func (p *Party) Close() error {
	err := p.Server.Close()
	<-p.Ended
	if !errors.Is(p.err, http.ErrServerClosed) {
		err = errors.Join(err, p.err)
	}
	return err
}

// Sleep waits for d, unless ctx ends first: then it returns the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Ordinary is a recipient for which the provider sandbox accepts every document.
const Ordinary = "1000000100"

// Draft returns a complete draft with a number of equal items.
func Draft(number, recipient string, items int, now time.Time) api.Draft {
	decimal := func(text string) *api.Decimal { return new(api.MustDecimal(text)) }
	draft := api.Draft{InvoiceNumber: &number, RecipientName: new("Palm Trading LLC"), RecipientNetworkID: &recipient,
		BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Synthetic Road"), BuyerCity: new("Dubai"),
		BuyerSubdivision: new("DXB"), BuyerCountry: new("AE"), TotalAmount: decimal(strconv.Itoa(items*105) + ".00"),
		Currency: new("AED"), IssueDate: new(now.Format(time.DateOnly)), IssueTime: new("09:30"),
		DueDate: new(now.AddDate(0, 0, 30).Format(time.DateOnly)), PaymentMeansCode: new("30")}
	for n := range items {
		draft.Items = append(draft.Items, api.Item{ItemCode: new(fmt.Sprintf("SYN-%03d", n+1)), Name: new("Consulting"),
			Description: new("Synthetic line of a load test."), UnitCode: new("HUR"), Quantity: decimal("2"),
			BaseQuantity: decimal("1"), NetUnitPrice: decimal("50.00"), GrossUnitPrice: decimal("50.00"),
			DiscountAmount: decimal("0.00"), VATCategory: new("S"), VATRate: decimal("5")})
	}
	return draft
}
