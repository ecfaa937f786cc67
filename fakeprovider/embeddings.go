package fakeprovider

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

const (
	// usualDimensions are few, because nobody searches with them and a thousand
	// would be most of what a test sends.
	usualDimensions = 16
	maxDimensions   = 3072
)

// embeddings answers with a vector for each input
// (platform.openai.com/docs/api-reference/embeddings/object).
func (c *call) embeddings() []part {
	var data []string
	for i := range c.inputs() {
		data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, i, c.vector()))
	}
	return []part{
		{body: `{"object":"list",`},
		{body: `"data":[` + strings.Join(data, ",") + `]`},
		{body: `,"model":` + quote(c.asked.Model)},
		{body: `,"usage":{"prompt_tokens":` + number(c.use.prompt) + `,`, states: prompt},
		{body: `"total_tokens":` + number(c.use.prompt) + `}}`, states: everything},
	}
}

// inputs returns how many there are: a text and a row of tokens are one, an
// array of either as many as it has.
func (c *call) inputs() int {
	var list []json.RawMessage
	if json.Unmarshal(c.extra.Input, &list) != nil || len(list) == 0 {
		return 1
	}
	if first := bytes.TrimSpace(list[0]); first[0] == '"' || first[0] == '[' {
		return len(list)
	}
	return 1
}

// vector returns one as JSON; the SDK of Node asks for base64, whatever its
// caller wants.
func (c *call) vector() string {
	n := c.extra.Dimensions
	if n == 0 {
		n = usualDimensions
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = (c.rng.Float32()*2 - 1) / float32(math.Sqrt(float64(n)))
	}
	if c.extra.Encoding == "base64" {
		raw, _ := binary.Append(nil, binary.LittleEndian, v)
		return quote(base64.StdEncoding.EncodeToString(raw))
	}
	text, _ := json.Marshal(v)
	return string(text)
}
