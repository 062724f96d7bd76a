package proof_test

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// tampering is a change of one chain of three entries outside of the store, with $1 for the tenant, $2 for the chain
// and $3 for another chain of the tenant.
type tampering struct {
	statements []string
	// forge is called in addition, if the change needs digests.
	forge func(t *testing.T, a fixture.Attacker, f *fixture.Fixture, chain base.ID)
	fault
	// other is the fault of the other chain, if any.
	other fault
}

// fault is the expected fault: the first bad entry, 0 for the end of the chain, and a part of the description.
type fault struct {
	ordinal int64
	what    string
}

func do(ordinal int64, what string, statements ...string) tampering {
	return tampering{statements: statements, fault: fault{ordinal, what}}
}

const entry = ` where tenant_id = $1 and submission_id = $2 and ordinal = `

// evidenceTamperings returns variants of flip, delete, swap, insert and truncate for the evidence of submissions.
func evidenceTamperings(t *testing.T) map[string]tampering {
	t.Helper()
	const (
		altered = "it is not what was retained"
		missing = "it is missing"
		head    = ` where tenant_id = $1 and id = $2`
	)
	flips := map[string]tampering{}
	for column, flip := range map[string][2]string{
		"id": {`'\x00112233445566778899aabbccddeeff'`, altered}, "ordinal": {`9`, missing}, "call": {`'submit'`, altered},
		"received_at": {`received_at + 1`, altered}, "http_status": {`201`, altered}, "media_type": {`'text/plain'`, altered},
		"sha256": {`digest`, "its body"}, "body": {`'\x7b7d'`, "its body"}, "truncated": {`1`, altered},
		"withheld": {`1`, "sealed body"}, "words": {`'{"tax_authority_state":"accepted"}'`, altered},
		"report": {`''`, altered}, "events": {`sha256`, altered}, "previous": {`sha256`, altered},
		"digest": {`sha256`, altered},
	} {
		flips[column] = do(2, flip[1], `update evidence set `+column+` = `+flip[0]+entry+`2`)
	}
	for _, column := range fixture.ColumnsOf(t, "evidence") {
		if _, flipped := flips[column]; !flipped && column != "tenant_id" && column != "submission_id" { // these are moves
			t.Errorf("the column %s of evidence is not flipped", column)
		}
	}
	out := map[string]tampering{
		"flip words to the same JSON":   do(2, altered, `update evidence set words = words || ' '`+entry+`2`),
		"flip words to no JSON":         do(2, "cannot be read", `update evidence set words = 'x'`+entry+`2`),
		"flip a flag to no flag":        do(2, "cannot be read", `update evidence set truncated = 2`+entry+`2`),
		"flip a digest to a longer one": do(2, "cannot be read", `update evidence set digest = digest || '\x00'`+entry+`2`),
		"flip the first":                do(1, altered, `update evidence set http_status = 201`+entry+`1`),
		"flip the last":                 do(3, altered, `update evidence set http_status = 201`+entry+`3`),
		"delete the first":              do(1, missing, `delete from evidence`+entry+`1`),
		"delete the middle":             do(2, missing, `delete from evidence`+entry+`2`),
		"delete the last":               do(3, missing, `delete from evidence`+entry+`3`),
		"delete and close the gap": do(2, altered, `delete from evidence`+entry+`2`,
			`update evidence set ordinal = 2`+entry+`3`),
		"swap ordinals": do(1, altered, `update evidence set ordinal = 9`+entry+`1`,
			`update evidence set ordinal = 1`+entry+`3`, `update evidence set ordinal = 3`+entry+`9`),
		"truncate two": do(2, missing,
			`delete from evidence where tenant_id = $1 and submission_id = $2 and ordinal > 1`),
		"truncate all": do(1, missing, `delete from evidence where tenant_id = $1 and submission_id = $2`),
		"truncate and move the head": do(3, missing, `delete from evidence`+entry+`3`,
			`update submissions set evidence_count = 2, evidence_head = (select digest from evidence`+entry+`2)`+head),
		"truncate all and the head": do(1, missing, `delete from evidence where tenant_id = $1 and submission_id = $2`,
			`update submissions set evidence_count = 0, evidence_head = null`+head),
		"move the head":    do(0, "the head", `update submissions set evidence_count = 2`+head),
		"flip the head":    do(0, "the head", `update submissions set evidence_head = last_sha256`+head),
		"shorten the head": do(0, "the head", `update submissions set evidence_head = '\x00'`+head),
		"flip the seal": do(0, "its seal", `update submissions set evidence_seal = evidence_head || evidence_head`+
			head),
		"seal of another chain": {statements: []string{`update submissions set evidence_seal = (select evidence_seal from submissions where tenant_id = $1 and id = $3)` + head}, fault: fault{0, "its seal"}},
		"the seal is gone":      do(0, "no seal", `update submissions set evidence_seal = null`+head),
		"the chain is gone": do(0, "it is gone", `delete from evidence where tenant_id = $1 and submission_id = $2`,
			`delete from states where tenant_id = $1 and submission_id = $2`, `delete from submissions`+head),
		"its owner is gone": do(0, "it is gone",
			`delete from deliveries where tenant_id = $1 and event_id in (select id from events where tenant_id = $1 and resource_id = $2)`,
			`delete from events where tenant_id = $1 and resource_id = $2`, `delete from submissions`+head),
		"move one to another chain": {statements: []string{`update evidence set submission_id = $3, ordinal = 4` + entry +
			`3`}, fault: fault{3, missing},
			other: fault{4, "it was never retained"}},
		"move all to another chain": {statements: []string{`delete from evidence where tenant_id = $1 and submission_id = $3 and submission_id <> $2`,
			`update evidence set submission_id = $3 where tenant_id = $1 and submission_id = $2`}, fault: fault{1, missing},
			other: fault{1, "it is not what was retained"}},
	}
	for column, flip := range flips {
		out["flip "+column] = flip
	}
	maps.Copy(out, forgeries())
	return out
}

