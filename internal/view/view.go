// Package view makes what the API and the console show, once for both: presenters turn facts of the store into types of the
// API.
//
// Nothing here writes. Start reading at [Invoice].
package view
