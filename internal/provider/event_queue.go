package provider

import "context"

// EventQueue is an [Adapter] whose provider reports by a queue of events. It hands out one event, and the next one
// after it was told to delete that. An event that is deleted is gone, so the caller retains it first: a crash between
// the two hands it out again.
type EventQueue interface {
	Adapter
	// NextEvent requests the event at the head of the queue. The event is zero unless the response is [Complete], and also
	// if the queue is empty.
	NextEvent(ctx context.Context) (Event, Response)
	// EventDocument requests the document that an event announces. foreign says that it is not for the company of the
	// connection; then the response says nothing. The response is like that of PurchaseDocument, and its Body the
	// document.
	EventDocument(ctx context.Context, event Event) (response Response, foreign bool)
	// DeleteEvent deletes an event from the queue. The response is [Complete] if the queue does not have it any more.
	DeleteEvent(ctx context.Context, id string) Response
}

// Event is an event of a provider's queue, as far as it can be read. It is about a submission, or announces a document,
// or neither.
type Event struct {
	// ID is the provider's identifier of the event, a UUID; "" if there is no event.
	ID string
	// Reference and ProviderReference name the submission that it is about, as those of a [Document]; "" means absent.
	Reference, ProviderReference string
	// Document is what the event says about a received document; nil if it announces none.
	Document *Purchase
	// Recipient is the provider's name of the company that the document is for, "" if the event does not say it.
	Recipient string
}
