package connlimit

// reserved is how many file descriptors are kept for everything that is no connection to a listener: the database,
// providers and webhook destinations.
const reserved = 4096

// Within returns how many of so many wanted connections may be open when the process may open so many files, 0 for no
// limit: at least half of the files, and 4,096 where the limit allows, are left for the database, providers and webhooks.
// It is from 1.
func Within(wanted, files int) int {
	if files <= 0 {
		return wanted
	}
	return max(1, min(wanted, files-min(files/2, reserved)))
}
