package proof_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// fields is the input of a digest, made only from the file and its description in docs/ops/evidence.md.
type fields struct {
	t    *testing.T
	text bytes.Buffer
}

func (f *fields) bytes(part []byte) {
	kit.Must(f.t, binary.Write(&f.text, binary.BigEndian, uint64(len(part))))
	f.text.Write(part)
}

func (f *fields) number(n int64) {
	var eight [8]byte
	binary.BigEndian.PutUint64(eight[:], uint64(n))
	f.bytes(eight[:])
}

// put adds members of an object in turn.
func (f *fields) put(object map[string]any, names ...string) {
	f.t.Helper()
	for _, name := range names {
		value := object[name]
		switch {
		case name == "id" || name == "invoice_id":
			id, err := hex.DecodeString(strings.ReplaceAll(value.(string), "-", ""))
			kit.Must(f.t, err)
			f.bytes(id)
		case slices.Contains([]string{"previous", "sha256", "metadata_sha256", "head", "digest", "events"}, name):
			digest, err := hex.DecodeString(value.(string))
			kit.Must(f.t, err)
			f.bytes(digest)
		case strings.HasSuffix(name, "_at"):
			at, err := time.Parse(time.RFC3339Nano, value.(string))
			kit.Must(f.t, err)
			f.number(at.UnixMicro())
		case value == true:
			f.number(1)
		case value == false:
			f.number(0)
		default:
			if text, isText := value.(string); isText {
				f.bytes([]byte(text))
				continue
			}
			n, err := value.(json.Number).Int64()
			kit.Must(f.t, err)
			f.number(n)
		}
	}
}

// optional adds members that may be null; with asText, it adds numbers as their texts.
func (f *fields) optional(object map[string]any, names ...string) {
	f.t.Helper()
	for _, name := range names {
		switch value := object[name]; {
		case value == nil:
			f.number(0)
		case name == "total_amount":
			f.number(1)
			f.bytes([]byte(value.(json.Number)))
		default:
			f.number(1)
			f.put(object, name)
		}
	}
}

func (f *fields) digest() string {
	sum := sha256.Sum256(f.text.Bytes())
	return hex.EncodeToString(sum[:])
}

func entryDigest(t *testing.T, submission, entry map[string]any) string {
	f := &fields{t: t}
	f.bytes([]byte("quittance/evidence/v2"))
	f.put(entry, "previous")
	f.put(submission, "id")
	f.put(entry, "id", "ordinal", "received_at", "call", "http_status", "media_type", "sha256", "truncated", "withheld",
		"words", "report", "events")
	return f.digest()
}

func revisionDigest(t *testing.T, incoming, revision map[string]any) string {
	f := &fields{t: t}
	f.bytes([]byte("quittance/revision/v2"))
	f.put(revision, "previous")
	f.put(incoming, "id")
	f.put(revision, "revision", "retained_at")
	f.put(incoming, "provider_document_id")
	f.optional(revision, "document_type", "invoice_number", "supplier_name", "supplier_network_id", "issue_date",
		"due_date", "currency", "total_amount", "claimed_sha256", "received_at", "size")
	f.put(revision, "media_type", "sha256", "metadata_sha256", "retained", "withheld", "events")
	return f.digest()
}

// fileDigest returns the digest of a file with zeros in place of its digest and signature.
func fileDigest(text []byte, file map[string]any) string {
	plain := strings.TrimRight(string(text), "\n")
	for _, name := range []string{"digest", "signature"} {
		value := file[name].(string)
		at := strings.LastIndex(plain, value)
		plain = plain[:at] + strings.Repeat("0", len(value)) + plain[at+len(value):]
	}
	sum := sha256.Sum256([]byte(plain))
	return hex.EncodeToString(sum[:])
}

// signed reports whether the public key of a file verifies its signature.
func signed(t *testing.T, file map[string]any) bool {
	t.Helper()
	var parts [3][]byte
	for n, name := range []string{"public_key", "digest", "signature"} {
		var err error
		parts[n], err = hex.DecodeString(file[name].(string))
		kit.Must(t, err)
	}
	return ed25519.Verify(parts[0], append([]byte("quittance-evidence-v3"), parts[1]...), parts[2])
}

