package lab

import (
	"slices"

	"github.com/quotashare/quotashare/quota"
)

// pour adds so much, or a little more, from an instant on until another, evenly, in
// requests of that size.
func pour(dst []Request, from, to int64, amount, size quota.Amount) []Request {
	n := int64((amount + size - 1) / size)
	for i := range n {
		dst = append(dst, Request{At: from + i*(to-from)/n, Size: size})
	}
	return dst
}

// eachWindow adds up what is done in every window, from its beginning on.
func eachWindow(s *Scenario, do func(dst []Request, from int64) []Request) []Request {
	var all []Request
	for i := range s.Windows {
		all = do(all, int64(i)*s.Window.Millis())
	}
	return all
}

// steady asks for so much of the limit in every window, evenly.
func steady(s *Scenario, amount, size quota.Amount) []Request {
	return eachWindow(s, func(dst []Request, from int64) []Request {
		return pour(dst, from, from+s.Window.Millis(), amount, size)
	})
}

// later is steady in a part of every window, from so many hundredths of it on until others.
func later(s *Scenario, from, to int64, amount, size quota.Amount) []Request {
	return eachWindow(s, func(dst []Request, begin int64) []Request {
		w := s.Window.Millis()
		return pour(dst, begin+w*from/100, begin+w*to/100, amount, size)
	})
}

// once is later in the last window alone.
func once(s *Scenario, from, to int64, amount, size quota.Amount) []Request {
	w := s.Window.Millis()
	begin := int64(s.Windows-1) * w
	return pour(nil, begin+w*from/100, begin+w*to/100, amount, size)
}

// equal makes the weights of so many keys equal, 100 together.
func equal(n int) []quota.Ratio {
	return slices.Repeat([]quota.Ratio{100 * quota.RatioOne / quota.Ratio(n)}, n)
}
