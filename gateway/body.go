package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"

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

// drain takes a body that is refused. A client that was still sending it would else
// find its connection reset, and not the answer.
func drain(r *http.Request) {
	if r.Body != nil {
		_, _ = io.CopyN(io.Discard, r.Body, client.DefaultMaxBody)
	}
}