// documentLink returns the digest with which a chain begins.
func documentLink(t *testing.T, submission map[string]any) string {
	f := &fields{t: t}
	f.bytes([]byte("quittance/document/v1"))
	f.put(submission, "id")
	sum := sha256.Sum256([]byte(submission["document"].(string)))
	f.bytes(sum[:])
	return f.digest()
}

// bodyDigest returns the digest of a member in base64; an absent member is empty.
func bodyDigest(t *testing.T, object map[string]any, name string) string {
	text, _ := object[name].(string)
	body, err := base64.StdEncoding.DecodeString(text)
	kit.Must(t, err)
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// recompute compares every digest of a file with the described computation, and returns the number of entries.
func recompute(t *testing.T, text []byte) (entries int) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var file map[string]any
	kit.Must(t, decoder.Decode(&file))
	same := func(what string, got any, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s of entry %d is %v, and recomputed %s", what, entries, got, want)
		}
	}
	chain := func(of map[string]any, list, ordinal string,
		digest func(*testing.T, map[string]any, map[string]any) string) {
		head, count := strings.Repeat("0", 64), 0
		if list == "entries" {
			head = documentLink(t, of)
		}
		for _, e := range of[list].([]any) {
			entry := e.(map[string]any)
			entries, count = entries+1, count+1
			same("previous", entry["previous"], head)
			if n, err := entry[ordinal].(json.Number).Int64(); err != nil || n != int64(count) {
				t.Errorf("entry %d has the number %d, %v", count, n, err)
			}
			head = digest(t, of, entry)
			same("digest", entry["digest"], head)
			if entry["withheld"] == true {
				continue
			}
			if retained, said := entry["retained"]; !said || retained == true {
				same("sha256", entry["sha256"], bodyDigest(t, entry, "body"))
			}
			if list == "revisions" {
				same("metadata_sha256", entry["metadata_sha256"], bodyDigest(t, entry, "metadata"))
			}
		}
		same("head", of["head"], head)
		if n, err := of["count"].(json.Number).Int64(); err != nil || n != int64(count) {
			t.Errorf("%d entries of %d, %v", count, n, err)
		}
	}
	if submissions, ok := file["submissions"].([]any); ok {
		for _, s := range submissions {
			chain(s.(map[string]any), "entries", "ordinal", entryDigest)
		}
	}
	if incoming, ok := file["incoming"].(map[string]any); ok {
		chain(incoming, "revisions", "revision", revisionDigest)
	}
	same("digest of the file", file["digest"], fileDigest(text, file))
	if !signed(t, file) {
		t.Error("the public key does not verify the signature")
	}
	return entries
}

// withheldDecision retains a response that contains the credential.
func withheldDecision(s invoices.Submission, now time.Time) invoices.Decision {
	d := fixture.Reported(s, now, nil)
	d.Evidence.Body, d.Evidence.Withheld = []byte("sealed-canary"), true
	return d
}

