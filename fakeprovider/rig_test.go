package fakeprovider

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/dialect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is when the clock of the tests stands.
var start = time.Date(2026, 9, 22, 9, 30, 0, 0, time.UTC)

// rig is a provider that listens, and a client of it.
type rig struct {
	*Provider
	server *httptest.Server
}

func newRig(t testing.TB, o Options) *rig {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return start }
	}
	p := New(o)
	r := &rig{p, httptest.NewServer(p)}
	t.Cleanup(r.server.Close)
	return r
}

// answer is what a client has got.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // that ended it, nil at its end
}

// ask sends a request, its header as lines, and reads all that is answered.
func (r *rig) ask(t testing.TB, api dialect.API, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequest("POST", r.server.URL+api.String(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if api == dialect.Models {
		req.Method = "GET"
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	return r.do(req)
}

func (r *rig) do(req *http.Request) answer {
	resp, err := r.server.Client().Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = io.Copy(&b, resp.Body)
	return answer{resp.StatusCode, resp.Header, b.Bytes(), err}
}

// post is a request for a handler that does not listen.
func post(path, body string) *http.Request {
	return httptest.NewRequest("POST", path, strings.NewReader(body))
}

// last returns the newest line of the ledger, of a handler that has ended.
func (r *rig) last(t testing.TB) Charge {
	t.Helper()
	all := r.Charges()
	if len(all) == 0 {
		t.Fatal("the ledger is empty")
	}
	return all[len(all)-1]
}

// metered is what a client makes of an answer.
func metered(api dialect.API, request string, a answer) (total int64, estimated bool) {
	asked, err := dialect.Read(api, []byte(request))
	if err != nil {
		panic(err)
	}
	m := dialect.NewMeter(api, a.status)
	_, _ = m.Write(a.body)
	_ = m.Close()
	return m.Report().Charge(asked.PromptTokens)
}

// requests ask for an answer of every kind.
var requests = []struct {
	name string
	api  dialect.API
	body string
}{
	{"chat", dialect.Chat, `{"model":"gpt-5.4","messages":[{"role":"user","content":"How are shares kept?"}]}`},
	{"chat stream", dialect.Chat, `{"model":"gpt-5.4","messages":[{"role":"user","content":"How?"}],"stream":true,"stream_options":{"include_usage":true}}`},
	{"responses", dialect.Responses, `{"model":"gpt-5.4","input":"How are shares kept?"}`},
	{"responses stream", dialect.Responses, `{"model":"gpt-5.4","input":"How are shares kept?","stream":true}`},
	{"embeddings", dialect.Embeddings, `{"model":"text-embedding-3-small","input":["one","two"]}`},
	{"messages", dialect.Messages, `{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[{"role":"user","content":"How?"}]}`},
	{"messages stream", dialect.Messages, `{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[{"role":"user","content":"How?"}],"stream":true}`},
}
