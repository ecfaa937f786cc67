package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/quotashare/quotashare/wire"
)

// Bounds of one request.
const (
	maxBody = 8 << 20 // bytes of a body that is read whole
	maxLine = 1 << 20 // bytes of one NDJSON line

	// maxTrusted is how many announced bytes get memory before they came.
	maxTrusted = 64 << 10
)

const tooLargeText = "the body has more than 8 MiB: split it, or stream events as application/x-ndjson"

// readBody reads a bounded body whole. It looks at the announced length first,
// so that a client that waits for "100 Continue" never sends what is too much.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, tooLarge(tooLargeText)
	}
	body := http.MaxBytesReader(w, r.Body, maxBody)
	data := make([]byte, 0, min(max(512, r.ContentLength+1), maxTrusted))
	for {
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, readFault(err)
		case len(data) == cap(data):
			data = slices.Grow(data, len(data))
		}
	}
}

// readFault says what went wrong while a body was read.
func readFault(err error) error {
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		return tooLarge(tooLargeText)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &fault{
			status: http.StatusRequestTimeout, kind: "invalid_request_error", code: "timeout",
			message: "the body came too slowly: send it faster",
		}
	}
	return invalid("the body ended early: " + err.Error())
}

// media is what a request says its body is.
type media uint8

const (
	mediaUnsaid media = iota // the first byte tells
	mediaJSON
	mediaMsgpack
	mediaNDJSON
	mediaCloudEvent
	mediaCloudEvents // a batch
)

var mediaTypes = map[string]media{
	"application/json":                   mediaJSON,
	"application/msgpack":                mediaMsgpack,
	"application/x-msgpack":              mediaMsgpack,
	"application/vnd.msgpack":            mediaMsgpack,
	"application/x-ndjson":               mediaNDJSON,
	"application/ndjson":                 mediaNDJSON,
	"application/cloudevents+json":       mediaCloudEvent,
	"application/cloudevents-batch+json": mediaCloudEvents,
}

// mediaOf reads the content headers of a request. What is not among allowed is
// 415 rather than a guess: curl's default, a form, would otherwise be answered
// with a puzzling error about JSON. Unsaid is always allowed.
func mediaOf(r *http.Request, allowed ...media) (media, error) {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return 0, unsupported("content-encoding: " + quote(enc) + " is not read here: send the body as it is")
	}
	said := r.Header.Get("Content-Type")
	if said == "" {
		return mediaUnsaid, nil
	}
	name, params, err := mime.ParseMediaType(said)
	if err != nil {
		return 0, unsupported("content-type: " + quote(said) + " is no media type: use application/json")
	}
	if cs := params["charset"]; cs != "" && !strings.EqualFold(cs, "utf-8") {
		return 0, unsupported("content-type: charset " + quote(cs) + " is not read here: use utf-8")
	}
	m, ok := mediaTypes[name]
	if !ok || !slices.Contains(allowed, m) {
		return 0, unsupported("content-type: " + quote(name) + " is not read here: use application/json")
	}
	return m, nil
}

func unsupported(message string) *fault {
	return &fault{status: http.StatusUnsupportedMediaType, kind: "invalid_request_error", code: "unsupported-media-type", message: message}
}

// encoding tells JSON from msgpack.
func (m media) encoding(data []byte) wire.Encoding {
	switch {
	case m == mediaMsgpack:
		return wire.Msgpack
	case m == mediaUnsaid && len(data) > 0:
		return wire.Detect("", data[0])
	}
	return wire.JSON
}

// readJSON reads a bounded JSON document.
func readJSON(w http.ResponseWriter, r *http.Request) (wire.Value, error) {
	if _, err := mediaOf(r, mediaJSON); err != nil {
		return wire.Value{}, err
	}
	data, err := readBody(w, r)
	if err != nil {
		return wire.Value{}, err
	}
	v, err := wire.ParseJSON(data)
	if err != nil {
		return wire.Value{}, invalid("the body is no JSON document: " + err.Error())
	}
	return v, nil
}
