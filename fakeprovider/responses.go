package fakeprovider

import "fmt"

// A response is long and stands in three events of a stream, so it is put
// together: responseHead, the output, responseTail, the usage, responseEnd
// (developers.openai.com/api/reference/resources/responses).
func (c *call) responseHead(status, fault string) string {
	incomplete, most := "null", "null"
	if status == "incomplete" {
		incomplete = `{"reason":"max_output_tokens"}`
	}
	if c.asked.MaxOutput > 0 {
		most = number(c.asked.MaxOutput)
	}
	return fmt.Sprintf(`{"id":%s,"object":"response","created_at":%d,"status":%s,"background":false,"error":%s,"incomplete_details":%s,`+
		`"instructions":null,"max_output_tokens":%s,"max_tool_calls":null,"model":%s,"output":[`,
		quote(c.id("resp_0")), c.created, quote(status), fault, incomplete, most, quote(c.asked.Model))
}

const (
	responseTail = `],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"service_tier":"default",` +
		`"store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1.0,"truncation":"disabled"`
	responseEnd = `,"user":null,"metadata":{}}`
)

// unfinished is a response without output and usage.
func (c *call) unfinished(status, fault string) string {
	return c.responseHead(status, fault) + responseTail + `,"usage":null` + responseEnd
}

// status returns how the answer ended.
func (c *call) status() string {
	if c.limited {
		return "incomplete"
	}
	return "completed"
}

// item returns the message of the output up to its text, and what follows.
func (c *call) item() (before, after string) {
	return fmt.Sprintf(`{"id":%s,"type":"message","status":%s,"content":[{"type":"output_text","annotations":[],"logprobs":[],`,
		quote(c.id("msg_0")), quote(c.status())), `}],"role":"assistant"}`
}

// responseUsage returns the usage, its beginning with the prompt and the rest.
func (c *call) responseUsage() (first, rest string) {
	u := c.use
	return `,"usage":{"input_tokens":` + number(u.prompt) + `,`,
		fmt.Sprintf(`"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
			u.cached, u.completion, u.reasoning, u.total())
}

// response answers in one piece.
func (c *call) response() []part {
	text := c.text()
	before, after := c.item()
	first, rest := c.responseUsage()
	return []part{
		{body: c.responseHead(c.status(), "null") + before},
		{body: `"text":` + quote(text), text: int64(len(text))},
		{body: after + responseTail},
		{body: first, states: prompt},
		{body: rest + responseEnd, states: everything},
	}
}

// numbered puts events of a response in a row; each says its place.
type numbered []part

func (all *numbered) add(name, members string) *part {
	data := fmt.Sprintf(`{"type":%s,"sequence_number":%d,%s}`, quote(name), len(*all), members)
	*all = append(*all, part{body: named(name, data)})
	return &(*all)[len(*all)-1]
}

// responseStream answers with events
// (developers.openai.com/api/reference/resources/responses/streaming-events).
// Nothing is stated before the last one.
func (c *call) responseStream() []part {
	id, text := quote(c.id("msg_0")), c.text()
	content := `"item_id":` + id + `,"output_index":0,"content_index":0`
	open := `{"type":"output_text","annotations":[],"logprobs":[],"text":""}`
	before, after := c.item()
	item := before + `"text":` + quote(text) + after
	first, rest := c.responseUsage()

	var all numbered
	all.add("response.created", `"response":`+c.unfinished("in_progress", "null"))
	all.add("response.in_progress", `"response":`+c.unfinished("in_progress", "null"))
	all.add("response.output_item.added", `"output_index":0,"item":{"id":`+id+`,"type":"message","status":"in_progress","content":[],"role":"assistant"}`)
	all.add("response.content_part.added", content+`,"part":`+open)
	for _, d := range c.deltas {
		all.add("response.output_text.delta", content+`,"delta":`+quote(d)+`,"logprobs":[]`).text = int64(len(d))
	}
	all.add("response.output_text.done", content+`,"text":`+quote(text)+`,"logprobs":[]`)
	all.add("response.content_part.done", content+`,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":`+quote(text)+`}`)
	all.add("response.output_item.done", `"output_index":0,"item":`+item)
	all.add("response."+c.status(), `"response":`+c.responseHead(c.status(), "null")+item+responseTail+first+rest+responseEnd).states = everything
	return all
}

// failed is the event that ends a response that went wrong.
func (c *call) failed() string {
	all := make(numbered, c.how.CutAfter, c.how.CutAfter+1)
	fault := `{"code":"server_error","message":"The model is overloaded."}`
	return all.add("response.failed", `"response":`+c.unfinished("failed", fault)).body
}
