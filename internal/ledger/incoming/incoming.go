package incoming

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
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
	NewIncoming // without Metadata; Body only from [RevisionDocument]
	Incoming    base.ID
	Revision    int64 // from 1, without gaps
	RetainedAt  time.Time
	// SHA256 is the digest of the document, or of the metadata if the document was not read completely.
	SHA256         [32]byte
	MetadataSHA256 [32]byte
	Previous       [32]byte // zero for the first
	Digest         [32]byte

	EventDigests []byte // digest of the event that it caused; nil for a revision of a version that did not store it
}

// ComputeDigest computes the digest of a revision.
func (r *Revision) ComputeDigest() [32]byte {
	kind := "quittance/revision/v2"
	if r.EventDigests == nil {
		kind = "quittance/revision/v1"
	}
	hash := base.NewDigester(kind)
	hash.Field(r.Previous[:])
	hash.Field(r.Incoming[:])
	hash.Number(r.Revision)
	hash.Number(base.Micros(r.RetainedAt))
	hash.Field([]byte(r.ProviderDocumentID))
	for _, text := range []*string{r.DocumentType, r.InvoiceNumber, r.SupplierName, r.SupplierNetworkID, r.IssueDate,
		r.DueDate, r.Currency, DecimalText(r.TotalAmount), r.ClaimedSHA256} {
		hash.Optional(text)
	}
	hash.OptionalNumber(base.MicrosOrNil(r.ReceivedAt))
	hash.OptionalNumber(r.Size)
	hash.Field([]byte(r.MediaType))
	hash.Field(r.SHA256[:])
	hash.Field(r.MetadataSHA256[:])
	hash.Number(base.Flag(r.Retained))
	hash.Number(base.Flag(r.Withheld))
	if r.EventDigests != nil {
		hash.Field(r.EventDigests)
	}
	return hash.Sum()
}

// Intact reports whether the digest is that of the revision.
func (r *Revision) Intact() bool { return r.ComputeDigest() == r.Digest }

// DecimalText returns the text of an optional decimal.
func DecimalText(d *api.Decimal) *string {
	if d == nil {
		return nil
	}
	return new(d.String())
}

// Incoming is an incoming e-invoice in its latest revision.
type Incoming struct {
	ID base.ID
	Revision
}

// RevisionColumns are what [ScanRevision] reads of [FromRevisions].
const RevisionColumns = `i.provider_document_id, r.incoming_id, r.revision, r.document_type, r.invoice_number, r.supplier_name,
	r.supplier_network_id, r.issue_date, r.due_date, r.currency, r.total_amount, r.received_at, r.media_type, r.size, r.sha256,
	r.claimed_sha256, r.retained, r.withheld, r.metadata_sha256, r.retained_at, r.events, r.previous, r.digest`

// FromRevisions joins the revisions r of the incoming e-invoices i of the tenant $1; a further condition follows.
const FromRevisions = ` from incoming i join revisions r on r.tenant_id = i.tenant_id and r.incoming_id = i.id where i.tenant_id = $1 and `