// forgeries returns changes with correct digests, by somebody who knows how they are computed.
func forgeries() map[string]tampering {
	const head = `update submissions set evidence_count = $3, evidence_head = $4 where tenant_id = $1 and id = $2`
	// add inserts a copy of entry 3 with its own ordinal, after the entry with the previous ordinal.
	add := func(t *testing.T, a fixture.Attacker, f *fixture.Fixture, chain base.ID, place int64) [32]byte {
		entries, err := fixture.EvidenceOf(t.Context(), f.Tenant, chain)
		kit.Must(t, err)
		forged := entries[len(entries)-1]
		forged.ID[15] ^= 0xff
		forged.Ordinal, forged.Previous = place, entries[place-2].Digest
		forged.Digest = chained(t, forged)
		columns := strings.Join(fixture.ColumnsOf(t, "evidence"), ", ")
		values := strings.NewReplacer("ordinal", "4", ", id", ", $3", "previous", "$4", "digest", "$5").Replace(columns)
		if place == 2 {
			a.Do(t, `update evidence set ordinal = ordinal + 10 where tenant_id = $1 and submission_id = $2 and ordinal > 1`,
				f.Tenant.ID(), chain)
			a.Do(t, `update evidence set ordinal = ordinal - 9 where tenant_id = $1 and submission_id = $2 and ordinal > 10`,
				f.Tenant.ID(), chain)
			values = strings.Replace(values, "4", "2", 1)
		}
		a.Do(t, `insert into evidence (`+columns+`) select `+values+
			` from evidence where tenant_id = $1 and submission_id = $2 order by ordinal desc limit 1`,
			f.Tenant.ID(), chain, forged.ID, forged.Previous[:], forged.Digest[:])
		return forged.Digest
	}
	// rewrite changes entry 2 and recomputes the digests from there to last. It returns the new head.
	rewrite := func(t *testing.T, a fixture.Attacker, f *fixture.Fixture, chain base.ID, last int) [32]byte {
		entries, err := fixture.EvidenceOf(t.Context(), f.Tenant, chain)
		kit.Must(t, err)
		entries[1].HTTPStatus = 201
		for n := 1; n < last; n++ {
			entries[n].Previous = entries[n-1].Digest
			entries[n].Digest = chained(t, entries[n])
			a.Do(t, `update evidence set http_status = $3, previous = $4, digest = $5 where tenant_id = $1 and id = $2`,
				f.Tenant.ID(), entries[n].ID, entries[n].HTTPStatus, entries[n].Previous[:], entries[n].Digest[:])
		}
		return entries[len(entries)-1].Digest
	}
	return map[string]tampering{
		"swap bodies": {fault: fault{2, "its body"},
			forge: func(t *testing.T, a fixture.Attacker, f *fixture.Fixture, chain base.ID) {
				entries, err := fixture.EvidenceOf(t.Context(), f.Tenant, chain)
				kit.Must(t, err)
				for n, from := range map[int]int{1: 2, 2: 1} {
					body, err := invoices.EvidenceBody(t.Context(), f.Tenant, entries[from].ID)
					kit.Must(t, err)
					defer a.Do(t, `update evidence set body = $3 where tenant_id = $1 and id = $2`, f.Tenant.ID(), entries[n].ID,
						body.Body)
				}
			}},
		"insert at the end": {fault: fault{4, "never retained"},
			forge: func(t *testing.T, a fixture.Attacker, f *fixture.Fixture, chain base.ID) {
				add(t, a, f, chain, 4)
			}},
		"insert at the end and move the head": {fault: fault{4, "never retained"},
			forge: func(t *testing.T, a fixture.Attacker, f *fixture.Fixture, chain base.ID) {
				digest := add(t, a, f, chain, 4)
				a.Do(t, head, f.Tenant.ID(), chain, 4, digest[:])
			}},
		// The forged entry itself has no fault: the first bad entry is the next one.
		"insert in the middle": {fault: fault{3, "it is not what was retained"},
			forge: func(t *testing.T, a fixture.Attacker, f *fixture.Fixture, chain base.ID) {
				add(t, a, f, chain, 2)
			}},
		"rewrite one entry": {fault: fault{3, "does not follow"},
			forge: func(t *testing.T, a fixture.Attacker, f *fixture.Fixture, chain base.ID) {
				rewrite(t, a, f, chain, 2)
			}},
		"rewrite the chain": {fault: fault{3, "not the entry with which"},
			forge: func(t *testing.T, a fixture.Attacker, f *fixture.Fixture, chain base.ID) {
				rewrite(t, a, f, chain, 3)
			}},
		"rewrite the chain and the head": {fault: fault{3, "not the entry with which"},
			forge: func(t *testing.T, a fixture.Attacker, f *fixture.Fixture, chain base.ID) {
				digest := rewrite(t, a, f, chain, 3)
				a.Do(t, head, f.Tenant.ID(), chain, 3, digest[:])
			}},
	}
}

