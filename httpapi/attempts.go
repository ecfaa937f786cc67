package httpapi

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Bounds of guessing. A person who mistypes has a handful of tries at once; who goes on
// has ten a minute. Tokens that this program makes are not guessed at any rate; the one
// that an operator thought of may be.
const (
	guessEvery  = 6 * time.Second
	guessBurst  = 10
	maxGuessers = 4096
)

// attempts counts wrong tokens by where they came from, so that who guesses locks out
// nobody else. Of each address only an instant is kept: when all its tries would be
// there again.
type attempts struct {
	now func() time.Time

	mu   sync.Mutex
	full map[netip.Prefix]time.Time
}

func newAttempts(now func() time.Time) *attempts {
	return &attempts{now: now, full: map[netip.Prefix]time.Time{}}
}

// wait returns how long the address has to wait before it may try, 0 when it may now.
func (a *attempts) wait(from netip.Prefix) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(0, a.full[from].Add(-(guessBurst-1)*guessEvery).Sub(a.now()))
}

// wrong takes one try from the address.
func (a *attempts) wrong(from netip.Prefix) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if _, known := a.full[from]; !known && len(a.full) >= maxGuessers {
		a.forget(now)
	}
	a.full[from] = later(a.full[from], now).Add(guessEvery)
}

// forget makes room: those that have all their tries again are as good as unknown, and
// where there are none it is one by chance, to whom that is a gift.
func (a *attempts) forget(now time.Time) {
	for from, full := range a.full {
		if !full.After(now) {
			delete(a.full, from)
		}
	}
	for from := range a.full {
		if len(a.full) < maxGuessers {
			return
		}
		delete(a.full, from)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// origin is where a request came from: an address, or of IPv6 the network that one
// household has.
func originOf(r *http.Request) netip.Prefix {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{} // all of those together
	}
	ip := at.Addr().Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.Prefix(bits) // both are within range
	return p
}
