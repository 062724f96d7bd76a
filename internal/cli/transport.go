package cli

import "quittance/internal/ops/service"

// transport holds the flags that limit connections and requests per source.
type transport struct {
	AnonymousRate        int64 `default:"3000" help:"Requests per minute without an accepted token or session from one source (an IPv4 address, or the /64 of an IPv6 address); 0 disables the limit."`
	ConnectionsPerSource int   `default:"0" help:"Maximum number of open API connections from one source (an IPv4 address, or the /64 of an IPv6 address); 0 means a sixteenth of all connections. Trusted proxies are not limited."`
}

// configure adds the flags to the configuration of a service.
func (t transport) configure(config *service.Config) {
	config.AnonymousRate = t.AnonymousRate
	config.ConnectionsPerSource = t.ConnectionsPerSource
}