// TestTamperedEvidenceIsFound checks that after each change of the retained rows outside of the store, a verification
// names exactly the chain, the first bad entry, and the fault.
func TestTamperedEvidenceIsFound(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		f.Subscribe(t, api.EventStatusChanged)
		tamper(t, f, evidenceTamperings(t), "submission", func() base.ID {
			call := f.Submit(t, fmt.Sprintf("INV-%d", f.Number(t, `select count(*) from submissions`)))
			for _, word := range []string{"one", "two", "three"} {
				fixture.Record(t, call, fixture.AllFour(word, false), api.EventStatusChanged)
			}
			return call.Submission.ID
		})
	})
}

// tamper creates chains of three entries, applies each tampering to one of them, and checks that the verification finds
// exactly the expected faults.
func tamper(t *testing.T, f *fixture.Fixture, tamperings map[string]tampering, kind string, chain func() base.ID) {
	t.Helper()
	untouched := chain()
	chains, others := map[string]base.ID{}, map[string]base.ID{}
	names := slices.Sorted(maps.Keys(tamperings))
	for _, name := range names {
		chains[name], others[name] = chain(), untouched
		if tamperings[name].other.what != "" {
			others[name] = chain()
		}
	}
	total := int(f.Number(t, `select count(*) from submissions`) + f.Number(t, `select count(*) from incoming`))
	clean(t, f, total, 3*total)

	a := f.Attacker(t)
	want := map[base.ID]fault{}
	for _, name := range names {
		done := tamperings[name]
		for _, statement := range done.statements {
			a.Do(t, statement, f.Tenant.ID(), chains[name], others[name])
		}
		if done.forge != nil {
			done.forge(t, a, f, chains[name])
		}
		if done.what != "" {
			want[chains[name]] = done.fault
		}
		if done.other.what != "" {
			want[others[name]] = done.other
		}
	}
	found, err := proof.Verify(t.Context(), f.DB, fixture.Replay())
	kit.Must(t, err)
	faults := map[base.ID]proof.EvidenceError{}
	for _, found := range found.Faults {
		if _, twice := faults[found.Of]; twice || found.Tenant != f.Tenant.ID() || found.Kind != kind {
			t.Errorf("found %v, %s at tenant %s; twice: %v", found, found.Kind, found.Tenant, twice)
		}
		faults[found.Of] = found
	}
	for _, name := range names {
		for _, id := range []base.ID{chains[name], others[name]} {
			got, bad := faults[id]
			if bad != (want[id].what != "") || got.Ordinal != want[id].ordinal || !strings.Contains(got.What, want[id].what) {
				t.Errorf("%s: found %v, want %v", name, got, want[id])
			}
		}
	}
	if len(faults) != len(want) || len(faults) < 25 {
		t.Errorf("%d chains have faults, want %d", len(faults), len(want))
	}
}

