package gateway

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/fakeprovider"
)

const chat = `{"model":"gpt-5","stream":true,"max_tokens":50,"messages":[{"role":"user","content":"Say something nice about rivers."}]}`

// TestAStreamIsHeldPassedAndCharged is the whole way: key, decision with a hold,
// provider with the account's credential, stream, charge.
func TestAStreamIsHeldPassedAndCharged(t *testing.T) {
	e := startEngine(t, 1000)
	p := fakeprovider.New(fakeprovider.Options{Seed: 1, Credentials: []string{credential}})
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	s := start(t, e.url, Connection{ID: "c", Provider: "kimi", URL: srv.URL + "/v1", Credential: credential})
	req := s.request("POST", "/v1/chat/completions", chat)
	req.Header.Set("X-Api-Key", aliceToken) // which the provider would refuse
	resp := s.do(req)
	body := text(t, resp)
	if resp.StatusCode != 200 || !strings.HasSuffix(body, "data: [DONE]\n\n") || strings.Contains(body, `"usage"`) {
		t.Fatalf("%d:\n%s", resp.StatusCode, body)
	}
	if resp.Header.Get("Quota-Decision-Id") == "" {
		t.Error("the answer has no decision id")
	}
	must(t, s.c.Flush(within(t)))
	stats := s.c.Stats()
	if stats.Calls != 1 || stats.Settled != 1 || stats.Estimated != 0 {
		t.Errorf("calls %d, settled %d, estimated %d", stats.Calls, stats.Settled, stats.Estimated)
	}
	charges := p.Charges()
	if len(charges) != 1 || charges[0].Key != credential || !charges[0].Whole {
		t.Errorf("charged %+v", charges)
	}
}
