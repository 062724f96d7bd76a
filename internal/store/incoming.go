package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"quittance/client/api"
)

// NewIncoming is a purchase document of the provider that is to be retained. The caller has checked the form of the
// values: nil means that the provider did not send the value, or not in a usable form.
type NewIncoming struct {
	// ProviderDocumentID distinguishes the documents of a company: at most 256 characters, no control characters.
	ProviderDocumentID string
	DocumentType       *string
	InvoiceNumber      *string
	SupplierName       *string
	SupplierNetworkID  *string
	IssueDate          *string // YYYY-MM-DD
	DueDate            *string // YYYY-MM-DD
	Currency           *string
	TotalAmount        *api.Decimal
	ReceivedAt         *time.Time
	// ClaimedSHA256 is the digest that the metadata claims: 64 lowercase hex digits.
	ClaimedSHA256 *string
	MediaType     string
	// Metadata holds the exact bytes of the provider's entry.
	Metadata []byte
	// Body holds the document's bytes when Retained is true.
	Body     []byte
	Retained bool
	// SHA256 and Size are those of a document that was read completely but is too large to be retained; nil otherwise.
	SHA256 *[32]byte
	Size   *int64
	// Withheld reports that the document or the metadata contains the credential: both are sealed and never shown.
	Withheld bool
}

// Revision is one retained state of an incoming e-invoice. Its digest covers everything but the document and the
// metadata, which SHA256 and MetadataSHA256 cover, and the digest of the revision before it.
type Revision struct {
	NewIncoming // without Metadata; Body only from [Tenant.RevisionDocument]
	Incoming    ID
	Revision    int64 // from 1, without gaps
	RetainedAt  time.Time
	// SHA256 is the digest of the document, or of the metadata if the document was not read completely.
	SHA256         [32]byte
	MetadataSHA256 [32]byte
	Previous       [32]byte // zero for the first
	Digest         [32]byte

	events []byte // digest of the event that it caused; nil for a revision of a version that did not store it
}

// chain computes the digest of a revision.
func (r *Revision) chain() [32]byte {
	kind := "quittance/revision/v2"
	if r.events == nil {
		kind = "quittance/revision/v1"
	}
	hash := newDigester(kind)
	hash.field(r.Previous[:])
	hash.field(r.Incoming[:])
	hash.number(r.Revision)
	hash.number(micros(r.RetainedAt))
	hash.field([]byte(r.ProviderDocumentID))
	for _, text := range []*string{r.DocumentType, r.InvoiceNumber, r.SupplierName, r.SupplierNetworkID, r.IssueDate,
		r.DueDate, r.Currency, decimalText(r.TotalAmount), r.ClaimedSHA256} {
		hash.optional(text)
	}
	hash.optionalNumber(microsPointer(r.ReceivedAt))
	hash.optionalNumber(r.Size)
	hash.field([]byte(r.MediaType))
	hash.field(r.SHA256[:])
	hash.field(r.MetadataSHA256[:])
	hash.number(flag(r.Retained))
	hash.number(flag(r.Withheld))
	if r.events != nil {
		hash.field(r.events)
	}
	return hash.sum()
}

// Intact reports whether the digest is that of the revision.
func (r *Revision) Intact() bool { return r.chain() == r.Digest }

func decimalText(d *api.Decimal) *string {
	if d == nil {
		return nil
	}
	return new(d.String())
}

func microsPointer(at *time.Time) *int64 {
	if at == nil {
		return nil
	}
	return new(micros(*at))
}

// Incoming is an incoming e-invoice in its latest revision.
type Incoming struct {
	ID ID
	Revision
}

const revisionColumns = `i.provider_document_id, r.incoming_id, r.revision, r.document_type, r.invoice_number, r.supplier_name,
	r.supplier_network_id, r.issue_date, r.due_date, r.currency, r.total_amount, r.received_at, r.media_type, r.size, r.sha256,
	r.claimed_sha256, r.retained, r.withheld, r.metadata_sha256, r.retained_at, r.events, r.previous, r.digest`

const fromRevisions = ` from incoming i join revisions r on r.tenant_id = i.tenant_id and r.incoming_id = i.id where i.tenant_id = $1 and `

