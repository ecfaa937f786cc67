// Package sim runs log, deciders, gateways and clocks in one place, by chance and
// yet always the same: a seed goes in, a verdict comes out.
package sim
