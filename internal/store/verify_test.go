package store_test

import (
	"strings"
	"testing"
	"time"

	"quittance/api"
	"quittance/internal/invoice"
	"quittance/internal/store"
)

// TestTamperedEvidenceIsFound: whatever is done to the retained rows past the service, verification names it.
func TestTamperedEvidenceIsFound(t *testing.T) {
	const mine = ` where tenant_id = $1 and submission_id = $2 and ordinal = `
	for name, statements := range map[string][]string{
		"flip a body":     {`update evidence set body = '\x7b7d'` + mine + `2`},
		"flip a status":   {`update evidence set http_status = 201` + mine + `2`},
		"flip a word":     {`update evidence set words = '{"tax_authority_state":"accepted"}'` + mine + `2`},
		"delete one":      {`delete from evidence` + mine + `2`},
		"truncate":        {`delete from states where tenant_id = $1 and submission_id = $2`, `delete from evidence` + mine + `3`},
		"swap two":        {`update evidence set ordinal = 9` + mine + `1`, `update evidence set ordinal = 1` + mine + `3`, `update evidence set ordinal = 3` + mine + `9`},
		"move the head":   {`update submissions set evidence_count = 2 where tenant_id = $1 and id = $2`},
		"insert a copy":   {`insert into evidence select tenant_id, digest16, submission_id, 4, call, received_at, http_status, media_type, sha256, body, truncated, withheld, words, previous, digest from (select *, substr(digest, 1, 16) as digest16 from evidence` + mine + `3) as e`},
		"cut the lineage": {`update evidence set previous = sha256` + mine + `2`},
	} {
		t.Run(name, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, f *fixture) {
				call := f.submit(t, "INV-9")
				for _, word := range []string{"one", "two", "three"} {
					record(t, call, words{invoice.DimensionSubmission: {Value: word}}, api.EventStatusChanged)
				}
				entries, faults, err := f.tenant.VerifyEvidence(t.Context())
				if err != nil || entries != 3 || len(faults) != 0 {
					t.Fatalf("%d entries, %v, %v", entries, faults, err)
				}
				for _, statement := range statements {
					if f.Engine() == "sqlite" {
						statement = strings.ReplaceAll(statement, `'\x7b7d'`, `x'7b7d'`)
					}
					f.exec(t, statement, f.tenant.Key(), call.Submission.ID)
				}
				_, faults, err = f.tenant.VerifyEvidence(t.Context())
				must(t, err)
				if len(faults) != 1 || faults[0].Of != call.Submission.ID {
					t.Errorf("found %v", faults)
				}
			})
		})
	}
}

// TestExportVerifiesByItself: an export is whole without the database, and what is changed in it is found.
func TestExportVerifiesByItself(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		call := f.submit(t, "INV-9")
		record(t, call, allFour("one", false))
		decide(t, call, withheldDecision)
		text, err := f.ExportEvidence(t.Context(), call.Submission.Invoice)
		must(t, err)
		if entries, err := store.VerifyExport(text); err != nil || entries != 2 {
			t.Fatalf("%d entries, %v", entries, err)
		}
		if strings.Contains(string(text), "sealed-canary") {
			t.Error("a withheld body is in the export")
		}
		for _, change := range [][2]string{{`"http_status": 200`, `"http_status": 204`}, {`"ordinal": 2`, `"ordinal": 3`}, {`"call": "status"`, `"call": "submit"`}, {`quittance-evidence-v1`, `other`}} {
			changed := strings.Replace(string(text), change[0], change[1], 1)
			if changed == string(text) {
				t.Errorf("%s does not stand in the export", change[0])
			}
			if _, err := store.VerifyExport([]byte(changed)); err == nil {
				t.Errorf("%s is not found", change[1])
			}
		}
		if _, err := f.ExportEvidence(t.Context(), call.Submission.ID); err == nil {
			t.Error("an unknown invoice has an export")
		}
	})
}

// withheldDecision retains an answer that echoed the credential.
func withheldDecision(s store.Submission, now time.Time) store.Decision {
	d := told(s, now, nil)
	d.Evidence.Body, d.Evidence.Withheld = []byte("sealed-canary"), true
	return d
}

// TestTamperedRevisionIsFound is the same for incoming e-invoices, column by column.
func TestTamperedRevisionIsFound(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		claim := f.mustClaim(t)
		retain(t, claim, store.SyncStep{Cursor: "c", After: time.Hour}, incoming("x", "one"), incoming("x", "two"), incoming("y", "other"))
		entries, faults, err := f.tenant.VerifyEvidence(t.Context())
		if err != nil || entries != 3 || len(faults) != 0 {
			t.Fatalf("%d entries, %v, %v", entries, faults, err)
		}
		const where = ` where tenant_id = $1 and revision = 1 and incoming_id = (select id from incoming where tenant_id = $1 and provider_document_id = 'x')`
		for column, value := range map[string]string{"document_type": `'x'`, "invoice_number": `'x'`, "supplier_name": `'Mallory'`, "supplier_network_id": `null`,
			"issue_date": `'2020-01-01'`, "due_date": `null`, "currency": `'EUR'`, "total_amount": `'9.99'`, "received_at": `1`, "media_type": `'text/plain'`,
			"size": `7`, "sha256": `previous`, "claimed_sha256": `null`, "body": `metadata`, "metadata": `body`, "metadata_sha256": `sha256`,
			"retained_at": `retained_at + 1`, "previous": `sha256`, "digest": `sha256`, "revision": `9`} {
			var saved any
			must(t, f.raw.QueryRowContext(t.Context(), `select `+column+` from revisions`+where, f.tenant.Key()).Scan(&saved))
			f.exec(t, `update revisions set `+column+` = `+value+where, f.tenant.Key())
			_, faults, err := f.tenant.VerifyEvidence(t.Context())
			if err != nil || len(faults) != 1 {
				t.Errorf("%s: found %v, %v", column, faults, err)
			}
			f.exec(t, `update revisions set `+column+` = $2`+strings.Replace(where, "revision = 1", "revision in (1, 9)", 1), f.tenant.Key(), saved)
		}
		f.exec(t, `update incoming set revision = 1 where tenant_id = $1 and provider_document_id = 'x'`, f.tenant.Key())
		if _, faults, err := f.tenant.VerifyEvidence(t.Context()); err != nil || len(faults) != 1 {
			t.Errorf("the head: found %v, %v", faults, err)
		}
	})
}
