package document

// Draw writes a document as [Write] does, whatever it lacks beside its amounts.
func Draw(p Profile, d Document) []byte {
	m, _ := compute(p, d)
	return m.write()
}
