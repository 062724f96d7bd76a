package document

import "quittance/internal/document/ubl"

// Draw writes a document as [Write] does, whatever it lacks beside its amounts.
func Draw(p Profile, d Document) []byte {
	return ubl.Write(Statement(p, d))
}
