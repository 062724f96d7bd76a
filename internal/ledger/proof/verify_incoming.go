package proof

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/incoming"
)

// incoming verifies one incoming e-invoice.
func (v *verification) incoming(ctx context.Context, id base.ID) (*EvidenceError, error) {
	i, malformed, err := readOne(ctx, v.q, incoming.ScanIncomingRow,
		`select `+incoming.IncomingColumns+` from incoming where tenant_id = $1 and id = $2`, v.t.ID(), id)
	if err != nil {
		return nil, base.IgnoreMissing(err)
	}
	if malformed != nil {
		return v.at(KindIncoming, id, 0, base.Flaw{What: whatUnreadable}), nil
	}
	sealed, form, err := base.OpenSeal(v.t.DB().Sealer(), i.Sealed, base.IncomingSealBinding(v.t.ID(), id))
	if err := ignoreUnknownKey(err); err != nil {
		return nil, err
	}
	v.setSeal(sealed, form)
	row := i.AsRead()
	want := row.ChainEnd
	if form >= base.SealState {
		want = sealed.ChainEnd
	}
	events, err := eventsOf(ctx, v.t, v.q, id)
	if err != nil {
		return nil, err
	}
	check := &incomingCheck{replay: v.replay, events: &eventCheck{v: v, events: events,
		resourceType: api.ResourceIncomingInvoice}}
	read := func(row base.Row) base.ChainLink {
		r, body, metadata, what := readRevision(v.t, row)
		if what != "" {
			return base.ChainLink{Flaw: base.Flaw{What: what}}
		}
		return check.link(&r, body, metadata, true)
	}
	at, f, err := v.walk(ctx, `select `+incoming.RevisionColumns+`, `+incoming.WithheldDocument+
		`, `+incoming.WithheldMetadata+incoming.FromRevisions+`i.id = $2 order by r.revision`, id, [32]byte{}, want, read)
	if err != nil {
		return nil, err
	}
	if v.entries = at.Count; f.Found() {
		return v.at(KindIncoming, id, at.Count+1, f), nil
	}
	if f := check.conclude(&i, sealed, form, row, at); f.Found() {
		return v.at(KindIncoming, id, 0, f), nil
	}
	return nil, nil
}

// incomingCheck is the state of the verification of one incoming e-invoice along its chain.
type incomingCheck struct {
	replay Replay
	events *eventCheck // nil for an exported file
	last   incoming.Revision
}

// link verifies a revision: its digests, the fields that are shown of it, and its event. present reports that body and
// metadata are available.
func (c *incomingCheck) link(r *incoming.Revision, body, metadata []byte, present bool) base.ChainLink {
	out := base.ChainLink{Ordinal: r.Revision, Previous: r.Previous, Digest: r.Digest}
	switch {
	case present && sha256.Sum256(metadata) != r.MetadataSHA256:
		out.Flaw.What = "its metadata are not what was retained"
	case present && r.Retained && sha256.Sum256(body) != r.SHA256:
		out.Flaw.What = "its document is not what was retained"
	case present && !r.Retained && len(body) > 0:
		out.Flaw.What = "it has a document, and none was retained"
	case !r.Intact():
		out.Flaw.What = "it is not what was retained"
	default:
		if c.last = *r; present {
			out.Flaw = c.shown(r, metadata)
		}
		if !out.Flaw.Found() && r.EventDigests != nil && c.events != nil {
			out.Flaw = c.event(r)
		}
	}
	return out
}

// event verifies the event that a revision caused.
func (c *incomingCheck) event(r *incoming.Revision) base.Flaw {
	kind := api.EventIncomingRevised
	if r.Revision == 1 {
		kind = api.EventIncomingReceived
	}
	return c.events.verify(r.EventDigests, []api.EventKind{kind}, base.Micros(r.RetainedAt),
		func(e events.Event) ([]byte, error) {
			return events.Body(e.ID, e.Kind, r.RetainedAt, api.ResourceIncomingInvoice, r.Incoming, r.Payload())
		})
}

// shown compares the fields that are shown of a revision with its metadata.
func (c *incomingCheck) shown(r *incoming.Revision, metadata []byte) base.Flaw {
	read, err := c.replay.Purchase(metadata)
	if err != nil {
		return base.Flaw{Field: "metadata", What: err.Error()}
	}
	if field := shownBeyond(r, &read); field != "" {
		return base.Flaw{Field: field, What: "it does not follow from the retained metadata"}
	}
	return base.Flaw{}
}

// shownBeyond returns the first field that a revision shows and that does not follow from read, its interpreted
// metadata; or "". A withheld revision may show less.
func shownBeyond(r *incoming.Revision, read *incoming.NewIncoming) string {
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
		{"total_amount", shows(incoming.DecimalText(r.TotalAmount), incoming.DecimalText(read.TotalAmount), less)},
		{"received_at", shows(base.MicrosOrNil(r.ReceivedAt), base.MicrosOrNil(read.ReceivedAt), less)},
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
func (c *incomingCheck) conclude(i *incoming.Head, sealed base.Seal, form base.SealForm, row base.Seal,
	at base.ChainEnd) base.Flaw {
	if f := c.events.conclude(i.EarlierEvents); f.Found() {
		return f
	}
	if what := sealFault(sealed, form); what != "" && !c.events.v.accepting {
		return base.Flaw{Field: "seal", What: what}
	}
	switch {
	case row.ChainEnd != at || len(i.Last) != sha256.Size:
		return base.Flaw{Field: "head", What: whatHead}
	case !bytes.Equal(i.Sum, c.last.SHA256[:]):
		return base.Flaw{Field: "sha256", What: "it is not that of the last revision"}
	case form == base.SealWhole && (sealed.ChainEnd != at || sealed.Row != row.Row):
		return base.Flaw{What: whatRow}
	}
	return base.Flaw{}
}

// readRevision reads a revision with its document and metadata. what describes why it cannot, or is "".
func readRevision(t *base.Tenant, row base.Row) (r incoming.Revision, body, metadata []byte, what string) {
	r, err := incoming.ScanRevision(row, &body, &metadata)
	if err != nil {
		return r, nil, nil, whatUnreadable
	}
	if r.Withheld {
		var errs [2]error
		body, errs[0] = t.DB().Sealer().Open(body, incoming.RevisionBinding(t.ID(), r.Incoming, r.Revision, "body"))
		metadata, errs[1] = t.DB().Sealer().Open(metadata, incoming.RevisionBinding(t.ID(), r.Incoming, r.Revision,
			"metadata"))
		if errors.Join(errs[:]...) != nil {
			return r, nil, nil, "its sealed document or metadata do not open"
		}
	}
	return r, body, metadata, ""
}
