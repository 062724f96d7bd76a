package console

import (
	"context"
	"errors"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"strings"
	"time"

	"golang.org/x/text/language"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/account/sso"
	"quittance/internal/exchange/submission"
	"quittance/internal/exchange/webhook"
	"quittance/internal/front/export"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/fairlimit"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/router"
)

// Config configures a console.
type Config struct {
	DB          *base.DB
	Accounts    *account.Service
	Submissions *submission.Service
	// Printer makes PDF files.
	Printer *view.Printer
	// Importer reads files with drafts.
	Importer *view.Importer
	// Exporter makes files of lists.
	Exporter *export.Exporter
	// Destinations is the policy that decides where webhooks may be sent.
	Destinations webhook.Policy
	// Random is the source of secrets.
	Random io.Reader
	// Now is the clock.
	Now func() time.Time
	// Links are the login links of a sandbox; nil means none.
	Links *account.LoginLinks
	// SignOn logs people in at an OpenID provider; nil means that there is none.
	SignOn *sso.Client
	// Environment is local, sandbox or production. Every page names the first two.
	Environment string
	// PublicURL is the address at which people reach the console; "" for the host that a request names.
	PublicURL account.PublicURL
	// Secure reports that browsers use TLS to reach this server or a proxy in front of it.
	Secure bool
	// RateLimit is the number of requests that one session may make in a minute; 0 means no limit.
	RateLimit int64
	// MaxBody is the size in bytes of the largest form.
	MaxBody int64
}

// Console serves the pages. It is safe for concurrent use.
type Console struct {
	Config
	kit        *page.Kit
	router     *router.Router[Route]
	sections   []SectionGroup
	Words      map[language.Tag]*Words
	calls      *account.CallLimiter
	largePages *fairlimit.Limiter[base.ID]
}

// New returns a console with the pages of some subjects and with the navigation sections. It fails when a
// template or a message cannot be read, so that the server does not start with a broken page.
func New(config Config, sections []SectionGroup, subjects ...Subject) (*Console, error) {
	var all []Route
	var templates []fs.FS
	for _, s := range subjects {
		if all = append(all, s.Routes...); s.Templates != nil {
			templates = append(templates, s.Templates)
		}
	}
	c := &Console{Config: config, router: newRouter(all), sections: sections, Words: map[language.Tag]*Words{},
		calls: account.NewCallLimiter(config.RateLimit, config.Now), largePages: newLargePages()}
	for _, of := range page.Languages() {
		w, err := ReadWords(of)
		if err != nil {
			return nil, err
		}
		c.Words[of.Tag] = w
	}
	var err error
	c.kit, err = page.New(page.Config{Files: files, More: templates, Languages: page.Languages(),
		Cookie: "quittance", Environment: config.Environment, Secure: config.Secure,
		Funcs: func(texts page.Texts) template.FuncMap {
			w := c.Words[texts.Tag]
			functions := w.funcs()
			for _, s := range subjects {
				if s.Funcs != nil {
					maps.Copy(functions, s.Funcs(w))
				}
			}
			return functions
		}})
	return c, err
}

// Admission bounds the resources that a request uses. The server implements it. Its errors are [fairlimit.ErrFull],
// which asks the caller to try again, and [*account.LimitedError].
type Admission interface {
	// Authenticate returns the session of a digest and acquires a slot for its company. It returns [base.ErrNotFound]
	// when there is no such session.
	Authenticate(ctx context.Context, digest [32]byte) (base.Session, error)
	// Acquire acquires a slot for the caller, unless the request already has one.
	Acquire(ctx context.Context) error
	// ReadBody reads a body of at most the given number of bytes and holds no slot meanwhile. It returns
	// [*http.MaxBytesError] when the body is larger.
	ReadBody(ctx context.Context, most int64) ([]byte, error)
	// Reserve reserves memory until the request ends or the memory is released.
	Reserve(bytes int) error
	// Release releases reserved memory before the request ends.
	Release(bytes int)
	// Charge counts the work for a caller who is not logged in as the given number of requests.
	Charge(requests int64) error
	// Remember counts the next requests with a credential that was just issued as requests of its company.
	Remember(digest [32]byte, company base.ID)
}

