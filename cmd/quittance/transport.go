package main

import "quittance/internal/service"

// transport are the flags that bound what connections and requests may take.
type transport struct {
	AnonymousRate        int64 `default:"3000" help:"Requests a minute that one source (an IPv4 address, or the /64 of an IPv6 address) may make without an accepted token or session; 0 for no limit."`
	ConnectionsPerSource int   `default:"0" help:"Connections to the API that one source (an IPv4 address, or the /64 of an IPv6 address) may have open; 0 is a sixteenth of all. Trusted proxies may have any number."`
}

// configure adds the flags to the configuration of a service.
func (t transport) configure(config *service.Config) {
	config.AnonymousRate = t.AnonymousRate
	config.ConnectionsPerSource = t.ConnectionsPerSource
}
