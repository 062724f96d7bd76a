// Package quittance holds the documents that the program shows about itself: the guides and the changelog. They are
// written once, here and under docs, for readers of the source and for the pages of a running server alike.
//
// Its invariant: what is served is what stands in these files. Start reading at docs/guide.md; package docs makes pages
// of them.
package quittance

import (
	"embed"
	"io/fs"
)

//go:embed CHANGELOG.md docs/*.md docs/changes/*.md docs/guides/*.md docs/ops/*.md docs/providers/*.md
var documents embed.FS

// Documents returns CHANGELOG.md and the Markdown files under docs.
func Documents() fs.FS { return documents }
