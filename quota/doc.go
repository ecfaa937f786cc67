// Package quota holds the words every other package speaks: units, windows,
// exact fixed-point amounts, ratios, instants and ids.
//
// It is pure: no clock, no IO, no logging, no floating point. An amount is an
// int64 counted in the smallest step of its unit, so sums are exact and a
// replay of the same log gives the same bits on every machine.
package quota
