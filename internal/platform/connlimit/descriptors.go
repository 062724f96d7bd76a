package connlimit

// reserved is how many file descriptors are kept for everything but connections to listeners: the database, providers
// and webhook destinations.
const reserved = 4096

// Within returns how many of the wanted connections may be open when the process may open the given number of files, 0
// for no limit. It leaves 4,096 files, or half of them if that is less, for the database, providers and webhooks. The
// result is at least 1.
func Within(wanted, files int) int {
	if files <= 0 {
		return wanted
	}
	return max(1, min(wanted, files-min(files/2, reserved)))
}
