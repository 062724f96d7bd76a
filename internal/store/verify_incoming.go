package store

import (
	"context"
	"crypto/sha256"
	"errors"

	"quittance/sdk/go/api"
)

// incoming verifies one incoming e-invoice.
func (v *verification) incoming(ctx context.Context, id ID) (*EvidenceError, error) {
	i, senseless, err := readOne(ctx, v.q, scanIncomingRow, `select `+incomingColumns+` from incoming where tenant_id = $1 and id = $2`, v.t.id, id)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	if senseless != nil {
		return v.at(KindIncoming, id, 0, "", whatUnreadable), nil
	}
	sealed, form, err := openSeal(v.t.db.keys, i.sealed, incomingSealBinding(v.t.id, id))
	if err := ownKeys(err); err != nil {
		return nil, err
	}
	v.take(sealed, form)
	row := i.asRead()
	want := row.chainEnd
	if form >= sealEnd {
		want = sealed.chainEnd
	}
	events, err := v.t.eventsOf(ctx, v.q, id)
	if err != nil {
		return nil, err
	}
	check := &incomingCheck{replay: v.replay, events: eventCheck{v: v, events: events, type_: api.ResourceIncomingInvoice, of: id}}
	read := func(row scanner, _ chainEnd) chainLink { return check.read(v.t, row) }
	at, what, err := v.walk(ctx, `select `+revisionColumns+`, `+withheldDocument+`, `+withheldMetadata+fromRevisions+`i.id = $2 order by r.revision`, id, [32]byte{}, want, read)
	if err != nil {
		return nil, err
	}
	if v.entries = at.count; what != "" {
		return v.at(KindIncoming, id, at.count+1, check.field, what), nil
	}
	if field, what := check.conclude(&i, sealed, form, row, at); what != "" {
		return v.at(KindIncoming, id, 0, field, what), nil
	}
	return nil, nil
}

// incomingCheck is what the verification of one incoming e-invoice knows while it goes along its chain.
type incomingCheck struct {
	replay Replay
	events eventCheck
	last   Revision
	field  string // of the fault of an entry
}

// read reads a revision with document and metadata, and reads the metadata again.
func (c *incomingCheck) read(t *Tenant, row scanner) chainLink {
	c.field = ""
	r, body, metadata, fault := t.readRevision(row)
	if fault != "" {
		return chainLink{fault: fault}
	}
	out := r.link(body, metadata, true)
	if out.fault == "" {
		if c.field, out.fault = c.follow(&r, metadata); out.fault == "" {
			c.field = ""
		}
	}
	return out
}

// follow takes a revision whose digests are right: what is shown of it, and the event that it gave rise to.
func (c *incomingCheck) follow(r *Revision, metadata []byte) (field, fault string) {
	c.last = *r
	if field, fault = c.reread(r, metadata); fault != "" || r.events == nil {
		return field, fault
	}
	kind := api.EventIncomingRevised
	if r.Revision == 1 {
		kind = api.EventIncomingReceived
	}
	return "events", c.events.take(r.events, []api.EventKind{kind}, micros(r.RetainedAt), func(e Event) ([]byte, error) {
		return eventBody(e.ID, e.Kind, r.RetainedAt, api.ResourceIncomingInvoice, r.Incoming, r.payload())
	})
}

// reread compares what is shown of a revision with its metadata.
func (c *incomingCheck) reread(r *Revision, metadata []byte) (field, fault string) {
	read, err := c.replay.Purchase(metadata)
	if err != nil {
		return "metadata", err.Error()
	}
	if field := r.shownBeyond(&read); field != "" {
		return field, "it does not follow from the retained metadata"
	}
	return "", ""
}

// shownBeyond returns the field that a revision shows and that does not follow from what its metadata were read as; "" when
// there is none. Of what is withheld less is shown.
func (r *Revision) shownBeyond(read *NewIncoming) string {
	less := r.Withheld
	unreadable := r.DocumentType != nil && *r.DocumentType == api.DocumentUnreadable // also when the document was not to be had
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

// shows tells whether what is shown is what was read, or nothing where less may be shown.
func shows[T comparable](shown, read *T, less bool) bool {
	return equal(shown, read) || less && shown == nil
}

// conclude compares what stands outside of the chain, which is whole and ends at end.
func (c *incomingCheck) conclude(i *incomingRow, sealed seal, form sealForm, row seal, at chainEnd) (field, what string) {
	if what := c.events.conclude(i.earlierEvents); what != "" {
		return "events", what
	}
	accept := c.events.v.accepting
	if what := sealFault(sealed, form); what != "" && !accept {
		return "seal", what
	}
	switch {
	case row.chainEnd != at || len(i.head) != sha256.Size:
		return "head", whatHead
	case c.last.SHA256 != fixedOr(i.sum):
		return "sha256", "it is not that of the last revision"
	case form == sealWhole && (sealed.chainEnd != at || sealed.row != row.row):
		return "", whatRow
	}
	return "", ""
}

// fixedOr reads a stored digest; zero for what is none.
func fixedOr(stored []byte) (sum [32]byte) {
	if len(stored) == len(sum) {
		copy(sum[:], stored)
	}
	return sum
}

// readRevision reads a revision with its document and metadata. fault says why it cannot, "" when it can.
func (t *Tenant) readRevision(row scanner) (r Revision, body, metadata []byte, fault string) {
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

// link recomputes the digests of a revision. body and metadata count when they are at hand.
func (r *Revision) link(body, metadata []byte, atHand bool) chainLink {
	out := chainLink{ordinal: r.Revision, previous: r.Previous, digest: r.Digest}
	switch {
	case atHand && sha256.Sum256(metadata) != r.MetadataSHA256:
		out.fault = "its metadata are not what was retained"
	case atHand && r.Retained && sha256.Sum256(body) != r.SHA256:
		out.fault = "its document is not what was retained"
	case atHand && !r.Retained && len(body) > 0:
		out.fault = "it has a document, and none was retained"
	case !r.Intact():
		out.fault = "it is not what was retained"
	}
	return out
}
