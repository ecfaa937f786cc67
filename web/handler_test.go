package web

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

// site is a small dashboard: one page, one script with a compressed form, one
// picture that has no hash in its name, and what is not for browsers.
func site() fstest.MapFS {
	return fstest.MapFS{
		"index.html":             {Data: []byte("<!doctype html>page")},
		"index.html.gz":          {Data: []byte("packed page")},
		"assets/main-1a2b.js":    {Data: []byte("script")},
		"assets/look-3c4d.css":   {Data: []byte("look")},
		"icon.svg":               {Data: []byte("<svg/>")},
		".gitignore":             {Data: []byte("*")},
		"assets/main-1a2b.js.gz": {Data: []byte("packed script")},
	}
}

func ask(t *testing.T, built fs.FS, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	h, err := New(built)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestFiles(t *testing.T) {
	for _, c := range []struct {
		name, method, path, encodings string
		status                        int
		body, kind, cache, encoding   string
	}{
		{"page", "GET", "/", "", 200, "<!doctype html>page", "text/html; charset=utf-8", "no-cache", ""},
		{"page by its name", "GET", "/index.html", "", 200, "<!doctype html>page", "text/html; charset=utf-8", "no-cache", ""},
		{"page packed", "GET", "/", "br, gzip", 200, "packed page", "text/html; charset=utf-8", "no-cache", "gzip"},
		{"script", "GET", "/assets/main-1a2b.js", "br", 200, "script", "text/javascript; charset=utf-8", forever, ""},
		{"script packed", "GET", "/assets/main-1a2b.js", "GZIP;q=0.5", 200, "packed script", "text/javascript; charset=utf-8", forever, "gzip"},
		{"gzip refused", "GET", "/assets/main-1a2b.js", "gzip;q=0.0, br", 200, "script", "text/javascript; charset=utf-8", forever, ""},
		{"no packed form", "GET", "/assets/look-3c4d.css", "gzip", 200, "look", "text/css; charset=utf-8", forever, ""},
		{"no hash in the name", "GET", "/icon.svg", "", 200, "<svg/>", "image/svg+xml", "no-cache", ""},
		{"unknown", "GET", "/assets/main-9z9z.js", "", 404, "there is no such page\n", "text/plain; charset=utf-8", "", ""},
		{"packed by its name", "GET", "/index.html.gz", "", 404, "there is no such page\n", "text/plain; charset=utf-8", "", ""},
		{"hidden", "GET", "/.gitignore", "", 404, "there is no such page\n", "text/plain; charset=utf-8", "", ""},
		{"folder", "GET", "/assets/", "", 404, "there is no such page\n", "text/plain; charset=utf-8", "", ""},
		{"way out", "GET", "/../embed.go", "", 404, "there is no such page\n", "text/plain; charset=utf-8", "", ""},
		{"another method", "POST", "/", "", 405, "pages are read with GET\n", "text/plain; charset=utf-8", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := ask(t, site(), c.method, c.path, "Accept-Encoding", c.encodings)
			got := []string{w.Body.String(), w.Header().Get("Content-Type"), w.Header().Get("Cache-Control"), w.Header().Get("Content-Encoding")}
			want := []string{c.body, c.kind, c.cache, c.encoding}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("got %q, want %q", got[i], want[i])
				}
			}
			if w.Code != c.status {
				t.Errorf("status %d, want %d", w.Code, c.status)
			}
		})
	}
}

// Every answer is under the policy, errors too: a page of an error is a page.
func TestProtection(t *testing.T) {
	for _, built := range []fs.FS{site(), fstest.MapFS{}} {
		for _, path := range []string{"/", "/nowhere"} {
			h := ask(t, built, "GET", path).Header()
			csp := h.Get("Content-Security-Policy")
			for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
				if !strings.Contains(csp, part) {
					t.Errorf("%s: policy %q lacks %q", path, csp, part)
				}
			}
			if strings.Contains(csp, "unsafe") || strings.Contains(csp, "http") || strings.Contains(csp, "*") {
				t.Errorf("%s: policy %q lets others in", path, csp)
			}
			if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("%s: headers %v", path, h)
			}
		}
	}
}

