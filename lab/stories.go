package lab

import (
	"fmt"

	"github.com/quotashare/quotashare/quota"
)

// onePercent is a point of the limit.
const onePercent = Whole / 100

// story begins a scenario of an hourly window with keys of these weights, who do nothing.
func story(name, about string, weights []quota.Ratio) *Scenario {
	s := &Scenario{Name: name, About: about, Window: quota.Hourly, Windows: 4, Warmup: 1, Retry: 3_600}
	for i, w := range weights {
		s.Keys = append(s.Keys, Key{Name: fmt.Sprintf("key-%d", i+1), Weight: w})
	}
	return s
}

// Scenarios are the ones with a name, each with what is to be seen in it. The last three
// are those where the rule guarantee loses.
func Scenarios() []*Scenario {
	return []*Scenario{Lone(10), flood(), lateComer(), bursts(), even(), hungry(), sudden(), large()}
}

// Lone is one key at work among so many that do nothing.
func Lone(keys int) *Scenario {
	s := story("lone", fmt.Sprintf("one key of %d works, and asks for more than all", keys), equal(keys))
	s.Windows, s.Retry = 2, 500
	s.Keys[0].Requests = steady(s, 3*Whole, Whole/12_500)
	return s
}

func flood() *Scenario {
	s := story("flood", "one of four keys asks for far more than there is, the others for less than their share", equal(4))
	s.Keys[0].Requests = steady(s, 4*Whole, onePercent/10)
	for i := 1; i < 4; i++ {
		s.Keys[i].Requests = steady(s, 20*onePercent, onePercent/5)
	}
	return s
}

func lateComer() *Scenario {
	s := story("late-comer", "two keys take all they can get; a third comes for the first time when half of a window is over", equal(3))
	s.Windows = 2
	for i := range 2 {
		s.Keys[i].Requests = steady(s, 2*Whole, onePercent/10)
	}
	s.Keys[2].Requests = once(s, 50, 100, Whole, onePercent/10)
	return s
}

func bursts() *Scenario {
	s := story("bursts", "four keys ask for 40 points each within a twentieth of the window, one after the other", equal(4))
	for i := range s.Keys {
		from := int64(20 * i)
		s.Keys[i].Requests = later(s, from, from+5, 40*onePercent, onePercent/10)
	}
	return s
}

func even() *Scenario {
	s := story("steady", "five keys ask for four fifths of their share, evenly", equal(5))
	for i := range s.Keys {
		s.Keys[i].Requests = steady(s, 16*onePercent, onePercent/10)
	}
	return s
}

func hungry() *Scenario {
	weights := []quota.Ratio{10, 15, 20, 25, 30}
	for i := range weights {
		weights[i] *= quota.RatioOne
	}
	s := story("all hungry", "five keys of weights 10 to 30 always ask for more than there is", weights)
	for i := range s.Keys {
		s.Keys[i].Requests = steady(s, 2*Whole, onePercent/10)
	}
	return s
}

func sudden() *Scenario {
	s := story("sudden bursts", "one key fills the pool; four others come once, each with its whole share at once", equal(5))
	s.Windows = 2
	s.Keys[0].Requests = steady(s, 2*Whole, onePercent/10)
	for i := 1; i < 5; i++ {
		from := int64(20*i - 5)
		s.Keys[i].Requests = once(s, from, from+1, 20*onePercent, onePercent/5)
	}
	return s
}

func large() *Scenario {
	s := story("large requests", "one key asks for a tenth of the limit at a time, two for a thousandth", equal(3))
	s.Keys[0].Requests = steady(s, 50*onePercent, 10*onePercent)
	for i := 1; i < 3; i++ {
		s.Keys[i].Requests = steady(s, 2*Whole, onePercent/10)
	}
	return s
}
