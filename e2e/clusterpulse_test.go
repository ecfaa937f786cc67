package e2e

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"
)

// pulse notes how often something happens, how often it was tried in vain, and the longest
// time in which it did not happen.
type pulse struct {
	what string
	bell chan struct{} // one for each, as far as anybody takes them

	mu        sync.Mutex
	n, failed int
	last      time.Time
	longest   time.Duration
	may, then time.Duration // how long the gap that runs may be, and those after it
	over      []string      // gaps that were longer
}

// gone is how long nothing may come from what is not there.
const gone = time.Duration(math.MaxInt64)

func newPulse(what string, may time.Duration) *pulse {
	return &pulse{what: what, last: time.Now(), bell: make(chan struct{}), may: may, then: may}
}

func (p *pulse) beat(n int) {
	p.mu.Lock()
	gap := time.Since(p.last)
	if gap > p.may {
		p.over = append(p.over, fmt.Sprintf("%.1f s, and may be %s", gap.Seconds(), p.may))
	}
	if p.may != gone {
		p.longest = max(p.longest, gap)
	}
	p.n, p.last, p.may = p.n+n, time.Now(), p.then
	p.mu.Unlock()
	select {
	case p.bell <- struct{}{}:
	default:
	}
}

// allow says how long a gap may be from now on. The one that runs may be as long as it
// might have been before, too.
func (p *pulse) allow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.may, p.then = max(p.may, d), d
}

// present reports whether who answers should be there, and has been heard of since it
// last was not.
func (p *pulse) present() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.may != gone
}

func (p *pulse) fail() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed++
}

func (p *pulse) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

// await returns after n further beats, and says how long they took.
func (p *pulse) await(t *testing.T, n int) time.Duration {
	t.Helper()
	began := time.Now()
	over := time.After(patience)
	for range n {
		select {
		case <-p.bell:
		case <-over:
			t.Fatalf("%s: there are none any more", p.what)
		}
	}
	return time.Since(began)
}

func (p *pulse) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%s: %d, longest gap %.2f s, %d times in vain", p.what, p.n, p.longest.Seconds(), p.failed)
}

// mustHaveGoneOn fails if there was too long a gap.
func (p *pulse) mustHaveGoneOn(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, gap := range p.over {
		t.Errorf("%s: there were none for %s", p.what, gap)
	}
}
