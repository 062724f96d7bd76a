package service

// ConfigError is an error of [Open] that a new attempt cannot cure, because a setting is missing or wrong.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *ConfigError) Unwrap() error { return e.Err }
