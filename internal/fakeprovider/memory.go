package fakeprovider

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// memory is what the provider sandbox remembers of the calls since its start, and how the next ones go wrong. What has
// to last is in the ledger.
type memory struct {
	misbehaviours map[Misbehaviour]Way

	mu            sync.Mutex
	chaos         chaos
	draws         map[drawKey]int
	counts        map[Misbehaviour]int
	rules         []Rule
	conversations map[string]*conversation // by reference
}

// drawn names what the draws of chance are counted by.
type drawKey struct {
	kind  callKinds
	about string
}

// talk is what was said about one reference.
type conversation struct {
	posts, lookups int
	lastReport     time.Time // the moment of the newest report that was given; zero before the first
}

// Rule makes coming calls go wrong. An absent condition holds for every call; a call that cannot go wrong in this way
// is left alone.
type Rule struct {
	// Method is GET or POST; "" for both.
	Method string `json:"method,omitempty"`
	// PathPrefix is how the path begins; "" for every path.
	PathPrefix string `json:"path_prefix,omitempty"`
	// Reference is what a submission or a look-up is about; "" for everything.
	Reference string `json:"reference,omitempty"`
	// Misbehaviour is one of [Misbehaviours].
	Misbehaviour Misbehaviour `json:"misbehaviour"`
	// Times is how many calls are still to go wrong, from 1 to 1,000,000.
	Times int `json:"times"`
}

// maxTimes bounds [Rule].Times, and maxRules how many rules wait at a time.
const (
	maxTimes = 1_000_000
	maxRules = 1000
)

// ErrRule says that a rule names no misbehaviour or can hold for no call, that its times are out of bounds, or that too
// many rules wait.
var ErrRule = errors.New("provider sandbox: a rule needs a misbehaviour that is listed, times from 1 to 1000000, the method GET or POST or none, a path prefix below /v1/ or none, and a valid reference or none")

func newMemory() *memory {
	m := &memory{misbehaviours: map[Misbehaviour]Way{}, draws: map[drawKey]int{}, counts: map[Misbehaviour]int{}, conversations: map[string]*conversation{}}
	for _, way := range Misbehaviours() {
		m.misbehaviours[way.Name] = way
	}
	return m
}

// Force makes coming calls go wrong, before every magic recipient and every chance; the oldest rule that holds is the
// first. It returns [ErrRule].
func (s *Server) AddRule(rule Rule) error {
	m := s.memory
	_, known := m.misbehaviours[rule.Misbehaviour]
	if !known || rule.Times < 1 || rule.Times > maxTimes || !slices.Contains([]string{"", http.MethodGet, http.MethodPost}, rule.Method) ||
		rule.PathPrefix != "" && !strings.HasPrefix(rule.PathPrefix, "/v1/") || rule.Reference != "" && !validReference(rule.Reference) {
		return ErrRule
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.rules) == maxRules {
		return ErrRule
	}
	m.rules = append(m.rules, rule)
	return nil
}

// Unforce forgets every rule of [Server.Force].
func (s *Server) ClearRules() {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.memory.rules = nil
}

// Forced returns the rules that still wait, each with the times that are left.
func (s *Server) Rules() []Rule {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return append([]Rule{}, s.memory.rules...)
}

// SetChaos makes calls go wrong by chance from now on: off, low or high. The draws begin anew: the same calls with the
// same seed go wrong in the same way. Documents with a magic recipient are left alone. The error is an unknown level.
func (s *Server) SetChaos(level string, seed uint64) error {
	c, err := newChaos(level, seed)
	if err != nil {
		return err
	}
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.memory.chaos, s.memory.draws = c, map[drawKey]int{}
	return nil
}

// Chaos returns the level of chaos and its seed.
func (s *Server) Chaos() (level string, seed uint64) {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return s.memory.chaos.level, s.memory.chaos.seed
}

// Happened returns how often each of [Misbehaviours] really happened since the start; those that never did are there
// with 0.
func (s *Server) MisbehaviourCounts() map[Misbehaviour]int {
	m := s.memory
	out := map[Misbehaviour]int{}
	for name := range m.misbehaviours {
		out[name] = 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.Copy(out, m.counts)
	return out
}

// Posts returns how many submissions of a reference have come with the right credential since the start, those that
// were dropped or refused unread included.
func (s *Server) Posts(reference string) int {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	if t := s.memory.conversations[reference]; t != nil {
		return t.posts
	}
	return 0
}

// happens counts a misbehaviour and returns how often it happened before.
func (m *memory) countMisbehaviour(wrong Misbehaviour) (before int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[wrong]++
	return m.counts[wrong] - 1
}

// tell remembers that a report of a moment was given.
func (m *memory) recordReport(reference string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.conversations[reference]; t != nil && at.After(t.lastReport) {
		t.lastReport = at
	}
}

// choose counts a call and says how it goes wrong: as it is forced, as its magic recipient says, or by chance.
func (m *memory) choose(c *call, magic Scenario) (wrong Misbehaviour) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.recordCall(c)
	c.lastReport = t.lastReport
	for n := range m.rules {
		rule := &m.rules[n]
		if !rule.matches(c) || !m.applicable(rule.Misbehaviour, c) {
			continue
		}
		wrong := rule.Misbehaviour
		if rule.Times--; rule.Times == 0 {
			m.rules = slices.Delete(m.rules, n, n+1)
		}
		return wrong
	}
	switch {
	case c.hidden():
		return Arriving
	case c.kind == submission && magic.wrong != NoMisbehaviour:
		if t.posts <= magic.times {
			wrong = magic.wrong
		}
	case c.kind == lookUp && magic.asked != NoMisbehaviour:
		if t.lookups%2 == 0 {
			wrong = magic.asked
		}
	case magic.ID == "":
		key := drawKey{c.kind, c.subject}
		m.draws[key]++
		wrong = m.chaos.pick(c.kind, c.subject, m.draws[key])
	}
	if !m.applicable(wrong, c) {
		return NoMisbehaviour
	}
	return wrong
}

// count takes note of a call about a reference. Only what could be a document's is remembered.
func (m *memory) recordCall(c *call) *conversation {
	t := m.conversations[c.reference]
	if t == nil {
		t = &conversation{}
		if c.kind == submission && validReference(c.reference) || c.document != nil {
			m.conversations[c.reference] = t
		}
	}
	switch c.kind {
	case submission:
		t.posts++
	case lookUp:
		t.lookups++
	default:
	}
	return t
}

// holds tells whether a rule is about a call.
func (r *Rule) matches(c *call) bool {
	return (r.Method == "" || r.Method == c.method) && strings.HasPrefix(c.path, r.PathPrefix) && (r.Reference == "" || r.Reference == c.reference)
}

// possible tells whether a call can go wrong in a way: what was not said cannot be repeated, and a document that has its
// course keeps it.
func (m *memory) applicable(wrong Misbehaviour, c *call) bool {
	way := m.misbehaviours[wrong]
	if way.on&c.kind == 0 {
		return false
	}
	switch wrong {
	case Reversed, Reopened, UnknownValue, MissingDimension:
		return c.document == nil
	case Arriving:
		return (c.kind == submission) == (c.document == nil)
	case Foreign:
		return c.kind == submission || c.document != nil
	case Stale:
		return c.reportedBefore() && c.document.Report(c.lastReport).Sequence > 1
	case Repeated, Reformatted:
		return c.reportedBefore()
	case Contradicting:
		return c.reportedBefore() && len(c.document.Report(c.lastReport).States) > 0
	default:
		return true
	}
}
