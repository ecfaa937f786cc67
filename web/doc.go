// Package web is the dashboard: pages that a browser shows, made of what the
// HTTP API says and of nothing else.
//
// The sources are TypeScript in src/; `make web` builds them into dist/, which
// is embedded in the program. A program that was built without them compiles
// and runs all the same, and its page says how to build them.
//
// The pages load nothing from anywhere but this server, run no script and apply
// no style that is written into a page, and are shown in no frame. The headers
// say so, and the browser holds the pages to it.
package web
