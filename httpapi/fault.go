package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/quotashare/quotashare/wire"
)

// fault is a refusal as it goes to the caller.
type fault struct {
	status  int
	kind    string // "type" on the wire
	code    string
	message string
	faults  wire.Faults
	allow   string // of 405
	accept  string // of 415, an encoding
	retry   bool   // the same request may succeed in a second

	retrySeconds int // or in so many; 0 = retry says
}

// Error returns the message.
func (f *fault) Error() string { return f.message }

func invalid(message string) *fault {
	return &fault{status: http.StatusBadRequest, kind: "invalid_request_error", code: "invalid", message: message}
}

// invalidFields is a document with faults. The message names them too, because
// many callers show nothing else.
func invalidFields(faults wire.Faults) *fault {
	f := invalid(faults.Error())
	f.faults = faults
	return f
}

func forbidden(code, message string) *fault {
	return &fault{status: http.StatusForbidden, kind: "permission_error", code: code, message: message}
}

func notFound(message string) *fault {
	return &fault{status: http.StatusNotFound, kind: "not_found_error", code: "not-found", message: message}
}

func conflict(message string) *fault {
	return &fault{status: http.StatusConflict, kind: "conflict_error", code: "conflict", message: message}
}

func tooLarge(message string) *fault {
	return &fault{status: http.StatusRequestEntityTooLarge, kind: "invalid_request_error", code: "too-large", message: message}
}

func busy(message string) *fault {
	return &fault{status: http.StatusTooManyRequests, kind: "rate_limit_error", code: "busy", message: message, retry: true}
}

func unavailable(code, message string) *fault {
	return &fault{status: http.StatusServiceUnavailable, kind: "unavailable_error", code: code, message: message, retry: true}
}

// internal is for errors nobody foresaw. Their text stays in our log: it may
// name files and addresses.
func internal() *fault {
	return &fault{
		status: http.StatusInternalServerError, kind: "server_error", code: "internal",
		message: "the server met an error of its own: its log says more",
	}
}

// faultOf says how an Engine's error is answered; nil means that nobody
// foresaw it.
func faultOf(err error) *fault {
	var own *fault
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, ErrNotFound):
		return notFound(err.Error())
	case errors.Is(err, ErrConflict):
		return conflict(err.Error())
	case errors.Is(err, ErrLostRace):
		return &fault{status: http.StatusPreconditionFailed, kind: "conflict_error", code: "lost-race", message: err.Error()}
	case errors.Is(err, ErrTooLarge):
		return tooLarge(err.Error())
	case errors.Is(err, ErrUnavailable):
		return unavailable("unavailable", err.Error())
	case errors.Is(err, ErrBusy):
		return busy(err.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return unavailable("timeout", "the engine did not answer in time: try again")
	}
	var faults wire.Faults
	if errors.As(err, &faults) {
		return invalidFields(faults)
	}
	return nil
}

// maxFaults is how many faults of one document an answer names.
const maxFaults = 100

// append writes the one form of every error: the fields of "error".
func (f *fault) append(doc *wire.Writer) {
	doc.Object()
	doc.Name("message")
	doc.String(f.message)
	doc.Name("type")
	doc.String(f.kind)
	doc.Name("code")
	doc.String(f.code)
	if len(f.faults) > 0 {
		doc.Name("faults")
		doc.Array()
		for _, one := range f.faults[:min(len(f.faults), maxFaults)] {
			doc.Object()
			doc.Name("field")
			doc.String(one.Field)
			doc.Name("problem")
			doc.String(one.Problem)
			doc.End()
		}
		doc.End()
	}
	doc.End()
}

func (f *fault) write(w http.ResponseWriter) {
	var doc wire.Writer
	doc.Object()
	doc.Name("error")
	f.append(&doc)
	doc.End()
	f.headers(w.Header())
	writeJSON(w, f.status, &doc)
}

func (f *fault) headers(h http.Header) {
	if f.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="quotashare"`)
	}
	if f.allow != "" {
		h.Set("Allow", f.allow)
	}
	if f.accept != "" {
		h.Set("Accept-Encoding", f.accept)
	}
	if f.retry || f.retrySeconds > 0 {
		h.Set("Retry-After", strconv.Itoa(max(1, f.retrySeconds)))
	}
}

func writeJSON(w http.ResponseWriter, status int, doc *wire.Writer) {
	writeBody(w, status, "application/json", append(doc.Bytes(), '\n'))
}

func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body) // when the caller has gone there is nobody to tell
}

// maxQuoted is how much of a caller's text our messages repeat.
const maxQuoted = 80

// quote shows a caller's text in a message: bounded, and with nothing that
// could disturb a terminal.
func quote(s string) string {
	if len(s) > maxQuoted {
		s = s[:maxQuoted]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return strconv.Quote(s)
}
