package demo

import (
	"math/rand/v2"
	"time"

	"github.com/quotashare/quotashare/dialect"
)

// The account lasts for this many tokens a second of the demo: what everybody but bob
// wants together is a third of it, and what bob wants is more than all of it.
const tokensPerSecond = 700

// habit is a key and what it does.
type habit struct {
	key    string
	weight int // percent of the account
	policy string
	does   string // for people

	api    dialect.API
	stream bool
	from   func(length time.Duration) time.Duration // its first request
	every  time.Duration                            // from one burst to the next
	burst  int                                      // requests at once
	answer int64                                    // tokens that it wants, on average
}

// cast are the keys of the demo. Their weights are as they are because shares are
// enforced from a part of the limit on that the operator may have set: from half to
// three quarters of it, bob comes to be blocked, cleo to give way, and there is
// something left for the others.
var cast = []habit{
	{
		key: "ada", weight: 40, policy: "hard", does: "asks for little, every second",
		api: dialect.Chat, from: begin, every: time.Second, burst: 1, answer: 24,
	},
	{
		key: "bob", weight: 10, policy: "hard", does: "floods it: ten requests a second",
		api: dialect.Chat, stream: true, from: begin, every: 100 * time.Millisecond, burst: 1, answer: 80,
	},
	{
		key: "cleo", weight: 10, policy: "soft", does: "five requests at once, again and again",
		api: dialect.Messages, stream: true, from: soon, every: 4500 * time.Millisecond, burst: 5, answer: 80,
	},
	{
		key: "dan", weight: 40, policy: "hard", does: "comes late, and wants to find its share",
		api: dialect.Messages, from: halfway, every: time.Second, burst: 1, answer: 40,
	},
}

func begin(time.Duration) time.Duration          { return 0 }
func soon(time.Duration) time.Duration           { return 1500 * time.Millisecond }
func halfway(length time.Duration) time.Duration { return length / 2 }

// limit is how many tokens an hour the account of a demo of that length has, in whole
// hundreds so that shares are whole.
func limit(length time.Duration) int64 {
	return (tokensPerSecond*length.Milliseconds()/1000 + 99) / 100 * 100
}

// request is one request of a key.
type request struct {
	at     time.Duration // since the demo began
	prompt string
	answer int64 // tokens, which the provider sends all
}

// schedule is everything that a key asks for. The seed decides the prompts and how long
// the answers are, up to a quarter more or less.
func (h *habit) schedule(length time.Duration, seed uint64) (all []request) {
	rng := rand.New(rand.NewPCG(seed, uint64(h.key[0])))
	for at := h.from(length); at < length; at += h.every {
		for range h.burst {
			all = append(all, request{
				at: at, prompt: prompts[rng.IntN(len(prompts))], answer: h.answer*3/4 + rng.Int64N(h.answer/2+1),
			})
		}
	}
	return all
}

// prompts are of about one length, so that what is asked for is known beforehand.
var prompts = []string{
	"Say in two sentences what a token bucket is.",
	"Why is the sky blue, and the evening red?",
	"Write a test for a function that adds numbers.",
	"Name three rivers that cross two countries.",
	"What does this error mean: connection refused?",
	"Translate: who comes first is served first.",
}