const revision = ` where tenant_id = $1 and incoming_id = $2 and revision = `

// revisionTamperings returns the same changes for incoming e-invoices.
func revisionTamperings(t *testing.T) map[string]tampering {
	t.Helper()
	const (
		altered = "it is not what was retained"
		missing = "it is missing"
		head    = ` where tenant_id = $1 and id = $2`
	)
	out := map[string]tampering{
		"flip the document's name": do(1, altered, `update incoming set provider_document_id = provider_document_id || '?'`+
			head),
		"flip the amount's form": do(2, "cannot be read", `update revisions set total_amount = '105000e-2'`+revision+`2`),
		"flip a flag to no flag": do(2, "cannot be read", `update revisions set retained = 2`+revision+`2`),
		"delete the first":       do(1, missing, `delete from revisions`+revision+`1`),
		"delete the middle":      do(2, missing, `delete from revisions`+revision+`2`),
		"delete the last":        do(3, missing, `delete from revisions`+revision+`3`),
		"swap two": do(2, altered, `update revisions set revision = 9`+revision+`2`,
			`update revisions set revision = 2`+revision+`3`, `update revisions set revision = 3`+revision+`9`),
		"swap documents": do(2, "its document",
			`update revisions set body = (select o.body from revisions o where o.tenant_id = $1 and o.incoming_id = $2 and o.revision = 3)`+revision+`2`),
		"insert at the end": do(4, "never retained", `insert into revisions (`+strings.Join(fixture.ColumnsOf(t, "revisions"),
			", ")+`) select `+
			strings.Replace(strings.Join(fixture.ColumnsOf(t, "revisions"), ", "), "revision,", "4,",
				1)+` from revisions`+revision+`3`),
		"insert in the middle": do(2, altered, `update revisions set revision = 4`+revision+`3`,
			`update revisions set revision = 3`+revision+`2`,
			`insert into revisions (`+strings.Join(fixture.ColumnsOf(t, "revisions"), ", ")+`) select `+
				strings.Replace(strings.Join(fixture.ColumnsOf(t, "revisions"), ", "), "revision,", "2,",
					1)+` from revisions`+revision+
				`1`),
		"truncate two": do(2, missing, `delete from revisions where tenant_id = $1 and incoming_id = $2 and revision > 1`),
		"truncate all": do(1, missing, `delete from revisions where tenant_id = $1 and incoming_id = $2`),
		"truncate and move the head": do(3, missing, `delete from revisions`+revision+`3`,
			`update incoming set revision = 2, head = (select digest from revisions`+revision+`2)`+head),
		"move the head":    do(0, "the head", `update incoming set revision = 2`+head),
		"flip the head":    do(0, "the head", `update incoming set head = sha256`+head),
		"flip the seal":    do(0, "its seal", `update incoming set seal = head || head`+head),
		"the seal is gone": do(0, "no seal", `update incoming set seal = null`+head),
		"the chain is gone": do(0, "it is gone", `delete from revisions where tenant_id = $1 and incoming_id = $2`,
			`delete from incoming`+head),
		"its owner is gone": do(0, "it is gone", `delete from events where tenant_id = $1 and resource_id = $2`,
			`delete from incoming`+head),
		"move one to another": {statements: []string{`update revisions set incoming_id = $3, revision = 4` + revision + `3`},
			fault: fault{3, missing},
			other: fault{4, "it was never retained"}},
	}
	flipped := map[string]bool{"tenant_id": true, "incoming_id": true} // these are moves
	for column, flip := range map[string][2]string{
		"document_type": {`'x'`, altered}, "invoice_number": {`'x'`, altered}, "supplier_name": {`'Mallory'`, altered},
		"supplier_network_id": {`null`, altered}, "issue_date": {`'2020-01-01'`, altered}, "due_date": {`null`, altered},
		"currency": {`'EUR'`, altered}, "total_amount": {`'9.99'`, altered}, "received_at": {`1`, altered},
		"media_type": {`'text/plain'`, altered}, "size": {`7`, altered}, "sha256": {`previous`, "its document"},
		"claimed_sha256": {`null`, altered}, "body": {`metadata`, "its document"}, "metadata": {`body`, "its metadata"},
		"metadata_sha256": {`sha256`, "its metadata"}, "retained": {`0`, "none was retained"},
		"withheld": {`1`, "sealed document"}, "retained_at": {`retained_at + 1`, altered}, "events": {`sha256`, altered},
		"previous": {`sha256`, altered}, "digest": {`sha256`, altered}, "revision": {`9`, missing},
	} {
		out["flip "+column], flipped[column] = do(2, flip[1], `update revisions set `+column+` = `+flip[0]+revision+`2`), true
	}
	for _, column := range fixture.ColumnsOf(t, "revisions") {
		if !flipped[column] {
			t.Errorf("the column %s of revisions is not flipped", column)
		}
	}
	return out
}

