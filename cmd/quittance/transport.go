package main

import "quittance/internal/service"

// transport are the flags that bound what connections and requests may take.
type transport struct {
	ConnectionsPerSource int `default:"0" help:"Connections to the API that one source (an IPv4 address, or the /64 of an IPv6 address) may have open; 0 is a sixteenth of all. Trusted proxies may have any number."`
}

// configure adds the flags to the configuration of a service.
func (t transport) configure(config *service.Config) {
	config.ConnectionsPerSource = t.ConnectionsPerSource
}
