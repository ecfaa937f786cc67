// Package httpapi is the HTTP side of the engine: pools, plans, decisions, event
// ingest, state and health, as docs/format/http.md writes them down for users.
//
// It judges nothing itself. Documents are read by plans, questions and events,
// which NATS uses too, so that both doors have one opinion; what they mean is
// the Engine's business, and a write is answered with the verdict of the fold.
//
// # What a caller may rely on
//
// The handler of New is safe for concurrent use and starts no goroutine that
// outlives its request. It never panics through to the server, and every answer
// of 400 and above has one form, {"error":{"message","type","code"}}, in JSON
// whatever the request's encoding was, except an answer of POST /api/quota/decide
// and of net/http itself, which refuses what is no HTTP before we see it.
//
// # Protection
//
// Browsers are kept out by checking Host (a rebound DNS name is none of ours)
// and Origin (another site's page has another one). Where there are tokens, every
// path but those of health and of the session wants one, in a header or as a cookie,
// and each method of each path says which roles may call it. CheckBind refuses an
// address that others can reach unless there is a token. NewServer bounds headers,
// bodies and time.
package httpapi
