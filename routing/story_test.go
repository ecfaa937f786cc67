package routing_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/routing"
)

// TestStories runs testdata/stories: a pool, what happens second by second, and what
// comes of it.
//
//	pool                                   one line for each connection and key
//	    <connection> has weight <n> [and takes <n> at once]
//	    key <name> has weight <n>
//	log                                    one line for each event
//	    <second> <key> asks with <n> [by <model>] [for <n> tokens] [holds <n> s] [waits <n> s]
//	    <second> <model> is used up | is not used up
//	    <second> <n> ends                  settled, released, or gone from its place
//	    <second> <connection> is saturated | is not saturated | is blocked
//	    <second> <connection> takes <n> at once
//	    <second> nothing                   time goes by
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		s := &scene{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "pool" {
				s = &scene{weights: map[string]quota.Ratio{}}
			}
			s.out.Reset()
			for text := range strings.Lines(d.Input) {
				words := strings.Fields(text)
				if d.Cmd == "pool" {
					s.member(t, words)
					continue
				}
				s.say("%s", strings.TrimSpace(text))
				s.at(int64(number(t, words[0])))
				s.happens(t, words[1:])
				s.serve()
			}
			return s.out.String() + s.state()
		})
	})
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// after returns the number behind a word, or what it is without.
func after(t *testing.T, words []string, word string, without int) int64 {
	for i, w := range words {
		if w == word {
			return int64(number(t, words[i+1]))
		}
	}
	return int64(without)
}

func (s *scene) member(t *testing.T, words []string) {
	weight := after(t, words, "weight", 1)
	if words[0] == "key" {
		s.weights[words[1]] = quota.Ratio(weight) * quota.RatioOne
		return
	}
	s.names = append(s.names, words[0])
	s.list = append(s.list, routing.Candidate{Pool: 1, Weight: weight, MaxConcurrent: after(t, words, "takes", 0)})
}

func (s *scene) happens(t *testing.T, words []string) {
	switch {
	case words[0] == "nothing":
	case words[1] == "ends":
		s.end(routing.Ticket(number(t, words[0])))
	case words[1] == "asks":
		estimate := quota.Amounts{quota.Requests: 1_000, quota.Tokens: quota.Amount(after(t, words, "for", 0)) * 1_000}
		s.ask(routing.Waiter{
			Ticket: routing.Ticket(after(t, words, "with", 0)), Key: s.key(words[0]), Want: wanted(words), Cost: routing.Cost(&estimate),
			Arrived: s.now, Deadline: s.now + after(t, words, "waits", 0), Lease: after(t, words, "holds", 300),
		})
	case words[len(words)-1] == "up":
		s.usedUp = 0
		if words[2] == "used" {
			s.usedUp = wanted([]string{"by", words[0]})
		}
	default:
		s.changes(t, words)
	}
}

// wanted is the number of the model, 0 for none.
func wanted(words []string) uint32 {
	at := slices.Index(words, "by") + 1
	if at == 0 {
		return 0
	}
	return uint32(words[at][0])
}

func (s *scene) changes(t *testing.T, words []string) {
	for i, name := range s.names {
		if name != words[0] {
			continue
		}
		c := &s.list[i]
		c.MaxConcurrent = after(t, words, "takes", int(c.MaxConcurrent))
		switch strings.Join(words[1:], " ") {
		case "is saturated":
			c.Saturated = true
		case "is not saturated":
			c.Saturated = false
		case "is blocked":
			c.Blocked = true
		}
	}
}