func TestTags(t *testing.T) {
	plain := ask(t, site(), "GET", "/").Header().Get("ETag")
	packed := ask(t, site(), "GET", "/", "Accept-Encoding", "gzip").Header().Get("ETag")
	if plain == "" || plain == packed {
		t.Fatalf("tags %q and %q: two forms have two tags", plain, packed)
	}
	for _, c := range []struct {
		name   string
		header []string
		status int
	}{
		{"the same", []string{"If-None-Match", plain}, 304},
		{"weak", []string{"If-None-Match", "W/" + plain}, 304},
		{"in a list", []string{"If-None-Match", `"x", ` + plain}, 304},
		{"any", []string{"If-None-Match", "*"}, 304},
		{"another", []string{"If-None-Match", `"x"`}, 200},
		{"of the other form", []string{"If-None-Match", packed}, 200},
		{"the other form", []string{"If-None-Match", packed, "Accept-Encoding", "gzip"}, 304},
	} {
		w := ask(t, site(), "GET", "/", c.header...)
		if w.Code != c.status || (c.status == 304) != (w.Body.Len() == 0) {
			t.Errorf("%s: status %d with %d bytes, want %d", c.name, w.Code, w.Body.Len(), c.status)
		}
		if w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: Vary is %q", c.name, w.Header().Get("Vary"))
		}
	}
	changed := site()
	changed["index.html"] = &fstest.MapFile{Data: []byte("another page")}
	if got := ask(t, changed, "GET", "/").Header().Get("ETag"); got == plain {
		t.Errorf("two pages have the tag %q", got)
	}
}

// HEAD has the headers of GET. Only a real server leaves the body out; and of a
// body that is long it would not know the length by itself.
func TestHead(t *testing.T) {
	long := site()
	long["index.html"] = &fstest.MapFile{Data: make([]byte, 100_000)}
	for _, built := range []fs.FS{site(), long, fstest.MapFS{}} {
		h, err := New(built)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(h)
		defer server.Close()
		got, err := http.Head(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		want := ask(t, built, "GET", "/")
		if got.StatusCode != 200 || int(got.ContentLength) != want.Body.Len() || got.Header.Get("ETag") != want.Header().Get("ETag") {
			t.Errorf("status %d, length %d, headers %v", got.StatusCode, got.ContentLength, got.Header)
		}
	}
}

func TestUnbuilt(t *testing.T) {
	empty := fstest.MapFS{".gitignore": {Data: []byte("*")}}
	w := ask(t, empty, "GET", "/")
	if w.Code != 200 || !strings.Contains(w.Body.String(), "make web build") || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, %v: %s", w.Code, w.Header(), w.Body)
	}
	if w := ask(t, empty, "GET", "/assets/main-1a2b.js"); w.Code != 404 {
		t.Errorf("an asset that is not there: %d", w.Code)
	}
	if w := ask(t, empty, "DELETE", "/"); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("another method: %d, %v", w.Code, w.Header())
	}
}

// What was built, or was not, must be servable whatever it is.
func TestBuilt(t *testing.T) {
	w := ask(t, Built(), "GET", "/")
	if w.Code != 200 || !strings.HasPrefix(w.Body.String(), "<!doctype html>") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// Whoever opens a page waits for all of it. Chunks of code that are loaded later
// would count too, and none is worth that yet.
const mostPacked = 150 << 10 // bytes

func TestSize(t *testing.T) {
	built, err := fs.Glob(Built(), "assets/*.gz")
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, name := range built {
		f, err := fs.Stat(Built(), name)
		if err != nil {
			t.Fatal(err)
		}
		size += int(f.Size())
	}
	if size > mostPacked {
		t.Errorf("the dashboard has %d bytes compressed, more than %d", size, mostPacked)
	}
}

func TestUnknownKind(t *testing.T) {
	built := site()
	built["assets/film.mp4"] = &fstest.MapFile{}
	if _, err := New(built); !errors.Is(err, errKind) || !strings.Contains(err.Error(), "assets/film.mp4") {
		t.Errorf("error %v", err)
	}
}
