package fakeprovider

import (
	"math/rand/v2"
	"testing"

	"github.com/quotashare/quotashare/dialect"
)

// TestOutput has the edges of what an answer is made of.
func TestOutput(t *testing.T) {
	tests := []struct {
		how     Behaviour
		limit   int64
		use     usage
		limited bool
		pieces  int
	}{
		{Behaviour{Completion: 6}, 0, usage{7, 0, 6, 0}, false, 6},
		{Behaviour{Completion: 6}, 7, usage{7, 0, 6, 0}, false, 6},
		{Behaviour{Completion: 6}, 6, usage{7, 0, 6, 0}, false, 6},
		{Behaviour{Completion: 6}, 5, usage{7, 0, 5, 0}, true, 5},
		{Behaviour{Completion: 9, Chunks: 2}, 0, usage{7, 0, 9, 0}, false, 2},
		{Behaviour{Completion: 9}, 0, usage{7, 0, 9, 0}, false, 8},
		{Behaviour{Completion: 6, Chunks: 99}, 0, usage{7, 0, 6, 0}, false, 6},
		{Behaviour{Completion: 6, Reasoning: 5}, 0, usage{7, 0, 6, 5}, false, 1},
		{Behaviour{Completion: 6, Reasoning: 9}, 0, usage{7, 0, 6, 6}, false, 0},
		{Behaviour{Prompt: 10, Cached: 9, Completion: 1}, 0, usage{10, 9, 1, 0}, false, 1},
		{Behaviour{Prompt: 10, Cached: 10, Completion: 1}, 0, usage{10, 9, 1, 0}, false, 1},
	}
	for _, tt := range tests {
		c := call{api: dialect.Chat, rng: rand.New(rand.NewPCG(1, 1)), asked: dialect.Request{MaxOutput: tt.limit}}
		c.behave(tt.how)
		if c.use != tt.use || c.limited != tt.limited || len(c.deltas) != tt.pieces {
			t.Errorf("%+v, limit %d: %+v, limited %v, pieces %q", tt.how, tt.limit, c.use, c.limited, c.deltas)
		}
		for _, d := range c.deltas {
			if d == "" {
				t.Errorf("%+v: a piece of %q is empty", tt.how, c.deltas)
			}
		}
	}
}

// TestUsualOutput: nobody who says nothing gets nothing, or much.
func TestUsualOutput(t *testing.T) {
	seen := map[int64]bool{}
	for seed := range uint64(2000) {
		c := call{api: dialect.Messages, rng: rand.New(rand.NewPCG(1, seed))}
		c.behave(Behaviour{})
		seen[c.use.completion] = true
	}
	if len(seen) != 25 || !seen[8] || !seen[32] {
		t.Errorf("completions of %v", seen)
	}
}

// TestLongOutput: a million tokens are charged, and not written.
func TestLongOutput(t *testing.T) {
	c := call{api: dialect.Chat, rng: rand.New(rand.NewPCG(1, 1))}
	c.behave(Behaviour{Completion: 1_000_000})
	if n := len(c.text()); c.use.completion != 1_000_000 || n < maxWords || n > 10*maxWords {
		t.Errorf("%d tokens, a text of %d bytes", c.use.completion, n)
	}
}
