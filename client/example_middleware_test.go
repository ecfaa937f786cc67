package client_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/quotashare/quotashare/client"
)

// A gateway in ten lines: a reverse proxy whose calls are asked for and charged. Of a
// plan of 1,000 tokens a month, the first call uses 990; the second one, which may use
// 100 more, is not made.
func ExampleMiddleware() {
	engine, stop := run()
	defer stop()
	upstream := provider()
	defer upstream.Close()

	c, err := client.New(client.Options{URL: engine, Timeout: 5 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	check(err)
	defer c.Close(context.Background())
	to, err := url.Parse(upstream.URL)
	check(err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: &client.Middleware{Client: c, Call: func(r *http.Request) client.Call {
			return client.Call{APIKeyID: "alice", ConnectionID: "kimi-1", Provider: "kimi"}
		}},
		FlushInterval: -1,
	})
	defer proxy.Close()

	for range 2 {
		resp, err := http.Post(proxy.URL+"/v1/chat/completions", "application/json",
			strings.NewReader(`{"model": "kimi-k2", "max_tokens": 100, "messages": [{"role": "user", "content": "Hello!"}]}`))
		check(err)
		body, err := io.ReadAll(resp.Body)
		check(err)
		check(resp.Body.Close())
		fmt.Println(resp.StatusCode, string(body[:40]))
		check(c.Flush(context.Background()))
	}
	s := c.Stats()
	fmt.Println("settled:", s.Settled, "blocked:", s.Blocked)
	// Output:
	// 200 {"choices":[{"message":{"content":"Hello
	// 429 {"error":{"message":"Provider kimi quota
	// settled: 1 blocked: 1
}

// provider answers everything in the same way.
func provider() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.WriteString(w, `{"choices":[{"message":{"content":"Hello!"}}],"usage":{"prompt_tokens":890,"completion_tokens":100,"total_tokens":990}}`)
		if err != nil {
			log.Print(err)
		}
	}))
}
