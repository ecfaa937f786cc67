package demo

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quotashare/quotashare/dialect"
	"github.com/quotashare/quotashare/fakeprovider"
)

// A caller takes an answer or a 429, and says of everything else what it was.
func TestCaller(t *testing.T) {
	for _, tt := range []struct {
		behaviour string
		want      string // of the error, for all; "" = none
	}{
		{"completion=20", ""},
		{"status=429&retry-after=30s", ""},
		{"status=529", "529"},
		{"status=401", "401"},
		{"cut=before", "EOF"},
		{"cut=between&cut-after=2", "EOF"},
		{"cut=inside&cut-after=3", "EOF"},
	} {
		p := fakeprovider.New(fakeprovider.Options{Credentials: []string{"sk-1"}, Behave: func(*http.Request) fakeprovider.Behaviour {
			b, err := fakeprovider.ParseBehaviour(tt.behaviour)
			mustToo(t, err)
			return b
		}})
		srv := httptest.NewServer(p)
		for _, h := range []habit{
			{key: "a", api: dialect.Chat},
			{key: "b", api: dialect.Chat, stream: true},
			{key: "c", api: dialect.Messages},
			{key: "d", api: dialect.Messages, stream: true},
		} {
			c := &caller{habit: &h, url: srv.URL, token: "sk-1", http: srv.Client()}
			err := c.ask(within(t), &request{prompt: "how many?", answer: 20})
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %s, stream %t: the error is %v, want %q", tt.behaviour, h.api, h.stream, err, tt.want)
			}
		}
		srv.Close()
	}
}

// An answer that ends well and is not whole is none, as for an SDK.
func TestCallerMissesTheEnd(t *testing.T) {
	for _, tt := range []struct {
		habit habit
		body  string
		want  bool
	}{
		{habit{api: dialect.Chat}, `{"id":"chatcmpl-1"}`, true},
		{habit{api: dialect.Chat}, `{}`, false},
		{habit{api: dialect.Chat, stream: true}, "data: {}\n\ndata: [DONE]\n\n", true},
		{habit{api: dialect.Chat, stream: true}, "data: {}\n\n", false},
		{habit{api: dialect.Messages, stream: true}, "event: message_start\n\nevent: message_stop\ndata: {}\n\n", true},
		{habit{api: dialect.Messages, stream: true}, "event: message_start\n\ndata: [DONE]\n\n", false},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write([]byte(tt.body))
			mustToo(t, err)
		}))
		c := &caller{habit: &tt.habit, url: srv.URL, http: srv.Client()}
		if err := c.ask(within(t), &request{}); (err == nil) != tt.want {
			t.Errorf("%s, stream %t, %q: the error is %v", tt.habit.api, tt.habit.stream, tt.body, err)
		}
		srv.Close()
	}
}