// exports creates an invoice with two submissions, one with a withheld response, and an incoming e-invoice with a
// withheld, an unreadable and a readable revision. It returns the two files.
func exports(t *testing.T, f *fixture.Fixture) (invoiceFile, incomingFile []byte) {
	t.Helper()
	call := f.Submit(t, "INV-9")
	fixture.Record(t, call, fixture.AllFour("<one> & more", false))
	f.Clock.Advance(1500 * time.Microsecond)
	fixture.Decide(t, call, withheldDecision)
	fixture.Decide(t, call, func(s invoices.Submission, now time.Time) invoices.Decision {
		d := fixture.Reported(s, now, nil)
		d.Evidence.Body, d.Outcome = nil, api.OutcomeRejected
		return d
	})
	_, err := invoices.Update(t.Context(), f.Tenant, call.Submission.Invoice, func(int64) bool { return true },
		func([]byte) (api.Draft, error) { return *fixture.Draft("INV-9b"), nil })
	kit.Must(t, err)
	second := f.Begin(t, call.Submission.Invoice)
	fixture.Record(t, second, fixture.AllFour("two", true))
	withheld := fixture.Incoming("x", "sealed-canary")
	withheld.Withheld = true
	fixture.Retain(t, f.MustClaim(t), fixture.Onward("c"), fixture.Incoming("x", "one"), withheld,
		fixture.Unfetched("x", "metadata only"), fixture.Incoming("x", "two"))
	list, err := view.Of(f.Tenant).IncomingInvoices(t.Context(), view.IncomingFilter{}, 1, 1)
	kit.Must(t, err)
	var files [2][]byte
	for n, id := range []base.ID{call.Submission.Invoice, list.Entries[0].ID} {
		text, digest, err := proof.Export(t.Context(), f.DB, id, fixture.Replay())
		kit.Must(t, err)
		verified, err := proof.VerifyExport(text, fixture.Replay(), nil)
		if err != nil || verified.Entries != 4 || verified.Digest != digest {
			t.Fatalf("%d entries, digest %x, exported with %x, %v", verified.Entries, verified.Digest, digest, err)
		}
		if strings.Contains(string(text), base64.StdEncoding.EncodeToString([]byte("sealed-canary"))) {
			t.Error("a withheld body is in the export")
		}
		files[n] = text
	}
	return files[0], files[1]
}

// TestExportVerifiesByItself checks that an export can be verified without the database, from its description in
// docs/ops/evidence.md.
func TestExportVerifiesByItself(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		invoiceFile, incomingFile := exports(t, f)
		for _, text := range [][]byte{invoiceFile, incomingFile} {
			if entries := recompute(t, text); entries != 4 {
				t.Errorf("%d entries", entries)
			}
		}
		_, _, err := proof.Export(t.Context(), f.DB, f.Account.ID, fixture.Replay())
		fixture.WantErr(t, err, base.ErrNotFound)
	})
}

// rearranged returns a file with the entries of its first chain rearranged, formatted like an export.
func rearranged(t *testing.T, text []byte, rearrange func(entries []string) []string) []byte {
	t.Helper()
	var compact bytes.Buffer
	kit.Must(t, json.Compact(&compact, text))
	var file struct {
		Submissions []struct{ Entries []json.RawMessage }
		Incoming    struct{ Revisions []json.RawMessage }
	}
	kit.Must(t, json.Unmarshal(compact.Bytes(), &file))
	raw := file.Incoming.Revisions
	if len(file.Submissions) > 0 {
		raw = file.Submissions[0].Entries
	}
	entries := make([]string, len(raw))
	for n := range raw {
		entries[n] = string(raw[n])
	}
	before, after := strings.Join(entries, ","), strings.Join(rearrange(slices.Clone(entries)), ",")
	changed := strings.Replace(compact.String(), "["+before+"]", "["+after+"]", 1)
	if changed == compact.String() {
		t.Fatal("nothing was rearranged")
	}
	var out bytes.Buffer
	kit.Must(t, json.Indent(&out, []byte(changed), "", "  "))
	return out.Bytes()
}

