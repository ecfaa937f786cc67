package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/dialect"
)

// unseen are the tokens that the provider counts beyond the text of a prompt.
const unseen = 7

// wants is how many tokens a key is charged when every request of it is served.
func wants(t *testing.T, h *habit, length time.Duration, seed uint64) (tokens int64) {
	t.Helper()
	c := &caller{habit: h}
	for _, r := range h.schedule(length, seed) {
		body, err := json.Marshal(c.body(&r))
		must(t, err)
		facts, err := dialect.Read(h.api, body)
		must(t, err)
		if facts.Stream != h.stream || facts.MaxOutput != r.answer {
			t.Fatalf("%s sends %s, which is not what its habit says", h.key, body)
		}
		tokens += facts.Estimate() + unseen
	}
	return tokens
}

// Whatever the seed and the length, bob wants more than there is, cleo more than its
// share, the others less than theirs, and all but bob together less than what is left
// when shares begin to be enforced at half of the account.
func TestEverybodyWantsWhatTheDemoIsAbout(t *testing.T) {
	for _, length := range []time.Duration{Shortest, 7300 * time.Millisecond, 10 * time.Second, 30 * time.Second, time.Minute, Longest} {
		for seed := range uint64(5) {
			t.Run(fmt.Sprint(length, " ", seed), func(t *testing.T) {
				all, others := limit(length), int64(0)
				for i := range cast {
					h := &cast[i]
					got, share := wants(t, h, length, seed), all*int64(h.weight)/100
					if h.key != "bob" {
						others += got
					}
					switch h.key {
					case "bob":
						if got < all*5/4 {
							t.Errorf("bob wants %d of %d: all that shares do not bound must be too little", got, all)
						}
					case "cleo":
						if got < share*5/4 {
							t.Errorf("cleo wants %d, its share is %d: it must come to give way", got, share)
						}
					default:
						if got > share/4 || got == 0 {
							t.Errorf("%s wants %d, its share is %d", h.key, got, share)
						}
					}
				}
				if others > all*2/5 {
					t.Errorf("all but bob want %d of %d: nobody but bob must be blocked", others, all)
				}
			})
		}
	}
}

func TestSharesAreWholeTokens(t *testing.T) {
	sum := 0
	for _, h := range cast {
		sum += h.weight
	}
	if sum != 100 {
		t.Errorf("the weights sum to %d", sum)
	}
	for length, want := range map[time.Duration]int64{Shortest: 3500, 30 * time.Second: 21000, 5200 * time.Millisecond: 3700, Longest: 420000} {
		if got := limit(length); got != want {
			t.Errorf("%s has a limit of %d, want %d", length, got, want)
		}
	}
}

func TestScheduleFollowsFromSeed(t *testing.T) {
	all := gocmp.AllowUnexported(request{})
	for i := range cast {
		h := &cast[i]
		one := h.schedule(30*time.Second, 1)
		if diff := gocmp.Diff(one, h.schedule(30*time.Second, 1), all); diff != "" {
			t.Errorf("%s does not do the same again:\n%s", h.key, diff)
		}
		if gocmp.Equal(one, h.schedule(30*time.Second, 2), all) {
			t.Errorf("%s does the same with another seed", h.key)
		}
		if !slices.IsSortedFunc(one, func(a, b request) int { return cmp.Compare(a.at, b.at) }) {
			t.Errorf("%s goes back in time", h.key)
		}
		if last := one[len(one)-1]; last.at >= 30*time.Second || last.at < 25*time.Second {
			t.Errorf("%s asks last at %s", h.key, last.at)
		}
	}
	if came := cast[3].schedule(30*time.Second, 1)[0].at; came != 15*time.Second {
		t.Errorf("dan comes at %s", came)
	}
}