func scanRevision(row scanner, more ...any) (Revision, error) {
	var r Revision
	var amount sql.Null[string]
	var received, size sql.Null[int64]
	var retained, withheld, at int64
	var sum, metadata, previous, digest []byte
	if err := row.Scan(append([]any{&r.ProviderDocumentID, &r.Incoming, &r.Revision, &r.DocumentType, &r.InvoiceNumber,
		&r.SupplierName, &r.SupplierNetworkID, &r.IssueDate, &r.DueDate, &r.Currency, &amount, &received, &r.MediaType, &size,
		&sum, &r.ClaimedSHA256, &retained, &withheld, &metadata, &at, &r.events, &previous, &digest},
		more...)...); err != nil {
		return Revision{}, err
	}
	if amount.Valid {
		total, err := api.ParseDecimal(amount.V)
		if err != nil || total.String() != amount.V { // the digest is of the text as it was written
			return Revision{}, fmt.Errorf("stored amount of incoming e-invoice %s: %w", r.Incoming,
				errors.Join(api.ErrNotDecimal, err))
		}
		r.TotalAmount = &total
	}
	if size.Valid {
		r.Size = &size.V
	}
	r.ReceivedAt, r.RetainedAt = instantOrNil(received), instant(at)
	var flags [2]error
	r.Retained, flags[0] = parseFlag(retained)
	r.Withheld, flags[1] = parseFlag(withheld)
	if err := errors.Join(flags[0], flags[1], parseDigest(&r.SHA256, sum), parseDigest(&r.MetadataSHA256, metadata),
		parseDigest(&r.Previous, previous), parseDigest(&r.Digest, digest)); err != nil {
		return Revision{}, fmt.Errorf("stored revision %d of incoming e-invoice %s: %w", r.Revision, r.Incoming, err)
	}
	return r, nil
}

func scanIncoming(row scanner) (Incoming, error) {
	r, err := scanRevision(row)
	return Incoming{ID: r.Incoming, Revision: r}, err
}

// IncomingInvoice returns one incoming e-invoice.
func (t *Tenant) IncomingInvoice(ctx context.Context, id ID) (Incoming, error) {
	var found Incoming
	err := t.read(func(q querier) error {
		var err error
		found, err = t.incoming(ctx, q, id)
		return err
	})
	return found, err
}

func (t *Tenant) incoming(ctx context.Context, q querier, id ID) (Incoming, error) {
	return scanIncoming(q.QueryRowContext(ctx, `select `+revisionColumns+fromRevisions+
		`i.id = $2 and r.revision = i.revision`, t.id, id))
}

// RevisionDocument returns a revision with the bytes of the document. A withheld document stays sealed and is not
// returned.
func (t *Tenant) RevisionDocument(ctx context.Context, id ID, revision int64) (Revision, error) {
	var out Revision
	err := t.read(func(q querier) error {
		var body []byte
		var err error
		out, err = scanRevision(q.QueryRowContext(ctx,
			`select `+revisionColumns+`, r.body`+fromRevisions+`i.id = $2 and r.revision = $3`, t.id, id, revision), &body)
		if err == nil && out.Retained && !out.Withheld {
			out.Body = body
		}
		return err
	})
	return out, err
}

// digests returns the digest that identifies the document, and that of its metadata.
func (n *NewIncoming) digests() (document, metadata [32]byte) {
	metadata = sha256.Sum256(n.Metadata)
	switch {
	case n.Retained:
		return sha256.Sum256(n.Body), metadata
	case n.SHA256 != nil:
		return *n.SHA256, metadata
	}
	return metadata, metadata
}

// unchanged reports whether the document equals the latest revision: it has the same digest. If its bytes were not
// read, it is unchanged if the provider sent the same metadata as before, or claims the digest of the revision.
func (n *NewIncoming) unchanged(latest *Revision) bool {
	document, metadata := n.digests()
	if n.Retained || n.SHA256 != nil {
		return document == latest.SHA256
	}
	return metadata == latest.MetadataSHA256 || n.ClaimedSHA256 != nil &&
		*n.ClaimedSHA256 == hex.EncodeToString(latest.SHA256[:])
}

// SeedIncoming retains the synthetic documents of a sandbox as a purchase sync does, including events, but without a
// provider and without a cursor.
func (t *Tenant) SeedIncoming(ctx context.Context, docs []NewIncoming) error {
	return t.write(ctx, "seed incoming", func(ctx context.Context, tx *tx) error {
		_, err := t.retainAll(ctx, tx, docs)
		return err
	})
}

