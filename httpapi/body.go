package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quotashare/quotashare/events"
	"github.com/quotashare/quotashare/wire"
)

// Bounds of one request.
const (
	maxBody = 8 << 20 // bytes of a body that is read whole
	maxLine = 1 << 20 // bytes of one NDJSON line

	// maxTrusted is how many announced bytes get memory before they came.
	maxTrusted = 64 << 10

	maxDrain     = 2 * maxBody
	drainTimeout = 5 * time.Second
)

// readBody reads a bounded body whole. It looks at the announced length first,
// so that a client that waits for "100 Continue" never sends what is too much.
// The room is taken as the body comes: what is announced and does not come keeps
// nobody out.
func readBody(r *http.Request, t *taken) ([]byte, error) {
	most := t.room.body
	if r.ContentLength > int64(most) {
		return nil, bodyTooLarge(most)
	}
	first := int(min(max(512, r.ContentLength+1), maxTrusted))
	if !t.fits(int(r.ContentLength)) || !t.more(first) {
		return nil, noRoom()
	}
	body, err := bodyOf(r, int64(most))
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, first)
	for {
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case len(data) > most:
			return nil, bodyTooLarge(most)
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, readFault(err)
		case len(data) < cap(data):
		case !t.more(len(data)):
			return nil, noRoom()
		default:
			data = slices.Grow(data, min(len(data), most+1-len(data)))
		}
	}
}

// bodyOf returns a request's body as it was before it was encoded. most bounds how
// much is read of it, 0 = it has no end.
func bodyOf(r *http.Request, most int64) (io.Reader, error) {
	zipped, err := isZipped(r)
	switch {
	case err != nil:
		return nil, err
	case zipped:
		return &unzipped{src: r.Body, most: most}, nil
	}
	return r.Body, nil
}

func bodyTooLarge(most int) *fault {
	if most < maxBody {
		return tooLarge(fmt.Sprintf("the body has more than %d KiB, and this takes no more", most>>10))
	}
	return tooLarge("the body has more than 8 MiB: split it, or stream events as application/x-ndjson")
}

// readFault says what went wrong while a body was read.
func readFault(err error) *fault {
	var own *fault
	if errors.As(err, &own) {
		return own
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &fault{
			status: http.StatusRequestTimeout, kind: "invalid_request_error", code: "timeout",
			message: "the body came too slowly, or not at all: send all of it",
		}
	}
	return invalid("the body ended early: " + err.Error())
}

// drain reads what is left of a refused body, up to a bound of size and time. A
// client that still sends would otherwise see a broken connection and never the
// answer that says why.
func drain(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Header.Get("Expect") != "" {
		return // nothing is coming
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTimeout))
	io.CopyN(io.Discard, r.Body, maxDrain) // whatever it ends with, the answer is next
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

// mediaTypes has the name to use first for each.
var mediaTypes = []struct {
	name string
	is   media
}{
	{"application/json", mediaJSON},
	{"application/msgpack", mediaMsgpack},
	{"application/x-msgpack", mediaMsgpack},
	{"application/vnd.msgpack", mediaMsgpack},
	{"application/x-ndjson", mediaNDJSON},
	{"application/ndjson", mediaNDJSON},
	{"application/jsonl", mediaNDJSON},
	{"application/cloudevents+json", mediaCloudEvent},
	{"application/cloudevents-batch+json", mediaCloudEvents},
}

// mediaOf reads the content headers of a request. A type that is vague says as little
// as no type, and the first byte tells, as over NATS. One that does not belong here is
// 415, for then the caller means something else.
func mediaOf(r *http.Request, allowed ...media) (media, error) {
	if _, err := isZipped(r); err != nil {
		return 0, err
	}
	if len(r.Header["Content-Type"]) > 1 {
		return 0, invalid("content-type: is there twice: send it once")
	}
	name, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return mediaUnsaid, nil
	}
	if cs := params["charset"]; cs != "" && !strings.EqualFold(cs, "utf-8") {
		return 0, unsupported("content-type: charset " + quote(cs) + " is not read here: use utf-8")
	}
	for _, t := range mediaTypes {
		switch {
		case t.name != name:
		case slices.Contains(allowed, t.is):
			return t.is, nil
		default:
			return 0, notRead(name, allowed)
		}
	}
	if !isVague(name) {
		return 0, notRead(name, allowed)
	}
	return mediaUnsaid, nil
}

func notRead(name string, allowed []media) *fault {
	return unsupported("content-type: " + quote(name) + " is not read here: use " + mediaNames(allowed))
}

// isVague reports whether a content type says nothing: fetch sends strings as
// text/plain, curl as a form, and some clients everything as bytes. Of another JSON we
// know no more than that.
func isVague(name string) bool {
	switch name {
	case "text/plain", "text/json", "application/x-www-form-urlencoded", "application/octet-stream":
		return true
	}
	return strings.HasSuffix(name, "+json")
}

// mediaNames lists the names to use for messages to people.
func mediaNames(allowed []media) string {
	var names []string
	last := mediaUnsaid
	for _, t := range mediaTypes {
		if t.is != last && slices.Contains(allowed, t.is) {
			names = append(names, t.name)
		}
		last = t.is
	}
	return strings.Join(names, " or ")
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

// readJSON reads a bounded JSON document. The room is given back when it is read: what
// follows is of its making, and soon over.
func (m *room) readJSON(r *http.Request) (wire.Value, error) {
	if _, err := mediaOf(r, mediaJSON); err != nil {
		return wire.Value{}, err
	}
	t, err := m.enter()
	if err != nil {
		return wire.Value{}, err
	}
	defer t.leave()
	data, err := readBody(r, t)
	if err != nil {
		return wire.Value{}, err
	}
	v, err := wire.ParseJSON(data)
	if err != nil {
		return wire.Value{}, undecodable(err)
	}
	return v, nil
}

// undecodable is a body that is no document at all.
func undecodable(err error) *fault {
	f := invalid(err.Error())
	f.code = string(events.Undecodable)
	return f
}
