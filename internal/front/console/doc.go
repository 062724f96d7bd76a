// Package console serves the web pages on which people who write no code see and manage their invoices. It is part of
// the same binary as the API and uses the same store.
//
// Its invariants: a page shows what is stored and infers nothing, least of all a state; a session cookie is not a
// bearer token, and the API never reads cookies; nothing that others stored becomes markup, and a retained body leaves
// only as an attachment; no page loads anything from another host or has inline scripts or styles; no page shows a
// secret or credential, except the signing secret of a new subscription, once; everything works without JavaScript,
// which only refreshes live parts and converts times to the reader's time zone.
//
// Start reading at [New] and [Console.Serve], then the routes in routes.go. Each page has one Go file with its routes,
// handlers and view model, and one template file that defines "content". All markup is in the templates, and all texts
// are in messages/LANGUAGE.json, one file for each language. Handlers are methods of *request, which embeds that of the
// kit of pages, and return an error. They answer with [page.Request.Show], or with [page.Request.Redirect] after a
// change. A live part of a page is a fragment that the browser polls ([page.Live]).
package console
