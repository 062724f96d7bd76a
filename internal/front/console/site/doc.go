// Package site puts the pages of the console together: it has the overview, the navigation and the choice of a
// language, and its tests see the console as users do, over HTTP and in a browser.
//
// Start reading at [New].
package site
