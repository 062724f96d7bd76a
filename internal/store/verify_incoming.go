package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"

	"quittance/client/api"
)

// incoming verifies one incoming e-invoice.
func (v *verification) incoming(ctx context.Context, id ID) (*EvidenceError, error) {
	i, malformed, err := readOne(ctx, v.q, scanIncomingRow,
		`select `+incomingColumns+` from incoming where tenant_id = $1 and id = $2`, v.t.id, id)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	if malformed != nil {
		return v.at(KindIncoming, id, 0, flaw{what: whatUnreadable}), nil
	}
	sealed, form, err := openSeal(v.t.db.keys, i.sealed, incomingSealBinding(v.t.id, id))
	if err := ignoreUnknownKey(err); err != nil {
		return nil, err
	}
	v.setSeal(sealed, form)
	row := i.asRead()
	want := row.chainEnd
	if form >= sealEnd {
		want = sealed.chainEnd
	}
	events, err := v.t.eventsOf(ctx, v.q, id)
	if err != nil {
		return nil, err
	}
	check := &incomingCheck{replay: v.replay, events: &eventCheck{v: v, events: events,
		resourceType: api.ResourceIncomingInvoice}}
	read := func(row scanner) chainLink {
		r, body, metadata, what := v.t.readRevision(row)
		if what != "" {
			return chainLink{flaw: flaw{what: what}}
		}
		return check.link(&r, body, metadata, true)
	}
	at, f, err := v.walk(ctx, `select `+revisionColumns+`, `+withheldDocument+`, `+withheldMetadata+fromRevisions+
		`i.id = $2 order by r.revision`, id, [32]byte{}, want, read)
	if err != nil {
		return nil, err
	}
	if v.entries = at.count; f.found() {
		return v.at(KindIncoming, id, at.count+1, f), nil
	}
	if f := check.conclude(&i, sealed, form, row, at); f.found() {
		return v.at(KindIncoming, id, 0, f), nil
	}
	return nil, nil
}

// incomingCheck is the state of the verification of one incoming e-invoice along its chain.
type incomingCheck struct {
	replay Replay
	events *eventCheck // nil for an exported file
	last   Revision
}

// link verifies a revision: its digests, the fields that are shown of it, and its event. present reports that body and
// metadata are available.
func (c *incomingCheck) link(r *Revision, body, metadata []byte, present bool) chainLink {
	out := chainLink{ordinal: r.Revision, previous: r.Previous, digest: r.Digest}
	switch {
	case present && sha256.Sum256(metadata) != r.MetadataSHA256:
		out.flaw.what = "its metadata are not what was retained"
	case present && r.Retained && sha256.Sum256(body) != r.SHA256:
		out.flaw.what = "its document is not what was retained"
	case present && !r.Retained && len(body) > 0:
		out.flaw.what = "it has a document, and none was retained"
	case !r.Intact():
		out.flaw.what = "it is not what was retained"
	default:
		if c.last = *r; present {
			out.flaw = c.shown(r, metadata)
		}
		if !out.flaw.found() && r.events != nil && c.events != nil {
			out.flaw = c.event(r)
		}
	}
	return out
}

// event verifies the event that a revision caused.
func (c *incomingCheck) event(r *Revision) flaw {
	kind := api.EventIncomingRevised
	if r.Revision == 1 {
		kind = api.EventIncomingReceived
	}
	return c.events.verify(r.events, []api.EventKind{kind}, micros(r.RetainedAt), func(e Event) ([]byte, error) {
		return eventBody(e.ID, e.Kind, r.RetainedAt, api.ResourceIncomingInvoice, r.Incoming, r.payload())
	})
}

// shown compares the fields that are shown of a revision with its metadata.
func (c *incomingCheck) shown(r *Revision, metadata []byte) flaw {
	read, err := c.replay.Purchase(metadata)
	if err != nil {
		return flaw{"metadata", err.Error()}
	}
	if field := r.shownBeyond(&read); field != "" {
		return flaw{field, "it does not follow from the retained metadata"}
	}
	return flaw{}
}

// shownBeyond returns the first field that a revision shows and that does not follow from read, its interpreted
// metadata; or "". A withheld revision may show less.
func (r *Revision) shownBeyond(read *NewIncoming) string {
	less := r.Withheld
	// also if the document could not be fetched
	unreadable := r.DocumentType != nil && *r.DocumentType == api.DocumentUnreadable
	for _, field := range []struct {
		name string
		same bool
	}{
		{"provider_document_id", r.ProviderDocumentID == read.ProviderDocumentID || less},
		{"document_type", shows(r.DocumentType, read.DocumentType, less) || unreadable},
		{"invoice_number", shows(r.InvoiceNumber, read.InvoiceNumber, less)},
		{"supplier_name", shows(r.SupplierName, read.SupplierName, less)},
		{"supplier_network_id", shows(r.SupplierNetworkID, read.SupplierNetworkID, less)},
		{"issue_date", shows(r.IssueDate, read.IssueDate, less)},
		{"due_date", shows(r.DueDate, read.DueDate, less)},
		{"currency", shows(r.Currency, read.Currency, less)},
		{"total_amount", shows(decimalText(r.TotalAmount), decimalText(read.TotalAmount), less)},
		{"received_at", shows(microsPointer(r.ReceivedAt), microsPointer(read.ReceivedAt), less)},
		{"claimed_sha256", shows(r.ClaimedSHA256, read.ClaimedSHA256, less)},
	} {
		if !field.same {
			return field.name
		}
	}
	return ""
}

// shows reports whether shown equals read, or is absent where less may be shown.
func shows[T comparable](shown, read *T, less bool) bool {
	return equal(shown, read) || less && shown == nil
}

// conclude verifies what is outside of the chain, which is intact and ends at at.
func (c *incomingCheck) conclude(i *incomingRow, sealed seal, form sealForm, row seal, at chainEnd) flaw {
	if f := c.events.conclude(i.earlierEvents); f.found() {
		return f
	}
	if what := sealFault(sealed, form); what != "" && !c.events.v.accepting {
		return flaw{"seal", what}
	}
	switch {
	case row.chainEnd != at || len(i.head) != sha256.Size:
		return flaw{"head", whatHead}
	case !bytes.Equal(i.sum, c.last.SHA256[:]):
		return flaw{"sha256", "it is not that of the last revision"}
	case form == sealWhole && (sealed.chainEnd != at || sealed.row != row.row):
		return flaw{what: whatRow}
	}
	return flaw{}
}

// readRevision reads a revision with its document and metadata. what describes why it cannot, or is "".
func (t *Tenant) readRevision(row scanner) (r Revision, body, metadata []byte, what string) {
	r, err := scanRevision(row, &body, &metadata)
	if err != nil {
		return r, nil, nil, whatUnreadable
	}
	if r.Withheld {
		var errs [2]error
		body, errs[0] = t.db.keys.Open(body, revisionBinding(t.id, r.Incoming, r.Revision, "body"))
		metadata, errs[1] = t.db.keys.Open(metadata, revisionBinding(t.id, r.Incoming, r.Revision, "metadata"))
		if errors.Join(errs[:]...) != nil {
			return r, nil, nil, "its sealed document or metadata do not open"
		}
	}
	return r, body, metadata, ""
}
