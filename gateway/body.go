package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/quotashare/quotashare/client"
)

// bodyWithin is how long a request's body may take to come. http.Server.ReadTimeout
// would end with it what lasts longer than its request, a stream.
const bodyWithin = 5 * time.Minute

// errBody is a body that does not come, or not as HTTP has it.
var errBody = errors.New("the body of the request cannot be read")

// incoming is the body of a request while it is to come.
type incoming struct {
	io.ReadCloser
	come func() // all of it has
}

// limit bounds the time in which the body has to come.
func (g *Gateway) limit(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(g.bodyWithin)) // no connection of a server's, in tests of others
	r.Body = &incoming{r.Body, func() { _ = connection.SetReadDeadline(time.Time{}) }}
}

// Read implements io.Reader.
func (b *incoming) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		b.come()
	case err != nil: // the bound stays: the server itself reads on, to answer
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