// TestTamperedRevisionIsFound checks the same as TestTamperedEvidenceIsFound for incoming e-invoices.
func TestTamperedRevisionIsFound(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		lease := f.MustClaim(t)
		tamper(t, f, revisionTamperings(t), "incoming e-invoice", func() base.ID {
			name := fmt.Sprintf("doc-%d", f.Number(t, `select count(*) from incoming`))
			lease, _ = fixture.Retain(t, lease, fixture.Onward(name), fixture.Incoming(name, "one"), fixture.Incoming(name,
				"two"), fixture.Incoming(name, "three"))
			list, err := view.Of(f.Tenant).IncomingInvoices(t.Context(), view.IncomingFilter{}, 1, 1)
			kit.Must(t, err)
			return list.Entries[0].ID
		})
	})
}

// TestMovedToAnotherCompany checks that a chain that is moved to another company with its head, seal and everything
// else is detected there, and also at its owner if an event was left behind.
func TestMovedToAnotherCompany(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		call := f.Submit(t, "INV-1")
		fixture.Record(t, call, fixture.AllFour("one", false), api.EventStatusChanged)
		fixture.Retain(t, f.MustClaim(t), fixture.Onward("c"), fixture.Incoming("x", "one"))
		other := f.NewCompany(t, "other@example.com")
		a := f.Attacker(t)
		for _, table := range []string{"invoices", "submissions", "states", "evidence", "incoming", "revisions"} {
			a.Do(t, `update `+table+` set tenant_id = $2 where tenant_id = $1`, f.Tenant.ID(), other.Tenant.ID())
		}
		here, err := proof.VerifyTenant(t.Context(), f.Tenant, fixture.Replay())
		kit.Must(t, err)
		there, err := proof.VerifyTenant(t.Context(), other.Tenant, fixture.Replay())
		kit.Must(t, err)
		for n, fault := range append(here.Faults, there.Faults...) {
			if what := []string{"it is gone", "an event that it gave rise to is gone"}[n/2]; !strings.Contains(fault.What,
				what) {
				t.Errorf("found %v, want %q", fault, what)
			}
		}
		if len(here.Faults) != 2 || len(there.Faults) != 2 {
			t.Errorf("found %v and %v", here.Faults, there.Faults)
		}
	})
}

