package fakeprovider

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/quotashare/quotashare/dialect"
	"github.com/quotashare/quotashare/wire"
)

// framing are the tokens that a prompt has beyond its text: roles, turns, what
// an answer begins with.
const framing = 7

// call is one request and what it is answered.
type call struct {
	api       dialect.API
	anthropic bool
	n         uint64 // of the request, from 1, and the seed
	rng       *rand.Rand
	created   int64 // epoch s

	asked dialect.Request
	extra extra
	how   Behaviour

	use     usage
	limited bool     // the answer ended at the limit of its output
	deltas  []string // the text
	models  string   // the answer to who asks for them
}

// usage are the tokens of an answer. The prompt has the cached, the completion
// the reasoning.
type usage struct{ prompt, cached, completion, reasoning int64 }

func (u usage) total() int64 { return u.prompt + u.completion }

// extra is what of a body only embeddings need.
type extra struct {
	Input      json.RawMessage `json:"input"`
	Dimensions int             `json:"dimensions"`
	Encoding   string          `json:"encoding_format"`
}

// parse reads the body as far as the answer depends on it.
func (c *call) parse(body []byte) fault {
	if c.api == dialect.Models {
		return fault{}
	}
	var err error
	if c.asked, err = dialect.Read(c.api, body); err != nil {
		return fault{400, "We could not parse the JSON body of your request: " + err.Error()}
	}
	if c.asked.Model == "" {
		return fault{400, "model: you must provide a model parameter."}
	}
	if c.api == dialect.Messages && c.asked.MaxOutput == 0 {
		return fault{400, "max_tokens: Field required"}
	}
	if c.api == dialect.Embeddings {
		return c.parseExtra(body)
	}
	return fault{}
}

func (c *call) parseExtra(body []byte) fault {
	if err := json.Unmarshal(body, &c.extra); err != nil {
		return fault{400, "We could not parse the JSON body of your request: " + err.Error()}
	}
	if c.extra.Dimensions < 0 || c.extra.Dimensions > maxDimensions {
		return fault{400, fmt.Sprintf("dimensions: must be from 1 to %d.", maxDimensions)}
	}
	return fault{}
}

// behave works out the usage and the text.
func (c *call) behave(how Behaviour) {
	c.how = how
	c.use.prompt = how.Prompt
	if c.use.prompt == 0 {
		c.use.prompt = c.asked.PromptTokens + framing
	}
	c.use.cached = min(how.Cached, c.use.prompt-1)
	if c.api == dialect.Embeddings {
		return
	}
	c.use.completion = how.Completion
	if c.use.completion == 0 {
		c.use.completion = 8 + c.rng.Int64N(25)
	}
	if most := c.asked.MaxOutput; most > 0 && c.use.completion > most {
		c.use.completion, c.limited = most, true
	}
	c.use.reasoning = min(how.Reasoning, c.use.completion)
	c.deltas = write(c.rng, c.use.completion-c.use.reasoning, how.Chunks)
}

// text is the whole of it.
func (c *call) text() (all string) {
	for _, d := range c.deltas {
		all += d
	}
	return all
}

// streams reports whether the answer is a stream of events.
func (c *call) streams() bool { return c.asked.Stream && c.api != dialect.Embeddings }

// id returns an id as the provider gives them; two of one call and prefix are
// the same.
func (c *call) id(prefix string) string {
	return prefix + strconv.FormatUint(mix(c.n), 36)
}

// mix makes numbers that follow each other look as if they did not (the
// finalizer of splitmix64, which maps no two to one).
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// quote returns s as a JSON string.
func quote(s string) string { return string(wire.AppendJSONString(nil, s)) }
