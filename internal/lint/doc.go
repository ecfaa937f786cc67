// Package lint holds the rules of the house as code: who may import whom and
// why, what a pure package must not touch, how long a file and a function may
// be, and that every package and every exported name says what it is.
//
// The tests apply the rules to the whole module. A rule that stands only in a
// document is broken by the first hurried change; one that is a test is a
// decision somebody has to take in the open, next to its reason.
package lint
