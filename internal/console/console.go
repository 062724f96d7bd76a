package console

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"quittance/internal/account"
	"quittance/internal/fairlimit"
	"quittance/internal/store"
	"quittance/internal/submission"
	"quittance/internal/webhook"
)

// Config is what a console is made from.
type Config struct {
	DB          *store.DB
	Accounts    *account.Service
	Submissions *submission.Service
	// Destinations says where webhooks may go.
	Destinations webhook.Policy
	// Random is the source of secrets.
	Random io.Reader
	// Now is the clock.
	Now func() time.Time
	// Environment is local, sandbox or production; every page of the first two says what it is.
	Environment string
	// Secure tells that browsers speak TLS to this server, or to a proxy before it.
	Secure bool
	// RateLimit is how many requests a minute one session may make here; 0 for no limit.
	RateLimit int64
	// MaxBody is the largest form in bytes.
	MaxBody int64
}

// Console serves the pages. It is safe for concurrent use.
type Console struct {
	Config
	routes     []route
	assets     *assetFiles
	pages      *templates
	origins    *http.CrossOriginProtection
	calls      *account.CallLimiter
	largePages *fairlimit.Limiter[store.ID]
	buffers    bufferPool
	gzip       gzipPool
}

// New makes a console. It fails when a template or a message cannot be read, so that a page that cannot be made is a
// server that does not start.
func New(config Config) (*Console, error) {
	c := &Console{Config: config, routes: routes(), origins: http.NewCrossOriginProtection(),
		calls: account.NewCallLimiter(config.RateLimit, config.Now), largePages: newLargePages()}
	var err error
	if c.assets, err = newAssets(); err != nil {
		return nil, err
	}
	messages, err := readCatalogue()
	if err != nil {
		return nil, err
	}
	c.pages, err = newTemplates(messages, c.assets)
	return c, err
}

// Admission bounds what a request takes of the process; the server implements it. Its errors are [fairlimit.ErrFull], of which the caller is told to try
// again, and [*account.LimitedError].
type Admission interface {
	// Authenticate returns the session of a digest, and takes a place for its company; [store.ErrNotFound] when it is none.
	Authenticate(ctx context.Context, digest [32]byte) (store.Session, error)
	// Enter takes a place for whoever asks, unless the request has one.
	Enter(ctx context.Context) error
	// ReadBody reads the body of at most so many bytes, without a place meanwhile; [*http.MaxBytesError] when there are more.
	ReadBody(ctx context.Context, most int64) ([]byte, error)
	// Reserve takes memory for so many bytes until the request ends, or until they are released.
	Reserve(bytes int) error
	// Release gives so many reserved bytes back before the request ends.
	Release(bytes int)
	// Charge counts work for somebody who is not logged in as that of so many requests.
	Charge(requests int64) error
	// Remember counts the next requests with a credential that was just given out as those of its company.
	Remember(digest [32]byte, company store.ID)
}

// Served is what became of a request, for the log and the metrics.
type Served struct {
	// Answered is false when there is nothing at that address for a caller that did not ask for a page.
	Answered bool
	// Route is the pattern of the page's path, or "console" for what is none.
	Route string
	// Account and User are who is logged in, zero for nobody.
	Account, User store.ID
	// Err is why the answer is a failure of ours; nil otherwise.
	Err error
}

// noRoute stands for paths that are none, which are the caller's text.
const unknownRoute = "console"

// Serve answers one request. source is the caller's address, for the limits of the login. Nothing is written before an
// answer is complete.
func (c *Console) Serve(w http.ResponseWriter, r *http.Request, source string, admission Admission) Served {
	path := r.URL.EscapedPath()
	if strings.HasPrefix(path, assetsPath) {
		c.assets.serve(w, r)
		return Served{Answered: true, Route: strings.TrimSuffix(assetsPath, "/")}
	}
	found, values, known := match(c.routes, r.Method, path)
	if !known && !wantsPage(r) {
		return Served{}
	}
	req := &request{Console: c, w: w, r: r, source: source, admission: admission, values: values}
	defer req.releaseLargePage()
	served := Served{Answered: true, Route: unknownRoute}
	if found != nil {
		served.Route = found.path
	}
	served.Err = c.serveRecovered(req, found, known)
	served.Account, served.User = req.session.Account.ID, req.session.User
	return served
}

// wantsPage tells whether somebody looks at the answer: browsers say that they take HTML.
func wantsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// guarded takes a request to its page and a failure to its own. A panic costs this request alone. It returns the
// failures that are ours.
func (c *Console) serveRecovered(req *request, found *route, known bool) (err error) {
	secureHeaders(req.w.Header())
	defer func() {
		if cause := recover(); cause != nil {
			err = req.answerError(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	if err := c.dispatch(req, found, known); err != nil {
		return req.answerError(err)
	}
	return nil
}

// run refuses in this order: another site's form, nothing there, nobody logged in, too many requests, a password that has
// to be changed first.
func (c *Console) dispatch(req *request, found *route, known bool) error {
	if err := c.origins.Check(req.r); err != nil {
		return &problem{status: http.StatusForbidden, cause: err}
	}
	if err := req.authenticate(); err != nil {
		return err
	}
	if err := req.admission.Enter(req.r.Context()); err != nil {
		return err
	}
	if found == nil && known {
		req.w.Header().Set("Allow", allowed(c.routes, req.r.URL.EscapedPath()))
		return &problem{status: http.StatusMethodNotAllowed}
	}
	if found == nil {
		return &problem{status: http.StatusNotFound}
	}
	if req.session.Tenant == nil && !found.public {
		if found.large {
			return req.preserveForm()
		}
		return req.redirectToLogin()
	}
	if req.session.Tenant != nil {
		if _, err := c.calls.Spend(req.session.Digest); err != nil {
			return err
		}
	}
	if req.session.PasswordChangeRequired && !found.public && !found.always {
		return req.redirectToPassword()
	}
	if err := req.readForm(found); err != nil {
		return err
	}
	return found.serve(req)
}

// policy is the content security policy of every page: its own scripts, styles and pictures, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secureHeaders are those of every answer; assets and attachments change some.
func secureHeaders(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Frame-Options", "DENY")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	header.Set("Cache-Control", "no-store")
}
