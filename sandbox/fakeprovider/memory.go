package fakeprovider

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// memory holds what the provider sandbox remembers of the calls since its start, and the configured failures of future
// calls. Durable facts are in the ledger.
type memory struct {
	misbehaviours map[Misbehaviour]Way

	mu            sync.Mutex
	chaos         chaos
	draws         map[drawKey]int
	counts        map[Misbehaviour]int
	rules         []Rule
	conversations map[string]*conversation // by reference
}

// drawKey identifies the calls that share a sequence of random draws.
type drawKey struct {
	kind  callKinds
	about string
}

// conversation is what was exchanged about one reference.
type conversation struct {
	posts, queries int
	lastReport     time.Time // time of the newest report that was given; zero before the first
	scenario       string    // the scenario that a rule has chosen; "" if none has
}

// Rule makes future calls go wrong, or decides what happens to future documents. A condition that is absent matches
// every call. A call that cannot go wrong in this way is not affected.
type Rule struct {
	// Method is GET or POST; "" for both.
	Method string `json:"method,omitempty"`
	// PathPrefix is the beginning of the path; "" matches every path.
	PathPrefix string `json:"path_prefix,omitempty"`
	// Reference is the reference of a submission or status query; "" matches everything.
	Reference string `json:"reference,omitempty"`
	// Misbehaviour is one of [Misbehaviours]; "" for a rule with a scenario.
	Misbehaviour Misbehaviour `json:"misbehaviour,omitempty"`
	// Scenario is the ID of one of [Scenarios], which happens to a document that is submitted for the first time, whoever
	// its recipient is; "" for a rule with a misbehaviour.
	Scenario string `json:"scenario,omitempty"`
	// Times is how many more calls go wrong, or to how many more documents the scenario happens, from 1 to 1,000,000.
	Times int `json:"times"`
}

// maxTimes bounds [Rule].Times, and maxRules the number of pending rules.
const (
	maxTimes = 1_000_000
	maxRules = 1000
)

// ErrRule reports that a rule names no known misbehaviour or scenario, or both, or cannot match any call, that its
// times are out of bounds, or that there are too many pending rules.
var ErrRule = errors.New(
	"provider sandbox: a rule needs either a misbehaviour or a scenario that is listed, times from 1 to 1000000, the method GET or POST or none, a path prefix below /v1/ or none, and a valid reference or none")

func newMemory() *memory {
	m := &memory{misbehaviours: map[Misbehaviour]Way{}, draws: map[drawKey]int{}, counts: map[Misbehaviour]int{},
		conversations: map[string]*conversation{}}
	for _, way := range Misbehaviours() {
		m.misbehaviours[way.Name] = way
	}
	return m
}

// AddRule makes future calls go wrong. Rules take precedence over magic recipients and chaos; of several matching rules
// the oldest applies. It returns [ErrRule].
func (s *Server) AddRule(rule Rule) error {
	m := s.memory
	_, misbehaviour := m.misbehaviours[rule.Misbehaviour]
	_, scenario := s.scenarios[rule.Scenario]
	if misbehaviour == scenario || misbehaviour && rule.Scenario != "" || scenario && rule.Misbehaviour != "" ||
		rule.Times < 1 || rule.Times > maxTimes || !slices.Contains([]string{"", http.MethodGet, http.MethodPost},
		rule.Method) ||
		rule.PathPrefix != "" && !strings.HasPrefix(rule.PathPrefix, "/v1/") || rule.Reference != "" &&
		!validReference(rule.Reference) {
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

// ClearRules removes every rule of [Server.AddRule].
func (s *Server) ClearRules() {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.memory.rules = nil
}

// Rules returns the pending rules with their remaining times.
func (s *Server) Rules() []Rule {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return append([]Rule{}, s.memory.rules...)
}

// SetChaos makes future calls go wrong at random: off, low or high. The draws start over: the same calls with the same
// seed go wrong in the same way. Documents with a magic recipient are not affected. It returns an error for an unknown
// level.
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

// MisbehaviourCounts returns how often each of [Misbehaviours] has happened since the start, including those with 0.
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

// Posts returns how many submissions of a reference have arrived with the right credential since the start, including
// those that were dropped or refused without being read.
func (s *Server) Posts(reference string) int {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	if t := s.memory.conversations[reference]; t != nil {
		return t.posts
	}
	return 0
}

// countMisbehaviour counts a misbehaviour and returns how often it happened before.
func (m *memory) countMisbehaviour(wrong Misbehaviour) (before int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[wrong]++
	return m.counts[wrong] - 1
}

// recordReport records that a report as of a time was given.
func (m *memory) recordReport(reference string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.conversations[reference]; t != nil && at.After(t.lastReport) {
		t.lastReport = at
	}
}

// choose counts a call and returns how it goes wrong: as a rule says, as its scenario says, or at random. It also
// returns the scenario of the document: that of a rule, or otherwise that of its magic recipient.
func (m *memory) choose(c *call, scenarioFor func(recipient string) Scenario) (wrong Misbehaviour, magic Scenario) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.recordCall(c)
	c.lastReport = t.lastReport
	if c.kind == submission && t.posts == 1 && c.document == nil {
		if rule := m.take(func(rule *Rule) bool { return rule.Scenario != "" && rule.matches(c) }); rule != nil {
			t.scenario = rule.Scenario
		}
	}
	magic = scenarioFor(cmp.Or(t.scenario, c.recipient))
	if rule := m.take(func(rule *Rule) bool {
		return rule.matches(c) &&
			m.applicable(rule.Misbehaviour, c)
	}); rule != nil {
		return rule.Misbehaviour, magic
	}
	return m.chooseWithoutRules(c, t, magic), magic
}

// take returns the oldest rule that matches, one time less of which is left, or nil.
func (m *memory) take(matches func(*Rule) bool) *Rule {
	for n := range m.rules {
		if !matches(&m.rules[n]) {
			continue
		}
		taken := m.rules[n]
		if m.rules[n].Times--; m.rules[n].Times == 0 {
			m.rules = slices.Delete(m.rules, n, n+1)
		}
		return &taken
	}
	return nil
}

// chooseWithoutRules returns how a call of a conversation goes wrong: as its scenario says, or at random.
func (m *memory) chooseWithoutRules(c *call, t *conversation, magic Scenario) (wrong Misbehaviour) {
	switch {
	case c.hidden():
		return Arriving
	case c.kind == submission && magic.wrong != NoMisbehaviour:
		if t.posts <= magic.times {
			wrong = magic.wrong
		}
	case c.kind == statusQuery && magic.asked != NoMisbehaviour:
		if t.queries%2 == 0 {
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

// recordCall records a call about a reference. It keeps only references that a document could have.
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
	case statusQuery:
		t.queries++
	default:
	}
	return t
}

// matches reports whether a rule applies to a call.
func (r *Rule) matches(c *call) bool {
	return (r.Method == "" || r.Method == c.method) && strings.HasPrefix(c.path, r.PathPrefix) &&
		(r.Reference == "" || r.Reference == c.reference)
}

// applicable reports whether a call can go wrong in a way: only a report that was given can be repeated, and the course
// of an accepted document does not change.
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