// TestTamperedExportIsFound checks that changed, deleted, swapped, inserted and cut off entries of a file are detected,
// with the number of the first bad entry, and that no byte can be changed undetectably.
func TestTamperedExportIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		invoiceFile, incomingFile := exports(t, f)
		for kind, text := range map[string][]byte{"submission": invoiceFile, "incoming e-invoice": incomingFile} {
			count := 3
			if kind != "submission" {
				count = 4
			}
			last := int64(count)
			for name, c := range map[string]struct {
				ordinal   int64
				rearrange func(e []string) []string
			}{
				"flip a body": {1, func(e []string) []string {
					e[0] = strings.Replace(e[0], `"body":"`,
						`"body":"AAAA`, 1)
					return e
				}},
				"flip a type": {last, func(e []string) []string {
					return append(e[:count-1], strings.Replace(e[count-1], `"media_type":"`, `"media_type":"x`, 1))
				}},
				"delete":          {2, func(e []string) []string { return slices.Delete(e, 1, 2) }},
				"delete first":    {1, func(e []string) []string { return e[1:] }},
				"swap":            {2, func(e []string) []string { e[1], e[2] = e[2], e[1]; return e }},
				"insert":          {2, func(e []string) []string { return slices.Insert(e, 1, e[0]) }},
				"insert at end":   {last + 1, func(e []string) []string { return append(e, e[count-1]) }},
				"truncate":        {last, func(e []string) []string { return e[:count-1] }},
				"truncate to one": {2, func(e []string) []string { return e[:1] }},
				"truncate all":    {1, func([]string) []string { return nil }},
			} {
				_, err := proof.VerifyExport(rearranged(t, text, c.rearrange), fixture.Replay(), nil)
				if fault, ok := errors.AsType[proof.EvidenceError](err); !ok || fault.Ordinal != c.ordinal || fault.Kind != kind {
					t.Errorf("%s of %s: found %v, want entry %d", name, kind, err, c.ordinal)
				}
			}
			if f.Path != "" { // the bytes do not depend on the engine
				flipEverywhere(t, text)
			}
		}
		for _, text := range []string{"", "{}", "null", string(invoiceFile) + "{}",
			strings.Replace(string(invoiceFile), "quittance-evidence-v3", "other", 1),
			strings.Replace(string(invoiceFile), `"invoice_id"`, `"note": "x", "invoice_id"`, 1),
			strings.Replace(string(invoiceFile), `"call": "status"`, `"call": "submit", "call": "status"`, 1),
			strings.Replace(string(invoiceFile), `"call"`, `"Call"`, 1), strings.ReplaceAll(string(invoiceFile), "  ", " ")} {
			if _, err := proof.VerifyExport([]byte(text), fixture.Replay(), nil); err == nil {
				t.Errorf("verified without an error: %.80s", text)
			}
		}
	})
}

// flipEverywhere changes every byte of a file in turn, and checks that each change is detected.
func flipEverywhere(t *testing.T, text []byte) {
	t.Helper()
	for n := range bytes.TrimRight(text, "\n") {
		changed := slices.Clone(text)
		changed[n] ^= 1
		if _, err := proof.VerifyExport(changed, fixture.Replay(), nil); err == nil {
			t.Errorf("the change of byte %d is not detected, near %q", n, text[max(0, n-20):min(len(text), n+20)])
		}
	}
}

// TestExportWrittenAnew checks that a file that somebody without the keys rewrote completely is signed with another
// key.
func TestExportWrittenAnew(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		_, text := exports(t, f)
		key, _, err := f.EvidenceKey(t.Context())
		kit.Must(t, err)
		var file map[string]any
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		kit.Must(t, decoder.Decode(&file))
		for name, expected := range map[string]ed25519.PublicKey{"the key in the file": nil, "that of the database": key} {
			if got, err := proof.VerifyExport(text, fixture.Replay(), expected); err != nil || !got.PublicKey.Equal(key) {
				t.Errorf("%s: %x, %v", name, got.PublicKey, err)
			}
		}
		public, private, err := ed25519.GenerateKey(nil)
		kit.Must(t, err)
		forge := func(name, value string) {
			text = bytes.Replace(text, []byte(file[name].(string)), []byte(value), 1)
			file[name] = value
		}
		forge("public_key", hex.EncodeToString(public))
		forge("digest", fileDigest(text, file))
		digest, err := hex.DecodeString(file["digest"].(string))
		kit.Must(t, err)
		forge("signature", hex.EncodeToString(ed25519.Sign(private, append([]byte("quittance-evidence-v3"), digest...))))
		got, err := proof.VerifyExport(text, fixture.Replay(), nil)
		if err != nil || !got.PublicKey.Equal(public) {
			t.Errorf("rewritten file: %v", err)
		}
		_, err = proof.VerifyExport(text, fixture.Replay(), key)
		fixture.WantErr(t, err, proof.ErrExportKey)
	})
}
