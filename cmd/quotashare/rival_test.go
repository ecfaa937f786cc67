package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdRival puts somebody else between the commands and the engine, who makes
// their request just before the first one of that method and path gets through:
//
//	rival METHOD PATH THEIR-METHOD THEIR-PATH JSON
func cmdRival(ts *testscript.TestScript, _ bool, args []string) {
	engine := &url.URL{Scheme: "http", Host: ts.Getenv("QUOTA_HTTP_ADDR")}
	proxy := httputil.NewSingleHostReverseProxy(engine)
	var once sync.Once
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == args[0] && r.URL.Path == args[1] {
			once.Do(func() { rivalWrites(engine.String(), args[2:]) })
		}
		proxy.ServeHTTP(w, r)
	}))
	ts.Defer(s.Close)
	ts.Setenv("QUOTA_HTTP_ADDR", s.Listener.Addr().String())
}

// rivalWrites makes the request. If it fails nothing is different, and the
// script finds that out.
func rivalWrites(engine string, args []string) {
	req, err := http.NewRequest(args[0], engine+args[1], strings.NewReader(args[2]))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	if res, err := http.DefaultClient.Do(req); err == nil {
		_ = res.Body.Close() // nothing was read of it
	}
}
