package dialect

import "bytes"

// usage are the tokens that one event states, -1 what it does not.
type usage struct{ prompt, completion, total, cached, created, reasoning int64 }

var unsaid = usage{-1, -1, -1, -1, -1, -1}

// field returns where the usage of that name belongs: OpenAI's chat and
// embeddings say prompt and completion, its responses and Anthropic input and
// output.
func (u *usage) field(name []byte) *int64 {
	switch string(name) {
	case "prompt_tokens", "input_tokens":
		return &u.prompt
	case "completion_tokens", "output_tokens":
		return &u.completion
	case "total_tokens":
		return &u.total
	case "prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens", "cache_read_input_tokens":
		return &u.cached
	case "cache_creation_input_tokens":
		return &u.created
	case "completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens":
		return &u.reasoning
	}
	return nil
}

// raise takes from v what is more. Usage is stated cumulatively, so that of two
// numbers the later is not the smaller; a server that states 0 in its last
// event for what it said in its first has not given it back.
func (u *usage) raise(v usage) {
	u.prompt, u.completion, u.total = max(u.prompt, v.prompt), max(u.completion, v.completion), max(u.total, v.total)
	u.cached, u.created, u.reasoning = max(u.cached, v.cached), max(u.created, v.created), max(u.reasoning, v.reasoning)
}

// draft is what one document says, an event's data or a whole body.
type draft struct {
	api      API
	kind     string // its member type
	model    string
	failed   bool   // it tells of an error
	wild     bool   // its usage has a number that is not believed
	code     string // of the error
	class    string // the error's type
	usage    usage
	text     int64 // bytes of it
	delta    int64 // bytes of its member delta, which is text in some kinds of events
	choices  int
	finished int // choices that do not go on
}

// take notes what a picker has read.
//
// Sources of the names: platform.openai.com/docs/api-reference/chat and
// …/embeddings; developers.openai.com/api/reference/resources/responses and
// …/responses/streaming-events; platform.claude.com/docs/en/api/messages and
// …/docs/en/build-with-claude/streaming. reasoning_content and reasoning are
// what DeepSeek and OpenRouter add to chat.
func (d *draft) take(path []byte, t token) {
	inner, _ := bytes.CutPrefix(path, []byte("response."))
	inner, _ = bytes.CutPrefix(inner, []byte("message."))
	if name, ok := bytes.CutPrefix(inner, []byte("usage.")); ok {
		d.used(name, t)
		return
	}
	switch t.kind {
	case '{':
		d.object(inner)
	case '"':
		d.word(path, inner, t.text)
		d.text += d.textOf(path, t.size)
	}
}

func (d *draft) used(name []byte, t token) {
	f := d.usage.field(name)
	if f == nil || t.kind != 0 {
		return
	}
	n, ok := tokens(t.text)
	switch {
	case !ok:
	case n > believed:
		d.wild = true
	default:
		*f = max(*f, n) // relays state both names, one of them 0
	}
}

func (d *draft) object(inner []byte) {
	switch string(inner) {
	case "choices[]":
		d.choices++
	case "error":
		d.failed = true
	}
}

// word notes a string that is a fact; inner is its path within the response or
// message that an event carries.
func (d *draft) word(path, inner, raw []byte) {
	switch string(inner) {
	case "model":
		d.model = text(raw)
	case "error":
		d.failed, d.class = true, text(raw)
	case "error.type":
		d.class = text(raw)
	case "error.code":
		d.code = text(raw)
	}
	switch string(path) {
	case "type":
		d.kind = text(raw)
	case "code":
		d.code = text(raw) // of the error event of responses
	case "choices[].finish_reason":
		d.finished++
	}
}

// textOf is how much of a string is text that the model wrote for its reader:
// words, what it shows of its thoughts, and what it calls tools with; not
// signatures, sounds and pictures, whose bytes are no text.
func (d *draft) textOf(path []byte, size int64) int64 {
	switch d.api {
	case Chat:
		return chatText(path, size)
	case Messages:
		return messageText(path, size)
	case Responses:
		if string(path) == "delta" {
			d.delta = size
			return 0
		}
		return responseText(path, size)
	}
	return 0
}

func chatText(path []byte, size int64) int64 {
	rest, ok := bytes.CutPrefix(path, []byte("choices[].delta."))
	if !ok {
		if rest, ok = bytes.CutPrefix(path, []byte("choices[].message.")); !ok {
			return 0
		}
	}
	switch string(rest) {
	case "content", "refusal", "reasoning_content", "reasoning", "audio.transcript",
		"tool_calls[].function.name", "tool_calls[].function.arguments", "tool_calls[].custom.input",
		"function_call.name", "function_call.arguments":
		return size
	}
	return 0
}

func messageText(path []byte, size int64) int64 {
	switch string(path) {
	case "delta.text", "delta.thinking", "delta.partial_json", "content[].text", "content[].thinking":
		return size
	}
	if bytes.HasPrefix(path, []byte("content[].input.")) {
		return size
	}
	return 0
}

func responseText(path []byte, size int64) int64 {
	switch string(path) {
	case "output[].content[].text", "output[].content[].refusal", "output[].summary[].text",
		"output[].arguments", "output[].input":
		return size
	}
	return 0
}

// written is how much text the document brought.
func (d *draft) written() int64 {
	switch d.kind {
	case "response.audio.delta", "response.output_audio.delta": // a sound in base64
		return d.text
	}
	return d.text + d.delta
}

// fault names the error that the document tells of, "" for none.
func (d *draft) fault() string {
	switch {
	case !d.failed && d.kind != "error":
		return ""
	case d.code != "":
		return d.code
	case d.class != "":
		return d.class
	}
	return "error"
}
