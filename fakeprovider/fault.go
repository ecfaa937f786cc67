package fakeprovider

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/quotashare/quotashare/dialect"
)

// fault is a refusal of the provider's own; status 0 is none.
type fault struct {
	status  int
	message string
}

// refuse answers with a fault, in the dialect of the call.
func (p *Provider) refuse(w http.ResponseWriter, c *call, e *entry, f fault) {
	h := w.Header()
	p.head(h, c)
	if d := c.how.RetryAfter; d > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10))
	}
	body := c.fault(f)
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	p.note(e, func() { e.Status = f.status })
	w.WriteHeader(f.status)
	_, _ = w.Write([]byte(body))
}

// fault returns the body of a refusal
// (platform.claude.com/docs/en/api/errors;
// platform.openai.com/docs/guides/error-codes).
func (c *call) fault(f fault) string {
	if c.anthropic {
		return fmt.Sprintf(`{"type":"error","error":{"type":%s,"message":%s},"request_id":%s}`,
			quote(classOf(f.status)), quote(f.message), quote(c.id("req_")))
	}
	class, code := codeOf(f.status)
	return fmt.Sprintf(`{"error":{"message":%s,"type":%s,"param":null,"code":%s}}`, quote(f.message), quote(class), code)
}

// errorEvent is how a stream says that it goes no further.
func (c *call) errorEvent() string {
	switch {
	case c.anthropic:
		return named("error", c.fault(fault{529, "Overloaded"}))
	case c.api == dialect.Responses:
		return c.failed()
	}
	return event(c.fault(fault{500, "The server had an error while processing your request."}))
}

// classOf returns the type of an error of Anthropic's.
func classOf(status int) string {
	switch status {
	case 400:
		return "invalid_request_error"
	case 401:
		return "authentication_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 504:
		return "timeout_error"
	case 529:
		return "overloaded_error"
	}
	return "api_error"
}

// codeOf returns the type of an error of OpenAI's, and its code as JSON.
func codeOf(status int) (class, code string) {
	switch status {
	case 401:
		return "invalid_request_error", `"invalid_api_key"`
	case 429:
		return "tokens", `"rate_limit_exceeded"`
	}
	if status < 500 {
		return "invalid_request_error", "null"
	}
	return "server_error", "null"
}

func (c *call) credentialHeader() string {
	if c.anthropic {
		return "x-api-key"
	}
	return "Authorization: Bearer"
}
