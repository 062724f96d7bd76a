package webhook

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// DestinationError means that the text of a destination breaks rules of form. These do not depend on an address or a
// resolver, so the error may name them. It is an [ErrUnsafeDestination].
type DestinationError struct {
	// Faults are the broken rules, at least one: scheme, user_info, query, fragment, port, max_length.
	Faults []api.Fault
}

func (e *DestinationError) Error() string {
	rules := make([]string, len(e.Faults))
	for i, fault := range e.Faults {
		rules[i] = fault.Rule
	}
	return ErrUnsafeDestination.Error() + ": " + strings.Join(rules, ", ")
}

// Unwrap returns [ErrUnsafeDestination].
func (e *DestinationError) Unwrap() error { return ErrUnsafeDestination }

// Describe returns the problem with the broken rules.
func (e *DestinationError) Describe() *problem.Problem {
	return ErrUnsafeDestination.With(map[string]any{"url": e.Faults})
}

// checkForm returns a [*DestinationError] with every rule of form that raw breaks, or nil if it breaks none. A
// destination with the right form may still be unsafe.
func checkForm(raw string) error {
	var faults []api.Fault
	add := func(broken bool, rule, message string) {
		if broken {
			faults = append(faults, api.Fault{Rule: rule, Message: message})
		}
	}
	scheme, rest, absolute := strings.Cut(raw, "://")
	if !absolute {
		rest = raw
	}
	authority, _, _ := strings.Cut(rest, "/")
	if end := strings.IndexAny(authority, "?#"); end >= 0 {
		authority = authority[:end]
	}
	beforeFragment, _, fragment := strings.Cut(raw, "#")
	at := strings.LastIndexByte(authority, '@')
	add(len(raw) > MaxURL, "max_length", fmt.Sprintf("must have at most %d characters", MaxURL))
	add(!absolute || !strings.EqualFold(scheme, "https"), "scheme", "must have the scheme https")
	add(at >= 0, "user_info", "must not hold a user name or a password")
	add(!isPort(authority[at+1:]), "port",
		"must have no port, or one from 1 to 65535 that no other protocol than HTTP is known by")
	add(strings.Contains(beforeFragment, "?"), "query", "must not have a query string, not even an empty one")
	add(fragment, "fragment", "must not have a fragment, not even an empty one")
	if len(faults) == 0 {
		return nil
	}
	return &DestinationError{Faults: faults}
}

// isPort reports whether hostPort has no port or one that a destination may have.
func isPort(hostPort string) bool {
	host := hostPort
	if end := strings.LastIndexByte(hostPort, ']'); end >= 0 {
		host = hostPort[end+1:] // the colons in brackets belong to an IPv6 address
	} else if strings.Count(hostPort, ":") > 1 {
		return true // an address without brackets has no port
	}
	_, text, found := strings.Cut(host, ":")
	if !found {
		return true
	}
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && text[0] != '0' && !slices.Contains(blockedPorts[:], uint16(port)) &&
		!slices.Contains(databasePorts[:], uint16(port))
}

// blockedPorts are the ports that browsers block, because a server of another protocol could misinterpret an HTTP
// request (WHATWG Fetch, section 2.9, "port blocking").
var blockedPorts = [...]uint16{ //nolint:gochecknoglobals // a constant list
	1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
	109, 110, 111, 113, 115, 117, 119, 123, 135,
	137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636,
	989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669,
	6679, 6697, 10080,
}

// databasePorts are the well-known ports of databases, caches and message brokers that do not speak HTTP and often need
// no password inside a network: SQL Server (1433, 1434), Oracle (1521), MQTT (1883, 8883), ZooKeeper (2181), Firebird
// (3050), MySQL (3306, 33060), SAP HANA (30015), PostgreSQL (5432, 6432 for PgBouncer), AMQP (5671, 5672), Redis (6379,
// 16379, 26379), Cassandra (7000, 9042), Neo4j (7687), Kafka (9092), Memcached (11211) and MongoDB (27017 to 27019).
var databasePorts = [...]uint16{ //nolint:gochecknoglobals // a constant list
	1433, 1434, 1521, 1883, 2181, 3050, 3306, 5432, 5671, 5672, 6379, 6432, 7000, 7687, 8883, 9042, 9092, 11211,
	16379, 26379,
	27017, 27018, 27019, 30015, 33060,
}
