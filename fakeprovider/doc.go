// Package fakeprovider answers as OpenAI and Anthropic do, and keeps a ledger of
// what it charged. It generates nothing: it is what a gateway is tried against,
// and what the demo has for a provider.
//
// # Calls
//
// Chat completions, responses, embeddings, messages, count_tokens and models,
// below /v1: JSON and server-sent events with the names, the order and the
// usage of the originals, their errors, request ids and rate-limit headers. What
// it does not do: tools, several choices (n), pictures, state between requests.
//
// It states 7 tokens more of prompt than dialect.Read estimates, as providers
// count more than text; so who mixes up the two is found.
//
// # Behaviour
//
// Every request may be answered in a way of its own: refused, delayed, held
// event by event, cut. Options.Behave says how, or the header BehaviourHeader,
// which wins. A cut ends the connection; nobody can take it for an end.
//
// An answer is sent in parts, which cuts and gates count: of a stream its
// events, of JSON what comes before the text, the text (of embeddings: the
// vectors), what follows, the usage with the prompt, the rest.
//
// # The ledger
//
// Charges has one line for every request to a known call, refused ones and
// those that cost nothing too:
//
//   - All of the answer was sent, or the part that states all of the usage: what
//     is stated. A chat stream that was not asked for its usage is charged what it
//     would have stated: who does not ask does not know what it cost.
//   - Less was sent: the prompt when a part stated it, else as dialect.Read
//     estimates it, and a token for every 4 bytes of text in whole parts, rounded
//     up.
//   - The status is not 2xx, no byte of a body was sent, or an error came before
//     any text and stated prompt: nothing.
//
// The same rule as dialect.Meter has, worked out from what is sent and not from
// reading it. A line is written before the part it is about, so who has read an
// answer finds it charged. What a client has got that goes away by itself, no
// provider knows: where that must be exact, a Gate holds the rest back.
//
// # Credentials
//
// Every credential of a request, x-api-key and Authorization, must be one of
// Options.Credentials: a client's own token that was passed on is a 401, and
// stands in the ledger.
//
// A Provider may be used by many requests at once.
package fakeprovider
