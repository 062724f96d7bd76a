// Package proof proves that nothing in the ledger was changed past the program: it verifies every chain of evidence,
// every row that decides who may act and the audit log, exports the evidence of one invoice for somebody without access
// to the database, and anchors the ends of all chains in a file outside of it.
//
// It reads, and judges what the rows say by a [Replay] of the retained responses; only [SealEvidence] writes, for a
// database from before seals. Start reading at [Verify].
package proof
