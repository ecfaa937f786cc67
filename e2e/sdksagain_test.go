package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/fakeprovider"
)

// Headers by which a call says how the provider is to behave.
const (
	firstAttempt = "First-Attempt" // the behaviour for it alone
	sendOnly     = "Send-Only"     // parts; the rest is held back
)

func behaveAsTold(r *http.Request) (b fakeprovider.Behaviour) {
	if n, err := strconv.Atoi(r.Header.Get(sendOnly)); err == nil {
		gate := make(chan struct{}, n)
		for range n {
			gate <- struct{}{}
		}
		b.Gate = gate
	}
	if r.Header.Get("X-Stainless-Retry-Count") == "0" { // both SDKs count so
		if first, err := fakeprovider.ParseBehaviour(r.Header.Get(firstAttempt)); err == nil && b.Gate == nil {
			return first
		}
	}
	return b
}

// through makes a call through the gateway, with alice's token.
func (p *passing) through(s *sdks, c sdkCall, meanwhile ...func()) sdkOutcome {
	p.t.Helper()
	c.URL, c.Token = p.gateway.http, p.token
	return s.make(c, meanwhile...)
}

// calls are one of each API, of each kind, by name.
func calls(names ...string) map[string]sdkCall {
	some := map[string]sdkCall{}
	for _, name := range names {
		some[name] = everyday[name]
	}
	return some
}

// What a provider refuses for a moment is tried again by the SDK when the provider
// said, and charged once.
func TestSDKsTryAgainWhatAProviderRefused(t *testing.T) {
	p, s := startPassing(t, 1e6, fakeprovider.Options{Behave: behaveAsTold}), startSDKs(t)
	for _, tt := range []struct {
		first  string
		status int
		wait   float64 // ms; 0 = what the SDK thinks right
	}{
		{"status=429&retry-after=2s", 429, 2000},
		{"status=529&retry-after=1s", 529, 1000},
		{"status=500", 500, 0},
		{"cut=before", 502, 0},
	} {
		for name, c := range calls("chat", "chat, streamed", "response", "response, streamed and gathered", "embeddings", "message", "message, streamed and gathered") {
			c.MaxRetries, c.Headers = 2, map[string]string{firstAttempt: tt.first}
			got := p.through(s, c)
			got.mustTry(t, tt.status, 200)
			if got.Error != nil || len(got.Waits) != 1 || tt.wait > 0 && got.Waits[0] != tt.wait {
				t.Errorf("%s after %s: waited %v, %+v", name, tt.first, got.Waits, got.Error)
			}
			if fresh := p.mustBeCharged(); len(fresh) != 2 || fresh[0].Total != 0 || !fresh[1].Whole {
				t.Errorf("%s after %s is charged %+v", name, tt.first, fresh)
			}
		}
	}
	s.stop()
	p.close()
}

// A block that soon ends is sat out. Here another request holds all there is, and is
// given up meanwhile.
func TestSDKsComeBackWhenThereIsRoom(t *testing.T) {
	p, s := startPassing(t, 1000, fakeprovider.Options{}), startSDKs(t)
	for name, c := range calls("chat", "chat, streamed with usage", "response", "response, streamed", "message", "message, streamed and gathered") {
		connection := map[string]string{"openai": "openai-1", "anthropic": "claude-1"}[c.SDK]
		rest := 1000 - p.spent(connection)
		p.mustReply(hold("bob", connection, "requestId", name, "leaseMs", 50_000, "estimate", object{"tokens": rest}), "allow ok")
		c.MaxRetries = 1
		got := p.through(s, c, func() { p.release("bob", name) })
		got.mustTry(t, 429, 200)
		told := got.Attempts[0].Headers
		if len(got.Waits) != 1 || fmt.Sprint(got.Waits[0]) != told["retry-after-ms"] || got.Waits[0] > 50_000 || told["x-should-retry"] != "" {
			t.Errorf("%s: waited %v, told %v", name, got.Waits, told)
		}
		if fresh := p.mustBeCharged(); len(fresh) != 1 || !fresh[0].Whole {
			t.Errorf("%s is charged %+v", name, fresh)
		}
	}
	s.stop()
	p.close()
}

// spent is what the calls on a connection cost.
func (p *passing) spent(connection string) (sum int64) {
	for _, c := range p.provider.Charges() {
		if connectionOf(c.API) == connection {
			sum += c.Total
		}
	}
	return sum
}

// aboutTheBlock is what people see.
var aboutTheBlock = regexp.MustCompile(`Quota share limit reached for your API key on custom.*600.*500`)

// Who has used up a share for days is told so, with the numbers and the time to come
// back, at once: the SDK makes one attempt, whatever it may.
func TestSDKsAreToldOfABlock(t *testing.T) {
	p, s := startPassing(t, 1000, fakeprovider.Options{}), startSDKs(t)
	for _, c := range []string{"openai-1", "claude-1"} {
		p.consume(used("alice", c, "tokens", "600", time.Now().UnixMilli()))
	}
	for name, c := range calls("chat", "chat, streamed", "response", "response, streamed and gathered", "embeddings", "message", "message, streamed and gathered") {
		for _, retries := range []int{0, 3} {
			c.MaxRetries = retries
			got := p.through(s, c)
			got.mustTry(t, 429)
			got.mustSayBlocked(t, name)
			if len(got.Waits) > 0 {
				t.Errorf("%s: it waits %v ms", name, got.Waits)
			}
		}
	}
	for name, c := range calls("models of OpenAI", "message that counts its tokens") {
		if got := p.through(s, c); got.Error != nil {
			t.Errorf("%s: %+v", name, got.Error)
		}
	}
	s.stop()
	p.gateway.stop()
	if n := p.spent("openai-1") + p.spent("claude-1"); n > 0 || len(p.provider.Charges()) != 2 {
		t.Errorf("the provider was called: %+v", p.provider.Charges())
	}
	for _, c := range []string{"openai-1", "claude-1"} {
		p.mustHold("alice", c, "600+0 of 600+0")
	}
}

