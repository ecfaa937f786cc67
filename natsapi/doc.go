// Package natsapi answers quota.decide and quota.route over NATS.
//
// Server is a micro service named quotashare, so that `nats micro ls` finds it,
// with an endpoint on each of the two in a queue group: of any number of deciders
// one answers. It is subscribed from Start to Stop and at no other time: a
// member of a queue group that does not answer would cost its share of all
// questions a time-out, so Start is for a decider that has caught up.
//
// Every question with a reply subject is answered, a bad one with an error in
// the body and in the headers of a micro service error. Two are not, and are
// counted: a question without a reply subject, and one whose reply subject
// begins with "quota.", "quotashare." or "$", because the answer would become an event,
// a hold that another decider tells of, or a command to the broker. The answer has the encoding of its question.
//
// Questions are answered one after the other in the callback of the
// subscription, which is faster than a goroutine for each; the two subjects go
// side by side. What has to wait for a
// sequence waits beside it in a goroutine. A question that reserves is begun in the
// callback, and answered by whoever brings the verdict on its hold: the decider has
// many of them at once. Each has a bound of its own, Config.MaxBehind and
// Config.MaxWaiting, and Config.MaxRouted for routes, so that those who wait for a
// sequence that never comes, or for an account that is full, keep nobody from a
// verdict. Beyond its bound nothing waits and the answer says what it lacks; what it
// reserves goes into the log all the same.
//
// A panic while answering is logged, counted and answered with an error.
package natsapi
