// Package console is the frame of the pages on which people who write no code see and manage their invoices. It is part
// of the same binary as the API and uses the same database. The pages themselves are in the packages below, one for
// each subject:
//
//   - people: logins, second factors, users, API keys, the audit log and the company itself.
//   - webhooks: destinations of events, and deliveries to them.
//   - documents: invoices and credit notes as they are, their lists, states and history, and received documents.
//   - drafts: the forms of drafts and credit notes, and the import of drafts.
//   - book: the customers and items that the forms know.
//   - site: puts the subjects together, and has the overview and the navigation.
//
// Each imports this package, and may import those before it in the list.
//
// Its invariants: a page shows what is stored and infers nothing, least of all a state; a session cookie is not a
// bearer token, and the API never reads cookies; nothing that others stored becomes markup, and a retained body leaves
// only as an attachment; no page loads anything from another host or has inline scripts or styles; no page shows a
// secret or credential, except the signing secret of a new subscription, once; everything works without JavaScript,
// which only refreshes live parts and converts times to the reader's time zone.
//
// Start reading at [New] and [Console.Serve], then at a [Subject]. Most pages have one Go file with routes, handlers
// and view model, and one template file that defines "content"; the form of drafts has several. All markup is in the
// templates, and all texts are in messages/LANGUAGE.json, one file for each language. A handler is a function that
// takes a [*Request], which embeds that of the kit of pages, and returns an error. It answers with [page.Request.Show],
// or with [page.Request.Redirect] after a change. A live part of a page is a fragment that the browser polls
// ([page.Live]).
package console