func (o *sdkOutcome) mustSayBlocked(t *testing.T, name string) {
	t.Helper()
	e, told := o.Error, o.Attempts[0].Headers
	if e == nil || e.Class != "RateLimitError" || e.Status != 429 {
		t.Fatalf("%s: the error is %+v", name, e)
	}
	if id := told["quota-decision-id"]; !aboutTheBlock.MatchString(e.Message) || id == "" || !strings.Contains(e.Message, id) {
		t.Errorf("%s: decision %q, message %q", name, id, e.Message)
	}
	ms, err := strconv.ParseInt(told["retry-after-ms"], 10, 64)
	if err != nil || ms <= 60_000 || told["retry-after"] != fmt.Sprint((ms+999)/1000) || told["x-should-retry"] != "false" {
		t.Errorf("%s: told %v", name, told)
	}
	want := map[string]string{"chat": "rate_limit_error", "embe": "rate_limit_error", "mess": "rate_limit_error", "resp": "usage_limit_reached"}[name[:4]]
	if e.Type != want {
		t.Errorf("%s: the error is of type %q, want %q", name, e.Type, want)
	}
}

// A stream that its reader leaves is charged what came of it.
func TestSDKsPayForWhatCameOfAStream(t *testing.T) {
	p, s := startPassing(t, 1e6, fakeprovider.Options{Behave: behaveAsTold}), startSDKs(t)
	for name, parts := range map[string]int{
		"chat, streamed": 4, "chat, streamed with usage": 3, "response, streamed": 6,
		"message, streamed": 6, "message, streamed and gathered": 5,
	} {
		c := everyday[name]
		c.Headers, c.StopAfter = map[string]string{sendOnly: strconv.Itoa(parts)}, parts
		if c.SDK == "anthropic" {
			c.StopAfter-- // its SDK keeps pings to itself
		}
		got := p.through(s, c)
		if got.mustTry(t, 200); len(got.Events) != c.StopAfter {
			t.Errorf("%s: %d events came, want %d", name, len(got.Events), c.StopAfter)
		}
		if e := got.Error; e != nil && e.Class != "APIUserAbortError" {
			t.Errorf("%s: %+v", name, e)
		}
		if fresh := p.mustBeCharged(); len(fresh) != 1 || fresh[0].Whole || fresh[0].Text == 0 || fresh[0].Prompt == 0 {
			t.Errorf("%s is charged %+v", name, fresh)
		}
	}
	s.stop()
	p.close()
}

// Who leaves while the provider thinks pays nothing, and holds nothing any more.
func TestSDKsThatLeaveBeforeTheAnswerPayNothing(t *testing.T) {
	reached := make(chan struct{})
	p, s := startPassing(t, 1e6, fakeprovider.Options{Behave: func(r *http.Request) fakeprovider.Behaviour {
		select {
		case reached <- struct{}{}:
		case <-r.Context().Done():
		}
		return fakeprovider.Behaviour{FirstByteDelay: time.Hour}
	}}), startSDKs(t)
	for name, c := range calls("chat", "chat, streamed", "response", "embeddings", "message", "message, streamed and gathered") {
		c.Leave, c.MaxRetries = true, 2
		got := p.through(s, c, func() {
			select {
			case <-reached:
			case <-deadline(t).Done():
				t.Fatalf("%s does not get to the provider", name)
			}
		})
		if got.mustTry(t); got.Error == nil || got.Error.Class != "APIUserAbortError" {
			t.Errorf("%s: %+v", name, got.Error)
		}
		if fresh := p.mustBeCharged(); len(fresh) != 1 || fresh[0].Total != 0 {
			t.Errorf("%s is charged %+v", name, fresh)
		}
	}
	s.stop()
	p.close()
}

// A token that is nobody's opens nothing; the provider's own does not either.
func TestSDKsAreToldOfAWrongToken(t *testing.T) {
	p, s := startPassing(t, 1e6, fakeprovider.Options{}), startSDKs(t)
	for _, token := range []string{"qs-guessed", ownCredential} {
		for name, c := range calls("chat", "response, streamed", "embeddings", "models of OpenAI", "message", "message, with a bearer token", "message that counts its tokens", "models of Anthropic") {
			c.URL, c.Token, c.MaxRetries = p.gateway.http, token, 2
			got := s.make(c)
			got.mustTry(t, 401)
			e := got.Error
			if e == nil || e.Class != "AuthenticationError" || !strings.Contains(e.Message, "quotashare keys issue") || strings.Contains(e.Message, token) {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
	if diff := cmp.Diff([]fakeprovider.Charge{}, p.provider.Charges()); diff != "" {
		t.Errorf("the provider was called: %s", diff)
	}
	s.stop()
	p.close()
}
