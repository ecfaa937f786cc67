package fakeprovider

import (
	"net/http"
	"time"

	"github.com/quotashare/quotashare/dialect"
)

// Limits are what the provider tells of its own limits.
type Limits struct {
	RequestsPerMinute int64
	TokensPerMinute   int64
}

type meter struct{}

func (l Limits) meters(time.Time) []meter { return nil }

func (p *Provider) limit(*call) fault { return fault{} }

func (p *Provider) spend(dialect.API, int64) {}

// head sets what every answer has in its header.
func (p *Provider) head(h http.Header, c *call) {
	if c.anthropic {
		h.Set("Request-Id", c.id("req_011"))
		h.Set("Anthropic-Organization-Id", "3b2f8a54-7c11-4f0e-9d52-6f1f0f0a5e11")
		return
	}
	h.Set("X-Request-Id", c.id("req_"))
	h.Set("Openai-Version", "2020-10-01")
	h.Set("Openai-Organization", "fake-provider")
}
