// Package bench measures the engine beside its bare parts.
//
// A figure of one machine says little about another, and on a shared machine
// little about the next minute. So whatever crosses the network or the disk is
// measured in slices by turns with the least that could do the same job: a
// decision beside an echo of the same sizes, the fold beside a consumer that
// throws away what it reads. What is judged is the ratio, as the median over
// the slices; the order within a pair changes every time, so that a drift of
// the machine falls on both sides.
//
// Everything runs in this process, over TCP on loopback: the embedded broker,
// the engine, the bare parts and the clients. CPU per operation is therefore
// that of all of them together.
//
// Nothing here is a test of speed: a run reports, and fails only when
// something does not work.
package bench
