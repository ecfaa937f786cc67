package fakeprovider

import (
	"fmt"
	"strconv"
)

func number(n int64) string { return strconv.FormatInt(n, 10) }

// event is a server-sent event without a name, OpenAI's chat has them so.
func event(data string) string { return "data: " + data + "\n\n" }

// named is a server-sent event with its name.
func named(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

// chat answers with a completion in one piece
// (platform.openai.com/docs/api-reference/chat/object).
func (c *call) chat() []part {
	text := c.text()
	return []part{
		{body: fmt.Sprintf(`{"id":%s,"object":"chat.completion","created":%d,"model":%s,"choices":[{"index":0,"message":{"role":"assistant",`,
			quote(c.id("chatcmpl-")), c.created, quote(c.asked.Model))},
		{body: `"content":` + quote(text), text: int64(len(text))},
		{body: `,"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":` + c.finish("stop", "length") + `}]`},
		{body: `,"usage":{"prompt_tokens":` + number(c.use.prompt) + `,`, states: prompt},
		{body: c.chatUsage() + `,"service_tier":"default","system_fingerprint":null}`, states: everything},
	}
}

// chatUsage is the usage but for its beginning with the prompt.
func (c *call) chatUsage() string {
	u := c.use
	return fmt.Sprintf(`"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,"audio_tokens":0},`+
		`"completion_tokens_details":{"reasoning_tokens":%d,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`,
		u.completion, u.total(), u.cached, u.reasoning)
}

// finish returns, as JSON, why the answer ended.
func (c *call) finish(usual, limited string) string {
	if c.limited {
		return quote(limited)
	}
	return quote(usual)
}

// chatStream answers with chunks
// (platform.openai.com/docs/api-reference/chat/streaming). Asked for the usage,
// every chunk says "usage":null and one more, without choices, has it.
func (c *call) chatStream() []part {
	all := []part{c.chunk(`{"role":"assistant","content":"","refusal":null}`, "null", 0)}
	for _, d := range c.deltas {
		all = append(all, c.chunk(`{"content":`+quote(d)+`}`, "null", len(d)))
	}
	all = append(all, c.chunk(`{}`, c.finish("stop", "length"), 0))
	done := part{body: event("[DONE]"), states: everything}
	if !c.asked.UsageAsked {
		return append(all, done)
	}
	usage := `,"usage":{"prompt_tokens":` + number(c.use.prompt) + `,` + c.chatUsage()
	return append(all, part{body: event(c.chunkHead() + `"choices":[]` + usage + `}`), states: everything}, done)
}

func (c *call) chunk(delta, finish string, text int) part {
	usage := ""
	if c.asked.UsageAsked {
		usage = `,"usage":null`
	}
	return part{
		body: event(fmt.Sprintf(`%s"choices":[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}]%s}`, c.chunkHead(), delta, finish, usage)),
		text: int64(text),
	}
}

func (c *call) chunkHead() string {
	return fmt.Sprintf(`{"id":%s,"object":"chat.completion.chunk","created":%d,"model":%s,"service_tier":"default","system_fingerprint":null,`,
		quote(c.id("chatcmpl-")), c.created, quote(c.asked.Model))
}
