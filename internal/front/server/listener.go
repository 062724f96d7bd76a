package server

import (
	"context"
	"log/slog"
	"net/netip"

	"quittance/internal/platform/connlimit"
	"quittance/internal/platform/source"
)

// connectionsPerRequest is the ratio of open connections to concurrent requests.
const connectionsPerRequest = 8

// By default one source may have a sixteenth of the connections, and at least as many as the browsers of a small office
// need.
const (
	sourcePart  = 16
	leastSource = 64
)

// connectionLimits returns the limits of the connections to the API. Connections from trusted proxies serve many
// customers, so the limit per source does not apply to them.
func connectionLimits(config *Config) connlimit.Config {
	wanted, files := connectionsPerRequest*config.MaxRequests, connlimit.Files()
	total := connlimit.Within(wanted, files)
	if total < wanted {
		level := slog.LevelWarn
		if config.Trial {
			level = slog.LevelInfo
		}
		config.Log.Log(context.Background(), level, "the limit of open files bounds the connections", "files", files,
			"connections", total, "wanted", wanted)
	}
	perSource := config.ConnectionsPerSource
	if perSource == 0 {
		perSource = max(leastSource, total/sourcePart)
	}
	return connlimit.Config{Total: total, PerSource: perSource, Closed: config.ConnectionClosed,
		Exempt: func(address netip.Addr) bool { return source.Within(address, config.TrustedProxies) }}
}

// ConnectionLimits returns the limits that the HTTP server of this handler has to put on connections.
func (s *Server) ConnectionLimits() connlimit.Config { return s.connections }
