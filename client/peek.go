package client

import (
	"bytes"
	"io"
	"net/http"

	"github.com/quotashare/quotashare/dialect"
)

// Peek returns what the body of a request says, such as its model, and leaves the body
// as it was for Middleware, which reads it again and answers what cannot be read. It is
// for gateways that choose a connection by the model. At most most bytes are read, 0 =
// DefaultMaxBody; the error is that of reading so many, or of their form.
func Peek(req *http.Request, api dialect.API, most int64) (dialect.Request, error) {
	if req.Body == nil {
		return dialect.Read(api, nil)
	}
	if most == 0 {
		most = DefaultMaxBody
	}
	var read bytes.Buffer
	body, err := readAll(io.TeeReader(req.Body, &read), most)
	req.Body = &peeked{io.MultiReader(&read, req.Body), req.Body}
	if err != nil {
		return dialect.Request{}, err
	}
	plain, err := decode(body, req.Header, most)
	if err != nil {
		return dialect.Request{}, err
	}
	return dialect.Read(api, plain)
}

// peeked is a body of which the beginning was read before. An error of its end is met
// again.
type peeked struct {
	io.Reader
	io.Closer
}
