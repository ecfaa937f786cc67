package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/quotashare/quotashare/client"
)

// errBody is a body that does not come, or not as HTTP has it.
var errBody = errors.New("the body of the request cannot be read")

// incoming is the body of a request. Its errors are told from those of the way to a
// provider, which come out of the same call.
type incoming struct{ io.ReadCloser }

// watch has the body's errors marked.
func watch(r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = incoming{r.Body}
	}
}

// Read implements io.Reader.
func (b incoming) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", errBody, err)
	}
	return n, err
}

// restTimeout is how long the rest of a body is taken that is refused.
const restTimeout = 5 * time.Second

// reject refuses a request whose body may not be there yet, and closes its connection:
// nobody waits for what is not wanted. For a while the rest is taken nevertheless, or a
// client that sends all of it before it reads would find its connection reset, and not
// the answer. One that asks before it sends is answered, and sends nothing.
func (g *Gateway) reject(w http.ResponseWriter, r *http.Request, status int, message string) {
	if r.ContentLength == 0 {
		refuse(w, r, status, message)
		return
	}
	asks := r.Header.Get("Expect") != ""
	w.Header().Set("Connection", "close")
	refuse(w, r, status, message)
	rc := http.NewResponseController(w)
	_ = rc.Flush() // a client that is gone does not read it
	if asks {
		_ = rc.SetReadDeadline(time.Now()) // the server would take the rest, too
		return
	}
	_ = rc.SetReadDeadline(time.Now().Add(g.restWithin))
	_, _ = io.CopyN(io.Discard, r.Body, client.DefaultMaxBody)
}
