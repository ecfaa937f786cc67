// Package saturation reads what providers say about their own limits, and keeps
// what it means: how full a window is, since when, and which key filled it.
//
// # Headers
//
// FromHeaders turns the headers of one response into readings. It is told who
// the provider is and knows what that provider's headers mean; a gateway
// forwards what it got and needs no such knowledge. The rules:
//
//   - Scale, unit and reset format belong to the source, never to the value:
//     "1" is all of a window from Anthropic and one percent from Codex.
//   - Absent is not 0: a limit without what remains of it is no reading, a window
//     without a reset has none.
//   - Windows are told by their length, never by their place: Codex calls the
//     weekly window secondary today and primary tomorrow.
//   - Used and remaining are never taken for each other, and a value above 100
//     stays as it is.
//   - A limit over a period that none of our windows has is short-term and becomes
//     the window rate. Of two readings of one window and scope the fuller counts,
//     with its own reset; of two equally full, the one that resets later.
//   - A window that the provider rejects reads at least 100, with its own reset.
//   - What is there and cannot be read gives no reading, and a fault.
//
// Header names have no case. A reset that has passed or lies far ahead is
// reported as it is said: what it is worth, the meter judges.
//
// # Meters
//
// Meter keeps what a provider says about one window: which reading continues
// the cycle, which begins another, which is late or noise, and what part of the
// use each key has.
//
// The package is pure: no clock, no IO, no floats. The same headers give the
// same readings in the same order, whatever the order of the map, and no input
// makes it panic.
package saturation
