package fakeprovider

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// BehaviourHeader is the header by which a request says how it wants to be
// answered; ParseBehaviour reads it.
const BehaviourHeader = "Fake-Provider"

// Behaviour is how a request is answered; the zero value is as usual.
type Behaviour struct {
	Status     int           // of a refusal, 429, 500, 529, …; 0 or 2xx: none is made
	RetryAfter time.Duration // told with it, in whole seconds rounded up; 0: not told

	Cut Cut // where the answer ends early
	// CutAfter are the parts that are sent before. When there are no more, a stream
	// has all its events and no end; JSON, whose length is told, is whole.
	CutAfter int

	FirstByteDelay time.Duration // before the header
	Delay          time.Duration // before each part but the first
	// Gate holds back every part until something can be received from it; a
	// closed one holds nothing. nil: no gate.
	Gate <-chan struct{}

	Prompt     int64 // tokens that are stated; 0: what is estimated and 7 more
	Cached     int64 // of them from a cache, fewer than all
	Completion int64 // tokens; 0: 8 to 32. The request's limit holds.
	Reasoning  int64 // of them not shown
	Chunks     int   // pieces that a stream has the text in; 0: 8
}

// Cut is where an answer ends early.
type Cut uint8

// The places.
const (
	Uncut        Cut = iota
	BeforeHeader     // not a byte is sent
	BetweenParts     // after CutAfter parts; 0: after the header
	InsidePart       // after CutAfter parts and some bytes of the next one
	// ErrorEvent ends a stream with an error after CutAfter parts, and not the
	// connection: an overload of Anthropic's, a failed response. JSON is cut as by
	// BetweenParts.
	ErrorEvent
)

var cuts = []string{Uncut: "no", BeforeHeader: "before", BetweenParts: "between", InsidePart: "inside", ErrorEvent: "error"}

// ParseBehaviour reads a behaviour as a header has it, in the form of a URL's
// query:
//
//	status=429&retry-after=30s
//	cut=before | cut=between&cut-after=3 | cut=inside&cut-after=3 | cut=error&cut-after=3
//	first-byte-delay=20ms&delay=5ms
//	prompt=100&cached=20&completion=50&reasoning=10&chunks=5
//
// An error names the field.
func ParseBehaviour(text string) (b Behaviour, err error) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return b, fmt.Errorf("header %s is no query: %w", BehaviourHeader, err)
	}
	for name, all := range values {
		if err := b.set(name, all[len(all)-1]); err != nil {
			return Behaviour{}, fmt.Errorf("header %s: %w", BehaviourHeader, err)
		}
	}
	return b, nil
}

func (b *Behaviour) set(name, value string) error {
	if d := b.duration(name); d != nil {
		v, err := time.ParseDuration(value)
		if err != nil || v < 0 {
			return fmt.Errorf("%s is %q: use a duration such as 20ms", name, value)
		}
		*d = v
		return nil
	}
	if name == "cut" {
		at := slices.Index(cuts, value)
		if at < 0 {
			return fmt.Errorf("cut is %q: use one of %q", value, cuts)
		}
		b.Cut = Cut(at)
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%s is %q: use a number from 0", name, value)
	}
	return b.number(name, n)
}

func (b *Behaviour) duration(name string) *time.Duration {
	switch name {
	case "retry-after":
		return &b.RetryAfter
	case "first-byte-delay":
		return &b.FirstByteDelay
	case "delay":
		return &b.Delay
	}
	return nil
}

func (b *Behaviour) number(name string, n int64) error {
	switch name {
	case "status":
		if b.Status = int(n); n < 200 || n > 599 {
			return fmt.Errorf("status is %d: use one from 200 to 599", n)
		}
	case "cut-after":
		b.CutAfter = int(n)
	case "prompt":
		b.Prompt = n
	case "cached":
		b.Cached = n
	case "completion":
		b.Completion = n
	case "reasoning":
		b.Reasoning = n
	case "chunks":
		b.Chunks = int(n)
	default:
		return fmt.Errorf("%s is no field of a behaviour", name)
	}
	return nil
}
