package fakeprovider

import "fmt"

// message answers with a message in one piece
// (platform.claude.com/docs/en/api/messages).
func (c *call) message() []part {
	text := c.text()
	return []part{
		{body: c.messageHead() + `,"content":[{"type":"text",`},
		{body: `"text":` + quote(text), text: int64(len(text))},
		{body: `}],"stop_reason":` + c.finish("end_turn", "max_tokens") + `,"stop_sequence":null`},
		{body: `,"usage":{` + c.messagePrompt(), states: prompt},
		{body: fmt.Sprintf(`"output_tokens":%d,"service_tier":"standard"}}`, c.use.completion), states: everything},
	}
}

func (c *call) messageHead() string {
	return fmt.Sprintf(`{"model":%s,"id":%s,"type":"message","role":"assistant"`, quote(c.asked.Model), quote(c.id("msg_01")))
}

// messagePrompt is the part of a usage that tells of the prompt: what was
// cached is no part of the input.
func (c *call) messagePrompt() string {
	return fmt.Sprintf(`"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d,`, c.use.prompt-c.use.cached, c.use.cached)
}

// messageStream answers with events
// (platform.claude.com/docs/en/build-with-claude/streaming). The first states
// the prompt, the last but one the answer.
func (c *call) messageStream() []part {
	start := `{"type":"message_start","message":` + c.messageHead() + `,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{` +
		c.messagePrompt() + `"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard"}}}`
	all := []part{
		{body: named("message_start", start), states: prompt},
		{body: named("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)},
		{body: named("ping", `{"type": "ping"}`)},
	}
	for _, d := range c.deltas {
		data := `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + quote(d) + `}}`
		all = append(all, part{body: named("content_block_delta", data), text: int64(len(d))})
	}
	delta := fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":{%s"output_tokens":%d}}`,
		c.finish("end_turn", "max_tokens"), c.messagePrompt(), c.use.completion)
	return append(all,
		part{body: named("content_block_stop", `{"type":"content_block_stop","index":0}`)},
		part{body: named("message_delta", delta), states: everything},
		part{body: named("message_stop", `{"type":"message_stop"}`)})
}
