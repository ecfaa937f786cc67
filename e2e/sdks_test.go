package e2e

import (
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/fakeprovider"
)

var hello = []object{{"role": "user", "content": "What is a fair share?"}}

// plus returns the parameters of a call, and some more.
func plus(base object, more ...object) object {
	all := maps.Clone(base)
	for _, o := range more {
		maps.Copy(all, o)
	}
	return all
}

var (
	chat     = object{"model": "gpt-5.4", "messages": hello, "max_completion_tokens": 50}
	response = object{"model": "gpt-5.4", "input": "What is a fair share?", "max_output_tokens": 50}
	message  = object{"model": "claude-sonnet-4-5", "messages": hello, "max_tokens": 50}
	counted  = object{"model": "claude-sonnet-4-5", "messages": hello}
	vectors  = object{"model": "text-embedding-3-small", "input": []string{"fair", "share"}}

	streamed  = object{"stream": true}
	withUsage = object{"stream_options": object{"include_usage": true}}
)

// behaving has the provider answer in a way of its own.
func behaving(how string) map[string]string {
	return map[string]string{fakeprovider.BehaviourHeader: how}
}

// everyday is what the SDKs are used for.
var everyday = map[string]sdkCall{
	"chat":                        {SDK: "openai", Method: "chat.completions.create", Params: chat},
	"chat, streamed":              {SDK: "openai", Method: "chat.completions.create", Params: plus(chat, streamed)},
	"chat, streamed with usage":   {SDK: "openai", Method: "chat.completions.create", Params: plus(chat, streamed, withUsage)},
	"chat, streamed and gathered": {SDK: "openai", Method: "chat.completions.stream", Params: chat},
	"chat at its limit":           {SDK: "openai", Method: "chat.completions.create", Params: chat, Headers: behaving("completion=1000")},
	"chat with a cached prompt":   {SDK: "openai", Method: "chat.completions.create", Params: chat, Headers: behaving("prompt=900&cached=800&reasoning=3")},

	"response":                        {SDK: "openai", Method: "responses.create", Params: response},
	"response, streamed":              {SDK: "openai", Method: "responses.create", Params: plus(response, streamed)},
	"response, streamed and gathered": {SDK: "openai", Method: "responses.stream", Params: response},
	"response that is incomplete":     {SDK: "openai", Method: "responses.stream", Params: response, Headers: behaving("completion=1000")},

	"embeddings":             {SDK: "openai", Method: "embeddings.create", Params: vectors},
	"embeddings, as numbers": {SDK: "openai", Method: "embeddings.create", Params: plus(vectors, object{"encoding_format": "float"})},
	"models of OpenAI":       {SDK: "openai", Method: "models.list"},
	"a model of OpenAI":      {SDK: "openai", Method: "models.retrieve", Params: "gpt-5.4"},

	"message":                           {SDK: "anthropic", Method: "messages.create", Params: message},
	"message, with a bearer token":      {SDK: "anthropic", Method: "messages.create", Params: message, Bearer: true},
	"message, streamed":                 {SDK: "anthropic", Method: "messages.create", Params: plus(message, streamed)},
	"message, streamed and gathered":    {SDK: "anthropic", Method: "messages.stream", Params: message},
	"message with a cached prompt":      {SDK: "anthropic", Method: "messages.stream", Params: message, Headers: behaving("prompt=900&cached=800")},
	"message that counts its tokens":    {SDK: "anthropic", Method: "messages.countTokens", Params: counted},
	"models of Anthropic":               {SDK: "anthropic", Method: "models.list"},
	"a model of Anthropic":              {SDK: "anthropic", Method: "models.retrieve", Params: "claude-sonnet-4-5"},
	"a model that is not there":         {SDK: "anthropic", Method: "models.retrieve", Params: "claude-0"},
	"message that the provider refuses": {SDK: "anthropic", Method: "messages.create", Params: counted},
	"chat that the provider refuses":    {SDK: "openai", Method: "chat.completions.create", Params: object{"messages": hello}},

	"chat at a provider's limit":     {SDK: "openai", Method: "chat.completions.create", Params: chat, Headers: behaving("status=429&retry-after=30s")},
	"response at a provider's limit": {SDK: "openai", Method: "responses.create", Params: response, Headers: behaving("status=429&retry-after=30s")},
	"message at a provider's limit":  {SDK: "anthropic", Method: "messages.create", Params: message, Headers: behaving("status=429&retry-after=30s")},
	"message at an overloaded one":   {SDK: "anthropic", Method: "messages.stream", Params: message, Headers: behaving("status=529&retry-after=30s")},

	"chat that fails":     {SDK: "openai", Method: "chat.completions.create", Params: plus(chat, streamed), Headers: behaving("cut=error&cut-after=4")},
	"response that fails": {SDK: "openai", Method: "responses.stream", Params: response, Headers: behaving("cut=error&cut-after=7")},
	"message that fails":  {SDK: "anthropic", Method: "messages.stream", Params: message, Headers: behaving("cut=error&cut-after=6")},
	"chat that is cut":    {SDK: "openai", Method: "chat.completions.create", Params: plus(chat, streamed), Headers: behaving("cut=between&cut-after=4")},
	"response that is cut": {
		SDK: "openai", Method: "responses.create", Params: plus(response, streamed), Headers: behaving("cut=inside&cut-after=7"),
	},
	"message that is cut": {SDK: "anthropic", Method: "messages.stream", Params: message, Headers: behaving("cut=inside&cut-after=6")},
	"message that is cut, in one piece": {
		SDK: "anthropic", Method: "messages.create", Params: message, Headers: behaving("cut=between&cut-after=2"),
	},
}

