// Package livelog reads from a broker what a replay is made of: the log itself, and the
// decisions that were recorded beside it. It writes to neither; to ask where a message
// stands it makes a consumer for a moment.
package livelog
