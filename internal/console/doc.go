// Package console is the pages of the service: what people who write no code see of their invoices, in the same binary
// and over the same store as the API.
//
// Its invariants: a page shows what is stored and infers nothing, least of all a state; a session's cookie is no bearer
// token, and the API never looks at cookies; nothing that was stored by others becomes markup, and a retained body leaves
// only as an attachment; no page asks anything of another host, holds a script or a style of its own, or shows a secret
// or credential, the signing secret of a new subscription once excepted; everything works without JavaScript, which
// makes pages live and puts times into the reader's zone.
//
// Start reading at [New] and [Console.Serve], then routes in routes.go. A page is one Go file, with its routes, its
// handlers and what it shows, and one file in templates that defines "content"; its words stand in messages/en.json.
// Handlers get a *visit and return an error (errors.go); they answer with [visit.page], or with [visit.redirect] after
// something was done. A part of a page that moves is a fragment (live.go).
package console
