// Package configfile reads and writes the files in which people keep the
// configuration: what quotashare pools, plans and settings apply, and export.
//
// One file may hold all of it, in YAML or JSON:
//
//	pools:    [<pool document>, …]
//	plans:    [{connectionId: …, dimensions: […]}, …]
//	settings: {<name>: <value>, …}
//
// A list alone, or one pool document alone, is pools. People write these files
// by hand, so what the API lets pass is a fault here: an unknown field is most
// often a typo. All faults of a file are reported at once, each with its field
// and, in YAML, its line.
//
// A document is the whole document: a field that is left out has its default.
// Numbers keep the text that was written, so none goes through a float.
//
// Everything here is pure: no clock, no IO.
package configfile
