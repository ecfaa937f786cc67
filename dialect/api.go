package dialect

import "strings"

// API is a call of a provider's API that a gateway passes on.
type API uint8

// The calls that are known.
const (
	Chat        API = iota + 1 // POST /v1/chat/completions
	Responses                  // POST /v1/responses
	Embeddings                 // POST /v1/embeddings
	Messages                   // POST /v1/messages
	CountTokens                // POST /v1/messages/count_tokens
	Models                     // GET /v1/models and /v1/models/{id}
)

var paths = [...]string{
	Chat: "/v1/chat/completions", Responses: "/v1/responses", Embeddings: "/v1/embeddings",
	Messages: "/v1/messages", CountTokens: "/v1/messages/count_tokens", Models: "/v1/models",
}

// Of returns the call that a method and a path, without its query, are. Calls
// that are near one, such as GET /v1/responses/{id}, are not known: they
// generate nothing, and what is done with them is the gateway's policy.
//
// Anthropic and OpenAI share /v1/models; its dialect is told by the headers of
// the request, and does not matter here.
func Of(method, path string) (api API, ok bool) {
	switch method {
	case "GET", "HEAD":
		if path == paths[Models] || strings.HasPrefix(path, paths[Models]+"/") {
			return Models, true
		}
	case "POST":
		for a := Chat; a < Models; a++ {
			if path == paths[a] {
				return a, true
			}
		}
	}
	return 0, false
}

// Metered reports whether the call uses tokens: it is asked for before, and
// charged after. The others are neither.
func (a API) Metered() bool { return a >= Chat && a <= Messages }

// String returns the path of the call, and "unknown" for none.
func (a API) String() string {
	if a < Chat || a > Models {
		return "unknown"
	}
	return paths[a]
}

// anthropic reports whether the call is one of Anthropic's own.
func (a API) anthropic() bool { return a == Messages || a == CountTokens }