// ScanRevision reads RevisionColumns, and further columns into more.
func ScanRevision(row base.Row, more ...any) (Revision, error) {
	var r Revision
	var amount sql.Null[string]
	var received, size sql.Null[int64]
	var retained, withheld, at int64
	var sum, metadata, previous, digest []byte
	if err := row.Scan(append([]any{&r.ProviderDocumentID, &r.Incoming, &r.Revision, &r.DocumentType, &r.InvoiceNumber,
		&r.SupplierName, &r.SupplierNetworkID, &r.IssueDate, &r.DueDate, &r.Currency, &amount, &received, &r.MediaType, &size,
		&sum, &r.ClaimedSHA256, &retained, &withheld, &metadata, &at, &r.EventDigests, &previous, &digest},
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
	r.ReceivedAt, r.RetainedAt = base.InstantOrNil(received), base.Instant(at)
	var flags [2]error
	r.Retained, flags[0] = base.ParseFlag(retained)
	r.Withheld, flags[1] = base.ParseFlag(withheld)
	if err := errors.Join(flags[0], flags[1], base.ParseDigest(&r.SHA256, sum), base.ParseDigest(&r.MetadataSHA256,
		metadata), base.ParseDigest(&r.Previous, previous), base.ParseDigest(&r.Digest, digest)); err != nil {
		return Revision{}, fmt.Errorf("stored revision %d of incoming e-invoice %s: %w", r.Revision, r.Incoming, err)
	}
	return r, nil
}

func scanIncoming(row base.Row) (Incoming, error) {
	r, err := ScanRevision(row)
	return Incoming{ID: r.Incoming, Revision: r}, err
}

// Find returns one incoming e-invoice.
func Find(ctx context.Context, t *base.Tenant, id base.ID) (Incoming, error) {
	var found Incoming
	err := t.Read(func(q base.Querier) error {
		var err error
		found, err = incoming(ctx, t, q, id)
		return err
	})
	return found, err
}

func incoming(ctx context.Context, t *base.Tenant, q base.Querier, id base.ID) (Incoming, error) {
	return scanIncoming(q.QueryRowContext(ctx, `select `+RevisionColumns+FromRevisions+
		`i.id = $2 and r.revision = i.revision`, t.ID(), id))
}

// RevisionDocument returns a revision with the bytes of the document. A withheld document stays sealed and is not
// returned.
func RevisionDocument(ctx context.Context, t *base.Tenant, id base.ID, revision int64) (Revision, error) {
	var out Revision
	err := t.Read(func(q base.Querier) error {
		var body []byte
		var err error
		out, err = ScanRevision(q.QueryRowContext(ctx,
			`select `+RevisionColumns+`, r.body`+FromRevisions+`i.id = $2 and r.revision = $3`, t.ID(), id, revision), &body)
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

// Seed retains the synthetic documents of a sandbox as a purchase sync does, including events, but without a
// provider and without a cursor.
func Seed(ctx context.Context, t *base.Tenant, docs []NewIncoming) error {
	return t.Write(ctx, "seed incoming", func(ctx context.Context, tx *base.Tx) error {
		_, err := retainAll(ctx, t, tx, docs)
		return err
	})
}

// retainAll retains the new ones of some documents, in their order, and returns their number. It returns
// [base.ErrNotFound] if the tenant is frozen.
func retainAll(ctx context.Context, t *base.Tenant, tx *base.Tx, docs []NewIncoming) (stored int, err error) {
	if len(docs) == 0 {
		return 0, nil
	}
	// The row is locked, so that two transactions cannot both create the first revision of a document.
	var tenant base.ID
	if err := tx.QueryRowContext(ctx, `select id from tenants where id = $1 and frozen_at is null`+
		t.DB().Dialect().ForUpdate(), t.ID()).Scan(&tenant); err != nil {
		return 0, err
	}
	for n := range docs {
		isNew, err := retain(ctx, t, tx, &docs[n])
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
func retain(ctx context.Context, t *base.Tenant, tx *base.Tx, doc *NewIncoming) (isNew bool, err error) {
	latest, err := ScanRevision(tx.QueryRowContext(ctx, `select `+RevisionColumns+FromRevisions+
		`i.provider_document_id = $2 and r.revision = i.revision`, t.ID(), doc.ProviderDocumentID))
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
		if r.Incoming, err = base.NewID(now, t.DB().Random()); err != nil {
			return false, err
		}
	}
	tx.Use(t.ID(), base.Usage{Bytes: int64(len(doc.Body) + len(doc.Metadata))})
	emitted, err := events.Prepare(ctx, tx, t, now, []api.EventKind{kind}, api.ResourceIncomingInvoice, r.Incoming,
		r.Payload())
	if err != nil {
		return false, err
	}
	r.EventDigests = emitted.Digests
	r.Digest = r.ComputeDigest()
	if err := writeIncoming(ctx, t, tx, &r, first); err != nil {
		return false, err
	}
	if err := insertRevision(ctx, t, tx, &r); err != nil {
		return false, err
	}
	return true, emitted.Write(ctx, tx)
}

// Payload returns the payload of the events about a revision.
func (r *Revision) Payload() api.IncomingPayload {
	return api.IncomingPayload{IncomingInvoiceID: r.Incoming.String(), Revision: int(r.Revision),
		ProviderDocumentID: r.ProviderDocumentID, SHA256: hex.EncodeToString(r.SHA256[:])}
}

// Head is the row of an incoming e-invoice, which has the end of its chain.
type Head struct {
	id                 base.ID
	position, revision int64
	document           string // the provider's name for it
	Sum, Last          []byte
	created, updated   int64 // microseconds since 1970
	EarlierEvents      []byte
	Sealed             []byte
}

// IncomingColumns are what [ScanIncomingRow] reads.
const IncomingColumns = `id, position, provider_document_id, revision, sha256, head, created_at, updated_at, earlier_events, seal`

// ScanIncomingRow reads the row of an incoming e-invoice.
func ScanIncomingRow(row base.Row) (Head, error) {
	var i Head
	err := row.Scan(&i.id, &i.position, &i.document, &i.revision, &i.Sum, &i.Last, &i.created, &i.updated,
		&i.EarlierEvents, &i.Sealed)
	return i, err
}

// AsRead returns what the seal of an incoming e-invoice covers: its chain and every column of its row.
func (i *Head) AsRead() base.Seal {
	s := base.Seal{ChainEnd: base.ChainEnd{Count: i.revision}}
	copy(s.Head[:], i.Last)
	hash := base.NewDigester("quittance/incoming/v1")
	hash.Field(i.id[:])
	hash.Field([]byte(i.document))
	for _, number := range []int64{i.position, i.revision, i.created, i.updated} {
		hash.Number(number)
	}
	for _, part := range [][]byte{i.Sum, i.Last, i.EarlierEvents} {
		hash.Field(part)
	}
	s.Row = hash.Sum()
	return s
}

// continueIncoming checks the seal of an incoming e-invoice against its row, and returns the content of the next seal.
func continueIncoming(t *base.Tenant, i *Head) (base.Seal, error) {
	return base.ContinueSeal(t.DB().Sealer(), i.Sealed, base.IncomingSealBinding(t.ID(), i.id), i.AsRead(),
		func() (none [32]byte, err error) { return none, nil })
}

// SealIncoming seals an incoming e-invoice that has changed. next was returned by continueIncoming before the change.
func SealIncoming(t *base.Tenant, i *Head, next base.Seal) (err error) {
	now := i.AsRead()
	next.ChainEnd, next.Row = now.ChainEnd, now.Row
	i.Sealed, err = next.Sealed(t.DB().Sealer(), base.IncomingSealBinding(t.ID(), i.id))
	return err
}

// writeIncoming inserts the e-invoice of a first revision, or updates it to a later one. The tenant's row is locked.
func writeIncoming(ctx context.Context, t *base.Tenant, tx *base.Tx, r *Revision, first bool) error {
	at := base.Micros(r.RetainedAt)
	if !first {
		i, err := ScanIncomingRow(tx.QueryRowContext(ctx,
			`select `+IncomingColumns+` from incoming where tenant_id = $1 and id = $2`, t.ID(), r.Incoming))
		if err != nil {
			return err
		}
		next, err := continueIncoming(t, &i)
		if err != nil {
			return err
		}
		i.revision, i.Sum, i.Last, i.updated = r.Revision, r.SHA256[:], r.Digest[:], at
		if err := SealIncoming(t, &i, next); err != nil {
			return err
		}
		_, err = tx.Exec(ctx,
			`update incoming set revision = $3, sha256 = $4, head = $5, updated_at = $6, seal = $7 where tenant_id = $1 and id = $2`,
			t.ID(), i.id, i.revision, i.Sum, i.Last, i.updated, i.Sealed)
		return err
	}
	i := Head{id: r.Incoming, document: r.ProviderDocumentID, revision: r.Revision, Sum: r.SHA256[:],
		Last: r.Digest[:], created: at, updated: at}
	if err := tx.QueryRowContext(ctx, `update tenants set incoming = incoming + 1 where id = $1 returning incoming`,
		t.ID()).Scan(&i.position); err != nil {
		return err
	}
	if err := SealIncoming(t, &i, base.Seal{}); err != nil {
		return err
	}
	_, err := tx.Exec(ctx,
		`insert into incoming (tenant_id, id, position, provider_document_id, revision, sha256, head, created_at, updated_at, seal)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)`, t.ID(), i.id, i.position, i.document, i.revision, i.Sum, i.Last, at, i.Sealed)
	return err
}

// revisionRow is a new revision.
type revisionRow struct {
	Tenant            base.ID `db:"tenant_id"`
	Incoming          base.ID `db:"incoming_id"`
	Revision          int64   `db:"revision"`
	DocumentType      *string `db:"document_type"`
	InvoiceNumber     *string `db:"invoice_number"`
	SupplierName      *string `db:"supplier_name"`
	SupplierNetworkID *string `db:"supplier_network_id"`
	IssueDate         *string `db:"issue_date"`
	DueDate           *string `db:"due_date"`
	Currency          *string `db:"currency"`
	TotalAmount       *string `db:"total_amount"`
	ReceivedAt        *int64  `db:"received_at"`
	MediaType         string  `db:"media_type"`
	Size              *int64  `db:"size"`
	SHA256            []byte  `db:"sha256"`
	ClaimedSHA256     *string `db:"claimed_sha256"`
	Retained          int64   `db:"retained"`
	Withheld          int64   `db:"withheld"`
	Body              []byte  `db:"body"`
	Metadata          []byte  `db:"metadata"`
	MetadataSHA256    []byte  `db:"metadata_sha256"`
	RetainedAt        int64   `db:"retained_at"`
	Events            []byte  `db:"events"`
	Previous          []byte  `db:"previous"`
	Digest            []byte  `db:"digest"`
}

func insertRevision(ctx context.Context, t *base.Tenant, tx *base.Tx, r *Revision) error {
	body, err := sealRevision(t, r, "body", r.Body)
	if err != nil {
		return err
	}
	metadata, err := sealRevision(t, r, "metadata", r.Metadata)
	if err != nil {
		return err
	}
	statement, args := base.Insert("revisions", revisionRow{Tenant: t.ID(), Incoming: r.Incoming, Revision: r.Revision,
		DocumentType: r.DocumentType, InvoiceNumber: r.InvoiceNumber, SupplierName: r.SupplierName,
		SupplierNetworkID: r.SupplierNetworkID, IssueDate: r.IssueDate, DueDate: r.DueDate, Currency: r.Currency,
		TotalAmount: DecimalText(r.TotalAmount), ReceivedAt: base.MicrosOrNil(r.ReceivedAt), MediaType: r.MediaType,
		Size: r.Size, SHA256: r.SHA256[:], ClaimedSHA256: r.ClaimedSHA256, Retained: base.Flag(r.Retained),
		Withheld: base.Flag(r.Withheld), Body: body, Metadata: metadata, MetadataSHA256: r.MetadataSHA256[:],
		RetainedAt: base.Micros(r.RetainedAt), Events: r.EventDigests, Previous: r.Previous[:], Digest: r.Digest[:]})
	_, err = tx.Exec(ctx, statement, args...)
	return err
}

// sealRevision returns the value of a column of a revision for text: sealed if the revision is withheld.
func sealRevision(t *base.Tenant, r *Revision, column string, text []byte) ([]byte, error) {
	if r.Withheld {
		return t.DB().Sealer().Seal(text, RevisionBinding(t.ID(), r.Incoming, r.Revision, column))
	}
	if text == nil {
		return []byte{}, nil
	}
	return text, nil
}
