package provider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
)

// SendOnly implements the purchases of an adapter whose provider lists none. Nothing is sent.
type SendOnly struct{}

// Purchases implements [Adapter]: there are none.
func (SendOnly) Purchases(ctx context.Context, cursor string, _ int) (PurchasePage, Response) {
	if ctx.Err() != nil {
		return PurchasePage{}, CancelledResponse(ctx)
	}
	return PurchasePage{NextCursor: cursor}, OKResponse([]byte(`{"purchases":[]}`))
}

// PurchaseDocument implements [Adapter]: there are none.
func (SendOnly) PurchaseDocument(ctx context.Context, _ string) Response {
	if ctx.Err() != nil {
		return CancelledResponse(ctx)
	}
	return UnknownResponse()
}

// OKResponse returns a complete response with a JSON body. It has the status that a provider would have sent, because
// without a status it would not count as a response.
func OKResponse(body []byte) Response {
	digest := sha256.Sum256(body)
	return Response{
		Kind: Complete, HTTPStatus: http.StatusOK, MediaType: "application/json", Body: body,
		Size: int64(len(body)), SHA256: hex.EncodeToString(digest[:]),
	}
}

// UnknownResponse returns the response about a document that was never submitted.
func UnknownResponse() Response {
	response := OKResponse([]byte(`{"error":{"code":"unknown_reference"}}`))
	response.Kind, response.HTTPStatus = UnknownReference, http.StatusNotFound
	return response
}

// CancelledResponse returns the response to a call that its caller had cancelled before it began.
func CancelledResponse(ctx context.Context) Response {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Response{Kind: NotSent, ErrorClass: ClassTimeout}
	}
	return Response{Kind: NotSent, ErrorClass: ClassCanceled}
}