// retainAll retains the new ones of some documents, in their order, and returns their number. It returns [ErrNotFound]
// if the tenant is frozen.
func (t *Tenant) retainAll(ctx context.Context, tx *tx, docs []NewIncoming) (stored int, err error) {
	if len(docs) == 0 {
		return 0, nil
	}
	// The row is locked, so that two transactions cannot both create the first revision of a document.
	var tenant ID
	if err := tx.QueryRowContext(ctx, `select id from tenants where id = $1 and frozen_at is null`+
		t.db.dialect.ForUpdate(), t.id).Scan(&tenant); err != nil {
		return 0, err
	}
	for n := range docs {
		isNew, err := t.retain(ctx, tx, &docs[n])
		if err != nil {
			return 0, err
		}
		if isNew {
			stored++
		}
	}
	return stored, nil
}

// retain retains one document, unless it is unchanged.
func (t *Tenant) retain(ctx context.Context, tx *tx, doc *NewIncoming) (isNew bool, err error) {
	latest, err := scanRevision(tx.QueryRowContext(ctx, `select `+revisionColumns+fromRevisions+
		`i.provider_document_id = $2 and r.revision = i.revision`, t.id, doc.ProviderDocumentID))
	first := errors.Is(err, sql.ErrNoRows)
	if err != nil && !first {
		return false, err
	}
	if !first && doc.unchanged(&latest) {
		return false, nil
	}
	now := tx.Now()
	r := Revision{NewIncoming: *doc, Incoming: latest.Incoming, Revision: latest.Revision + 1, RetainedAt: now,
		Previous: latest.Digest}
	r.SHA256, r.MetadataSHA256 = doc.digests()
	if doc.Retained {
		r.Size = new(int64(len(doc.Body)))
	}
	kind := api.EventIncomingRevised
	if first {
		kind = api.EventIncomingReceived
		if r.Incoming, err = newID(now, t.db.random); err != nil {
			return false, err
		}
	}
	tx.use(t.id, usage{bytes: int64(len(doc.Body) + len(doc.Metadata))})
	emitted, err := prepareEvents(ctx, tx, t, now, []api.EventKind{kind}, api.ResourceIncomingInvoice, r.Incoming,
		r.payload())
	if err != nil {
		return false, err
	}
	r.events = emitted.digests
	r.Digest = r.chain()
	if err := t.writeIncoming(ctx, tx, &r, first); err != nil {
		return false, err
	}
	if err := t.insertRevision(ctx, tx, &r); err != nil {
		return false, err
	}
	return true, emitted.write(ctx, tx)
}

// payload returns the payload of the events about a revision.
func (r *Revision) payload() api.IncomingPayload {
	return api.IncomingPayload{IncomingInvoiceID: r.Incoming.String(), Revision: int(r.Revision),
		ProviderDocumentID: r.ProviderDocumentID, SHA256: hex.EncodeToString(r.SHA256[:])}
}

// incomingRow is the row of an incoming e-invoice, which has the end of its chain.
type incomingRow struct {
	id                 ID
	position, revision int64
	document           string // the provider's name for it
	sum, head          []byte
	created, updated   int64 // microseconds since 1970
	earlierEvents      []byte
	sealed             []byte
}

const incomingColumns = `id, position, provider_document_id, revision, sha256, head, created_at, updated_at, earlier_events, seal`

func scanIncomingRow(row scanner) (incomingRow, error) {
	var i incomingRow
	err := row.Scan(&i.id, &i.position, &i.document, &i.revision, &i.sum, &i.head, &i.created, &i.updated,
		&i.earlierEvents, &i.sealed)
	return i, err
}

// asRead returns what the seal of an incoming e-invoice covers: its chain and every column of its row.
func (i *incomingRow) asRead() seal {
	s := seal{chainEnd: chainEnd{count: i.revision}}
	copy(s.head[:], i.head)
	hash := newDigester("quittance/incoming/v1")
	hash.field(i.id[:])
	hash.field([]byte(i.document))
	for _, number := range []int64{i.position, i.revision, i.created, i.updated} {
		hash.number(number)
	}
	for _, part := range [][]byte{i.sum, i.head, i.earlierEvents} {
		hash.field(part)
	}
	s.row = hash.sum()
	return s
}

