package webhooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/events"
)

// deliveryPage is the view model of one delivery. All of it is live.
type deliveryPage struct {
	api.Delivery
	// MayManage reports that the user may start the delivery again.
	MayManage    bool
	Subscription api.Subscription
	OccurredAt   time.Time
	// Attempts are all attempts, newest first.
	Attempts []attemptRow
	// Body is the formatted body of the event, and Size the size of the body that is sent.
	Body    string
	Size    int
	Subject eventSubject
}

// eventSubject is the subject of an event.
type eventSubject struct {
	// Invoice and Incoming are identifiers, or "".
	Invoice, Incoming string
	// Name is the number of the invoice, or the provider's identifier of the purchase document.
	Name string
}

// attemptRow is one attempt.
type attemptRow struct {
	api.Attempt
	// Ordinal is the number of the attempt, from 1.
	Ordinal int
	// Took is the duration of the attempt.
	Took string
	// Arrived reports that the response was 2xx.
	Arrived bool
}

// The poll intervals of a delivery's page: while the delivery is pending, and otherwise.
const (
	deliveryPollInterval      = time.Second
	deliveryQuietPollInterval = 10 * time.Second
)

// delivery reads the delivery that the path names.
func delivery(req *console.Request) (events.Delivery, error) {
	id, err := req.ID("delivery")
	if err != nil {
		return events.Delivery{}, err
	}
	return events.FindDelivery(req.R.Context(), req.Session.Tenant, id)
}

func showDelivery(req *console.Request) error {
	found, err := delivery(req)
	if err != nil {
		return err
	}
	return respondDelivery(req, http.StatusOK, found, nil)
}

// respondDelivery responds with the page of a delivery and an optional notice.
func respondDelivery(req *console.Request, status int, found events.Delivery, flash *page.Notice) error {
	p, err := readDeliveryPage(req, found)
	if err != nil {
		return err
	}
	interval := deliveryQuietPollInterval
	if p.State == api.DeliveryPending {
		interval = deliveryPollInterval
	}
	announcement, err := req.Text("delivery." + string(p.State) + ".text")
	if err != nil {
		return err
	}
	part, err := req.LivePart("delivery", "delivery-body", p, interval, announcement)
	if err != nil {
		return err
	}
	if req.IsFragment() {
		return req.ShowLive("delivery", part)
	}
	return req.Show(status, "delivery", "delivery.title", page.Layout{Section: "webhooks", Notice: flash, Body: part})
}

// readDeliveryPage reads everything that belongs to a delivery.
func readDeliveryPage(req *console.Request, found events.Delivery) (deliveryPage, error) {
	ctx, tenant := req.R.Context(), req.Session.Tenant
	shown := view.DeliveryDetail(found)
	p := deliveryPage{Delivery: shown.Delivery, MayManage: req.Session.Permissions.Has(access.ManageWebhooks)}
	subscription, err := events.FindSubscription(ctx, tenant, found.Subscription)
	if err != nil {
		return p, err
	}
	p.Subscription = view.Subscription(subscription)
	event, err := events.Find(ctx, tenant, found.Event)
	if err != nil {
		return p, err
	}
	p.OccurredAt, p.Size = event.OccurredAt, len(event.Body)
	for n, attempt := range slices.Backward(shown.Attempts) {
		row := attemptRow{Attempt: attempt, Ordinal: n + 1}
		row.Arrived = row.HTTPStatus != nil && *row.HTTPStatus >= 200 && *row.HTTPStatus <= 299
		if row.Took, err = duration(req.Words.Messages, found.History[n].Duration); err != nil {
			return p, err
		}
		p.Attempts = append(p.Attempts, row)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, event.Body, "", "  "); err != nil {
		return p, fmt.Errorf("stored event %s: %w", event.ID, err)
	}
	p.Body = pretty.String()
	p.Subject, err = subjectOf(event)
	return p, err
}

// subjectOf reads the subject of an event.
func subjectOf(event events.Event) (eventSubject, error) {
	envelope, err := event.Envelope()
	if err != nil {
		return eventSubject{}, err
	}
	var payload struct {
		InvoiceID          string `json:"invoice_id"`
		InvoiceNumber      string `json:"invoice_number"`
		IncomingInvoiceID  string `json:"incoming_invoice_id"`
		ProviderDocumentID string `json:"provider_document_id"`
	}
	if err := json.Unmarshal(envelope.Payload, &payload); err != nil {
		return eventSubject{}, fmt.Errorf("stored event %s: %w", event.ID, err)
	}
	switch envelope.ResourceType {
	case api.ResourceSubmission:
		return eventSubject{Invoice: payload.InvoiceID, Name: payload.InvoiceNumber}, nil
	case api.ResourceIncomingInvoice:
		return eventSubject{Incoming: payload.IncomingInvoiceID, Name: payload.ProviderDocumentID}, nil
	}
	return eventSubject{}, nil
}

// Waiting reports that the delivery is pending. Redelivery then only makes its next attempt due now.
func (p deliveryPage) Waiting() bool { return p.State == api.DeliveryPending }

// redeliver redelivers an event under the same identifier.
func redeliver(req *console.Request) error {
	id, err := req.ID("delivery")
	if err != nil {
		return err
	}
	again, err := events.Redeliver(req.R.Context(), req.Session.Tenant, id)
	if errors.Is(err, events.ErrInactive) {
		found, err := events.FindDelivery(req.R.Context(), req.Session.Tenant, id)
		if err != nil {
			return err
		}
		return respondDelivery(req, http.StatusConflict, found, req.Pages.Texts.Notice("bad.inactive"))
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice("/webhooks/deliveries/"+again.ID.String(), "good.redelivered"))
}

// downloadEvent responds with the exact bytes that every attempt sends, as an attachment.
func downloadEvent(req *console.Request) error {
	found, err := delivery(req)
	if err != nil {
		return err
	}
	event, err := events.Find(req.R.Context(), req.Session.Tenant, found.Event)
	if err != nil {
		return err
	}
	return req.Attachment("event-"+event.ID.String()+".json", event.Body)
}
