package client

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync/atomic"
)

// ids names what this client makes. 80 random bits tell it from every other one,
// and a counter its names from each other: that needs no clock, which may stand or
// go back, and no lock.
type ids struct {
	prefix string
	n      atomic.Uint64
}

func newIDs() *ids { return &ids{prefix: strings.ToLower(rand.Text()[:16])} }

// next returns a name that was never there. kind tells for people what it names.
func (i *ids) next(kind string) string {
	return i.prefix + "-" + kind + strconv.FormatUint(i.n.Add(1), 10)
}