// Whoever calls through the gateway gets what the provider would have answered, the
// numbers and the errors too; and is charged what the provider charges.
func TestSDKsSeeWhatTheProviderAnswers(t *testing.T) {
	now := time.Now()
	o := fakeprovider.Options{
		Seed: 1, Now: func() time.Time { return now }, Models: []string{"gpt-5.4", "claude-sonnet-4-5"},
		Limits: fakeprovider.Limits{RequestsPerMinute: 1000, TokensPerMinute: 1e6, TokensPer5h: 1e7, TokensPerWeek: 1e8},
	}
	alone := httptest.NewServer(fakeprovider.New(o))
	defer alone.Close()
	p, s := startPassing(t, 1e6, o), startSDKs(t)
	for name, c := range everyday {
		c.URL, c.Token = alone.URL, ownCredential
		want := s.make(c)
		c.URL, c.Token = p.gateway.http, p.token
		got := s.make(c)
		metered := len(p.mustBeCharged()) == 1 && p.provider.Charges()[p.seen-1].API.Metered()
		if decision := got.Attempts[0].Headers["quota-decision-id"]; (decision != "") != metered {
			t.Errorf("%s: the decision is said to be %q", name, decision)
		}
		if metered && got.Attempts[0].Status == 200 && !strings.Contains(text(t, got.Attempts[0].Headers), "ratelimit-") {
			t.Errorf("%s: the provider's limits do not come through: %v", name, got.Attempts[0].Headers)
		}
		if diff := cmp.Diff(want.passed(), got.passed()); diff != "" {
			t.Errorf("%s (- from the provider, + through the gateway):\n%s", name, diff)
		}
	}
	s.stop()
	p.close()
}

// passed leaves out of the headers what is the matter of each connection, and what
// the gateway adds.
func (o sdkOutcome) passed() sdkOutcome {
	for _, a := range o.Attempts {
		maps.DeleteFunc(a.Headers, func(name, _ string) bool {
			return name == "date" || name == "content-length" || name == "transfer-encoding" || strings.HasPrefix(name, "quota-")
		})
	}
	return o
}
