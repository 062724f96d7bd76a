package secret

// PreventCoreDumps does nothing: Windows keeps dumps of a process only if its administrator asks for them.
func PreventCoreDumps() error { return nil }