// continueIncoming checks the seal of an incoming e-invoice against its row, and returns the content of the next seal.
func (t *Tenant) continueIncoming(i *incomingRow) (seal, error) {
	return continueSeal(t.db.keys, i.sealed, incomingSealBinding(t.id, i.id), i.asRead(),
		func() (none [32]byte, err error) { return none, nil })
}

// sealIncoming seals an incoming e-invoice that has changed. next was returned by continueIncoming before the change.
func (t *Tenant) sealIncoming(i *incomingRow, next seal) (err error) {
	now := i.asRead()
	next.chainEnd, next.row = now.chainEnd, now.row
	i.sealed, err = next.seal(t.db.keys, incomingSealBinding(t.id, i.id))
	return err
}

// writeIncoming inserts the e-invoice of a first revision, or updates it to a later one. The tenant's row is locked.
func (t *Tenant) writeIncoming(ctx context.Context, tx *tx, r *Revision, first bool) error {
	at := micros(r.RetainedAt)
	if !first {
		i, err := scanIncomingRow(tx.QueryRowContext(ctx,
			`select `+incomingColumns+` from incoming where tenant_id = $1 and id = $2`, t.id, r.Incoming))
		if err != nil {
			return err
		}
		next, err := t.continueIncoming(&i)
		if err != nil {
			return err
		}
		i.revision, i.sum, i.head, i.updated = r.Revision, r.SHA256[:], r.Digest[:], at
		if err := t.sealIncoming(&i, next); err != nil {
			return err
		}
		_, err = tx.Exec(ctx,
			`update incoming set revision = $3, sha256 = $4, head = $5, updated_at = $6, seal = $7 where tenant_id = $1 and id = $2`,
			t.id, i.id, i.revision, i.sum, i.head, i.updated, i.sealed)
		return err
	}
	i := incomingRow{id: r.Incoming, document: r.ProviderDocumentID, revision: r.Revision, sum: r.SHA256[:],
		head: r.Digest[:], created: at, updated: at}
	if err := tx.QueryRowContext(ctx, `update tenants set incoming = incoming + 1 where id = $1 returning incoming`,
		t.id).Scan(&i.position); err != nil {
		return err
	}
	if err := t.sealIncoming(&i, seal{}); err != nil {
		return err
	}
	_, err := tx.Exec(ctx,
		`insert into incoming (tenant_id, id, position, provider_document_id, revision, sha256, head, created_at, updated_at, seal)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)`, t.id, i.id, i.position, i.document, i.revision, i.sum, i.head, at, i.sealed)
	return err
}

func (t *Tenant) insertRevision(ctx context.Context, tx *tx, r *Revision) error {
	body, err := t.sealRevision(r, "body", r.Body)
	if err != nil {
		return err
	}
	metadata, err := t.sealRevision(r, "metadata", r.Metadata)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx,
		`insert into revisions (tenant_id, incoming_id, revision, document_type, invoice_number, supplier_name,
		supplier_network_id, issue_date, due_date, currency, total_amount, received_at, media_type, size, sha256, claimed_sha256,
		retained, withheld, body, metadata, metadata_sha256, retained_at, events, previous, digest)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)`,
		t.id, r.Incoming, r.Revision, r.DocumentType, r.InvoiceNumber, r.SupplierName,
		r.SupplierNetworkID, r.IssueDate, r.DueDate, r.Currency, decimalText(r.TotalAmount), microsOrNil(r.ReceivedAt),
		r.MediaType, r.Size, r.SHA256[:], r.ClaimedSHA256, flag(r.Retained), flag(r.Withheld), body, metadata,
		r.MetadataSHA256[:], micros(r.RetainedAt), r.events, r.Previous[:], r.Digest[:])
	return err
}

// sealRevision returns the value of a column of a revision for text: sealed if the revision is withheld.
func (t *Tenant) sealRevision(r *Revision, column string, text []byte) ([]byte, error) {
	if r.Withheld {
		return t.db.keys.Seal(text, revisionBinding(t.id, r.Incoming, r.Revision, column))
	}
	if text == nil {
		return []byte{}, nil
	}
	return text, nil
}
