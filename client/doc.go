// Package client is the Go SDK of Quotashare, for gateways: it asks before a call
// whether the call may be made, and publishes afterwards what it used.
//
//	c, err := client.New(client.Options{URL: "nats://127.0.0.1:4222"})
//	…
//	d, err := c.Decide(ctx, client.Question{
//		APIKeyID: "alice", ConnectionID: "kimi-1", Estimate: client.Amounts{Tokens: 800}, Reserve: true,
//	})
//	switch {
//	case err != nil: // the question is bad
//	case !d.Allow: // answer with d.Status, d.Message and d.RetryAfter
//	default: // make the call, and then
//		err = c.Settle(d.Hold, client.Amounts{Tokens: 150}) // or c.Release(d.Hold), when it was never made
//	}
//
// # Questions
//
// Decide always has an answer, within Options.Timeout or the deadline of its context,
// whichever is sooner. No answer of the engine in time, none that listens, no
// connection, or a reply that is none, let the request pass: a quota engine must not
// stop all traffic. That is seen in the decision (Reason, Degraded, Detail), in Stats,
// and in the log, at most one line for a cause in 10 seconds. With Options.FailClosed
// the request is blocked instead. Without a connection nothing is sent and nothing
// waited for. A question that cannot be answered is an error, whether the engine
// answers or not, and never passes.
//
// How long the engine may wait for the verdict on a hold is set below the deadline, so
// that its own answer without a verdict comes before ours without an answer.
//
// Whoever is allowed with Reserve has to call Settle or Release, even when the client
// allowed it by itself: the question may have been answered and the answer lost. A
// block leaves no hold; one that the client made by itself is followed by a release.
//
// Route asks which of several connections a call is to use, and may wait for room.
// Middleware does all of this around the calls of a reverse proxy.
//
// # Events
//
// Publish returns at once and keeps the event until the log has it, through lost
// connections and a log that takes nothing, up to Options.MaxEvents and MaxBytes. Its
// id and time are set before the first try, so that an event counts once however often
// it is sent. One message is under way at a time and what comes meanwhile is the next,
// in arrays of one kind: an event alone is sent at once. Events of one kind arrive in
// the order of Publish. Beyond the bounds the newest is refused with ErrFull. What is
// still there when the time of Close is over is lost, and said so.
//
// With Options.SpoolDir, what the log does not take is written there within 2 seconds, at
// once when there is no connection, and comes into the log behind what was there before:
// when the log is back, or with the next client of that directory. Of a program that is
// killed then only what was published in its last moment is lost.
//
// An event that says no time has the clock of this machine, which should be right to
// seconds: an hour off is another window.
//
// # Amounts
//
// Requests and tokens are whole numbers, money and points are whole numbers of small
// parts, as a time.Duration is of nanoseconds: sums are exact.
//
// Everything is safe for concurrent use, and nothing runs any more after Close.
package client