// TestVerifyBesideAppends checks that an entry that is added during a verification is no fault.
func TestVerifyBesideAppends(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		call, lease := f.Submit(t, "INV-1"), f.MustClaim(t)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := range 40 {
				if _, err := call.Record(t.Context(),
					func(s invoices.Submission, _ bool, now time.Time) (invoices.Decision, error) {
						return fixture.ReadAs(fixture.Reported(s, now, fixture.AllFour(fmt.Sprint(n), false))), nil
					}); err != nil {
					t.Error(err)
				}
				after, _, err := lease.RetainPurchases(t.Context(), []incoming.NewIncoming{fixture.Incoming("x",
					fmt.Sprint(n))}, fixture.Onward("c"))
				if err != nil {
					t.Error(err)
				}
				lease = after
			}
		}()
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			found, err := proof.VerifyTenant(t.Context(), f.Tenant, fixture.Replay())
			kit.Must(t, err)
			if len(found.Faults) > 0 {
				t.Fatalf("found %v", found.Faults)
			}
		}
		clean(t, f, 2, 80)
	})
}

// TestSealsFollowTheKeys checks that a rotation reseals all seals under the new key, and that a seal that does not open
// is reported and stops neither the rotation nor the verification.
func TestSealsFollowTheKeys(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Record(t, f.Submit(t, "INV-1"), fixture.AllFour("one", false))
		fixture.Retain(t, f.MustClaim(t), fixture.Onward("c"), fixture.Incoming("x", "one"))
		bad := f.Submit(t, "INV-2").Submission.ID
		var intact []byte
		kit.Must(t, f.Raw.QueryRowContext(t.Context(),
			`select evidence_seal from submissions where tenant_id = $1 and id = $2`, f.Tenant.ID(), bad).Scan(&intact))
		f.Exec(t,
			`update submissions set evidence_seal = (select evidence_seal from submissions where tenant_id = $1 and id <> $2) where tenant_id = $1 and id = $2`, f.Tenant.ID(), bad)
		rotated := f.Rotated(t)
		again := *f.Store
		again.Options.Keys = rotated
		fresh := again.Again(t)
		if resealed, err := ledger.Reseal(t.Context(), fresh); resealed != 11 || err == nil ||
			!strings.Contains(err.Error(), bad.String()) {
			t.Errorf(
				"%d resealed, want the connection, two seals of evidence, one of the audit log (the other one was replaced), the number of events, the record, the seals of account, tenant, user and key, and the set of companies; %v", resealed, err)
		}
		f.Exec(t, `update submissions set evidence_seal = $3 where tenant_id = $1 and id = $2`, f.Tenant.ID(), bad, intact)
		if resealed, err := ledger.Reseal(t.Context(), fresh); resealed != 1 || err != nil {
			t.Errorf("%d resealed, %v", resealed, err)
		}
		for _, query := range []string{`select evidence_seal from submissions where tenant_id = $1`,
			`select seal from incoming where tenant_id = $1`} {
			for _, row := range f.Rows(t, query, f.Tenant.ID()) { // the column's name, then the bytes in hexadecimal
				_, digits, _ := strings.Cut(row, "=")
				seal, err := hex.DecodeString(digits)
				kit.Must(t, err)
				if id, ok := secret.KeyID(seal); !ok || id != rotated.PrimaryID() {
					t.Errorf("a seal has the key %d", id)
				}
			}
		}
		found, err := proof.Verify(t.Context(), fresh, fixture.Replay())
		if err != nil || len(found.Faults) != 0 || found.Chains != 3 || found.AuditEntries == 0 {
			t.Errorf("after the rotation: %+v, %v", found, err)
		}
	})
}

// clean checks that a verification finds no fault and counts the given chains and entries.
func clean(t *testing.T, f *fixture.Fixture, chains, entries int) {
	t.Helper()
	found, err := proof.VerifyTenant(t.Context(), f.Tenant, fixture.Replay())
	kit.Must(t, err)
	if len(found.Faults) != 0 || found.Chains != chains || found.Entries != entries {
		t.Errorf("verification of an intact database with %d chains and %d entries: %+v", chains, entries, found)
	}
}