// Served is the result of a request, for the log and the metrics.
type Served struct {
	// Found is false when the address does not exist and the caller did not ask for a page.
	Found bool
	// Route is the pattern of the path, or "console" when no route matches.
	Route string
	// Account and User identify the user who is logged in; they are zero if there is none.
	Account, User base.ID
	// Err is the cause of an internal error, or nil.
	Err error
	// Broken reports that the response is not whole, so that the connection has to end.
	Broken bool
}

// unknownRoute replaces paths that match no route, because callers choose their text.
const unknownRoute = "console"

// Serve responds to one request. source is the caller's address, for the login limits. Nothing is written before the
// response is complete.
func (c *Console) Serve(w http.ResponseWriter, r *http.Request, source string, admission Admission) Served {
	if c.kit.ServeAsset(w, r) {
		return Served{Found: true, Route: page.AssetsRoute}
	}
	found, values, allowed := c.router.Find(r.Method, r.URL.EscapedPath())
	if found == nil && len(allowed) == 0 && !wantsPage(r) {
		return Served{}
	}
	req := c.request(w, r, admission)
	req.Source, req.Values = source, values
	defer req.releaseLargePage()
	served := Served{Found: true, Route: unknownRoute}
	if found != nil {
		served.Route = found.Path
	}
	served.Err = errors.Join(req.Request.Serve(func() error { return c.dispatch(req, found, allowed) }), req.Logged)
	served.Broken = req.broken
	served.Account, served.User = req.Session.Account.ID, req.Session.User
	return served
}

// wantsPage reports whether the caller is a browser that shows the response: browsers accept HTML.
func wantsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}

// request returns the state of a request.
func (c *Console) request(w http.ResponseWriter, r *http.Request, admission Admission) *Request {
	pages := c.kit.For(r)
	req := &Request{Console: c, Words: c.Words[pages.Texts.Tag], Admission: admission,
		Request: page.Request{Kit: c.kit, Pages: pages, W: w, R: r}}
	req.Frame, req.Hold = req.frame, req.hold
	return req
}

// dispatch rejects, in this order: forms of other sites, overload, unknown routes, callers who are not logged in, too
// many requests, users who must change their password or set up a second factor first, and those whose role does not
// allow it.
func (c *Console) dispatch(req *Request, found *Route, allowed []string) error {
	if err := req.CheckOrigin(); err != nil {
		return err
	}
	if err := req.authenticate(); err != nil {
		return err
	}
	if err := req.Admission.Acquire(req.R.Context()); err != nil {
		return err
	}
	actor := identity.Actor(req.Session, base.MeansConsole, req.Source, req.W.Header().Get(api.HeaderRequestID))
	req.R = req.R.WithContext(base.WithActor(req.R.Context(), actor))
	if found == nil {
		return req.noRoute(allowed)
	}
	if req.Session.Tenant == nil && found.Needs != access.Public {
		if found.Large {
			return req.preserveForm()
		}
		return req.RedirectToLogin()
	}
	if req.Session.Tenant != nil {
		if _, err := c.calls.Spend(req.Session.Digest); err != nil {
			return err
		}
	}
	if redirect := req.held(found); redirect != nil {
		return redirect()
	}
	if found.Needs != access.Public && !req.Session.Permissions.Has(found.Needs) {
		return base.ErrForbidden
	}
	req.Session = req.Session.For(found.Needs)
	if err := req.readForm(found); err != nil {
		return err
	}
	return found.Serve(req)
}

// noRoute returns the error for a request without a route; allowed has the methods of the routes that its path has.
func (req *Request) noRoute(allowed []string) error {
	if len(allowed) == 0 {
		return problem.For(api.CodeNotFound)
	}
	return problem.MethodNotAllowed(allowed...)
}

// held returns the redirect to the page that the session is good for, or nil if it may use the route: its user may have
// to change the password first, and then to set up a second factor.
func (req *Request) held(found *Route) func() error {
	switch {
	case found.Needs == access.Public:
		return nil
	case req.Session.PasswordChangeRequired && !found.ChangesPassword:
		return req.redirectToPassword
	case req.Session.FactorRequired && !req.Session.PasswordChangeRequired && !found.Enrols:
		return func() error { return req.redirectHeld(SecondFactorPath) }
	}
	return nil
}
