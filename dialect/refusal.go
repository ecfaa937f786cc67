package dialect

import (
	"strconv"

	"github.com/quotashare/quotashare/wire"
)

// longWait is the longest wait in ms that a client is left to sit out: Claude
// Code gives up on a Retry-After above 60 s by itself
// (code.claude.com/docs/en/llm-gateway-protocol), the SDKs of OpenAI and
// Anthropic would wait for hours, or, older ones, try at once.
const longWait = 60_000

// Refusal is an answer that a gateway gives by itself: a block, or a fault of
// its own.
type Refusal struct {
	Status  int    // HTTP
	Message string // for people, and the only thing they see
	WaitMs  int64  // until it may be tried again, 0 when that is not known
	At      int64  // epoch ms of that instant, 0 when it is not known
}

// Field is a header.
type Field struct{ Name, Value string }

// Answer is a response in the dialect of an API.
type Answer struct {
	Status int
	Header []Field
	Body   []byte // ends with a line feed
}

// In returns the refusal as a client of api understands it.
//
// Headers: Retry-After in whole seconds, rounded up (Claude Code wants no date),
// Retry-After-Ms for the SDKs, which prefer it; X-Should-Retry: false, which
// both SDKs and Claude Code obey, when the wait is over 60 s or, of a 429, not
// known (github.com/openai/openai-node and
// github.com/anthropics/anthropic-sdk-typescript, src/client.ts, shouldRetry and
// retryRequest).
//
// A 429 of Responses is usage_limit_reached whatever the wait, because Codex
// tries no 429 again and shows of any other its status alone. Of this one it
// shows the local time of resets_at, in epoch seconds, and not the message but
// the header X-Codex-Promo-Message, which therefore repeats it
// (github.com/openai/codex, codex-rs/codex-api/src/api_bridge.rs and
// codex-rs/protocol/src/error.rs). Older ones read resets_in_seconds. No
// plan_type: every known one advertises something to buy.
func (r Refusal) In(api API) Answer {
	a := Answer{Status: r.Status, Header: r.headers()}
	if api == Responses && r.Status == 429 {
		a.Header = append(a.Header, Field{"X-Codex-Promo-Message", promo(r.Message)})
	}
	a.Body = append(r.body(api), '\n')
	return a
}

func (r Refusal) headers() []Field {
	all := []Field{{"Content-Type", "application/json"}}
	if r.WaitMs > 0 {
		all = append(all, Field{"Retry-After", strconv.FormatInt(seconds(r.WaitMs), 10)})
		all = append(all, Field{"Retry-After-Ms", strconv.FormatInt(r.WaitMs, 10)})
	}
	if r.WaitMs > longWait || r.WaitMs <= 0 && r.Status == 429 {
		all = append(all, Field{"X-Should-Retry", "false"})
	}
	return all
}

// seconds rounds up: to come back too early is to be refused again.
func seconds(ms int64) int64 { return ms/1000 + min(ms%1000, 1) }

func (r Refusal) body(api API) []byte {
	class, code := r.kind()
	b := []byte(`{`)
	if api.anthropic() {
		b = append(b, `"type":"error","error":{"type":`...)
		b = wire.AppendJSONString(b, class)
		b = append(b, `,"message":`...)
		return append(wire.AppendJSONString(b, r.Message), `}}`...)
	}
	b = append(b, `"error":{"message":`...)
	b = wire.AppendJSONString(b, r.Message)
	if api == Responses && r.Status == 429 {
		return append(r.limitReached(b), `}}`...)
	}
	b = append(b, `,"type":`...)
	b = wire.AppendJSONString(b, class)
	b = append(b, `,"param":null,"code":`...)
	return append(wire.AppendJSONString(b, code), `}}`...)
}

func (r Refusal) limitReached(b []byte) []byte {
	b = append(b, `,"type":"usage_limit_reached","param":null,"code":"rate_limit_exceeded"`...)
	if r.At > 0 {
		b = append(b, `,"resets_at":`...)
		b = strconv.AppendInt(b, seconds(r.At), 10)
	}
	if r.WaitMs > 0 {
		b = append(b, `,"resets_in_seconds":`...)
		b = strconv.AppendInt(b, seconds(r.WaitMs), 10)
	}
	return b
}

// kind returns the type and the code of an error. The types are Anthropic's
// (platform.claude.com/docs/en/api/errors), which OpenAI's clients do not read;
// they go by the status.
func (r Refusal) kind() (class, code string) {
	switch r.Status {
	case 400:
		return "invalid_request_error", "invalid"
	case 401:
		return "authentication_error", "invalid_api_key"
	case 403:
		return "permission_error", "forbidden"
	case 404:
		return "not_found_error", "not_found"
	case 413:
		return "request_too_large", "too_large"
	case 429:
		return "rate_limit_error", "rate_limit_exceeded"
	case 504:
		return "timeout_error", "timeout"
	}
	return "api_error", "unavailable"
}

// promo is the message as a header can carry it, and as Codex goes on with it:
// ", or try again at 3:04 PM."
func promo(message string) string {
	b := []byte(message)
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = '?'
		}
	}
	for len(b) > 0 && (b[len(b)-1] == '.' || b[len(b)-1] == ' ') {
		b = b[:len(b)-1]
	}
	return string(b)
}
