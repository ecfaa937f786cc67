// Package dialect is what a gateway must understand of the APIs it passes on:
// which call a request is, what it asks for and about how large it is, what a
// response says it used, and how each client wants to be told no.
//
// # Calls
//
//	Chat         POST /v1/chat/completions        metered
//	Responses    POST /v1/responses               metered
//	Embeddings   POST /v1/embeddings              metered
//	Messages     POST /v1/messages                metered
//	CountTokens  POST /v1/messages/count_tokens   never blocked, never charged
//	Models       GET  /v1/models, /v1/models/{id} never blocked, never charged
//
// # Requests
//
// Read takes the facts of a request's body; it decides nothing and changes
// nothing. AskUsage has a chat stream state its usage, and Stripper takes out
// of the answer what the client did not ask for, so that it gets the bytes it
// would have got. Bodies are never decoded and encoded again: numbers, order
// and unknown fields are those of the client.
//
// # Responses
//
// Meter reads a body on its way, JSON or server-sent events, in pieces cut
// anywhere, in constant memory. Report says what was stated, and Charge what is
// to be paid:
//
//   - All of the usage was stated: that. OpenAI's total_tokens, at least prompt +
//     completion; Anthropic's input, cache creation, cache read and output together.
//   - The body was cut before, does not state it, or cannot be read: the prompt
//     as stated, else as estimated, and a token for every 4 bytes of text that
//     came, rounded up; an estimate.
//   - Not a byte came, the status is not 2xx, or an error came before any text:
//     nothing.
//
// # Refusals
//
// Refusal.In is a refusal in the words of an API, so that SDKs and command
// lines show its message, wait as long as it says, and do not try again what
// has no room for hours.
//
// The package is pure: no clock, no IO, no floats. No input makes it panic.
// Content encodings, of requests too, are the caller's business: what is
// compressed is not read.
package dialect
