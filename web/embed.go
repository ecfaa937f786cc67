package web

import (
	"embed"
	"io/fs"
)

// "all:" takes the .gitignore along, without which the pattern would match no
// file of a folder that nobody has built, and the package would not compile.
//
//go:embed all:dist
var dist embed.FS

// Built returns the files of the dashboard as they were built into this
// program; there are none when it was compiled without them.
func Built() fs.FS {
	built, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // "dist" is a valid path, whatever is in it
	}
	return built
}
