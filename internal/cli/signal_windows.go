package cli

// ignoreFileSizeSignal does nothing: Windows has no such signal.
func ignoreFileSizeSignal() {}
