package assembly

import (
	"fmt"
	"io"
)

// Listening is where a started process can be reached.
type Listening struct {
	NATS    string // URL
	HTTP    string // URL
	DataDir string
	Own     bool // the NATS server is this process
	Token   bool // HTTP asks for one
}

// Print says it in plain words.
func (l Listening) Print(w io.Writer) {
	whose := "publish events and ask quota.decide here, from any language"
	if !l.Own {
		whose = "the log, which somebody else runs"
	}
	fmt.Fprintf(w, "  NATS   %-28s %s\n", l.NATS, whose)
	fmt.Fprintf(w, "  HTTP   %-28s the dashboard, in a browser, and the API, which curl lists\n", l.HTTP)
	fmt.Fprintf(w, "  data   %s\n", l.DataDir)
}
