package brokertest

import "go.uber.org/goleak"

// LostChannel is a goroutine of nats.go that a JetStream publisher leaves behind when it
// is cleaned up before that goroutine has looked for its channel: it then waits at none.
// It is the library's, one for each publisher at most, and of no use to a test that
// looks for goroutines that were left.
var LostChannel = goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect")
