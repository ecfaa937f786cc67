package dialect

// Request is what the body of a request says.
type Request struct {
	Model  string // as asked for, "" when it names none
	Stream bool
	// UsageAsked says that the answer will state its usage without our doing:
	// of a chat stream, because stream_options.include_usage is true.
	UsageAsked bool
	// Background says that a response is to be made in the background: it goes on
	// whether or not its client listens, and is fetched with calls that are not
	// metered, so what it uses may be in no answer to this one.
	Background bool
	// PromptTokens is an estimate: the bytes of all strings and member names of
	// the prompt, decoded, divided by 4 and rounded up. The prompt is
	//
	//	Chat        messages, tools, functions, response_format
	//	Responses   instructions, input, tools, text, prompt
	//	Messages    system, messages, tools (CountTokens too)
	//	Embeddings  input, in which each number is one token more
	//
	// A data: URL, and a string named data or file_data, is a picture, a file or
	// a sound and counts at most 1,600 tokens. What the provider keeps of an
	// earlier turn (previous_response_id, conversation) is not known and counts
	// nothing.
	PromptTokens int64
	// MaxOutput is the most tokens the answer may have: max_completion_tokens,
	// else max_tokens, times n, of Chat; max_output_tokens of Responses;
	// max_tokens of Messages; at most 1e12, which is the most that an event may
	// state. 0 when it is not said.
	MaxOutput int64
}

// Estimate is what the request may use at most, as far as can be told from it:
// PromptTokens + MaxOutput.
func (r Request) Estimate() int64 { return min(r.PromptTokens+r.MaxOutput, most) }

// prompts are the members of a body that the model reads.
var prompts = [...][]string{
	Chat:        {"messages", "tools", "functions", "response_format"},
	Responses:   {"instructions", "input", "tools", "text", "prompt"},
	Embeddings:  {"input"},
	Messages:    {"system", "messages", "tools"},
	CountTokens: {"system", "messages", "tools"},
	Models:      nil,
}

// Read takes the facts of a request's body. Where a name stands twice the last
// one counts, as it does for most that will read it. Fields of a wrong type are
// as absent: to refuse them is the provider's business. An error is a
// *SyntaxError.
//
// Sources: platform.openai.com/docs/api-reference/chat/create,
// …/responses/create, …/embeddings/create, …/guides/background and
// platform.claude.com/docs/en/api/messages.
func Read(api API, body []byte) (Request, error) {
	r := reader{api: api, cursor: cursor{b: body}}
	if _, err := r.document(r.member); err != nil {
		return Request{}, err
	}
	return r.request(), nil
}

// reader is a body that is being read.
type reader struct {
	cursor
	api    API
	out    Request
	weight [8]weight        // of each member of the prompt, so that a second one replaces the first
	limits map[string]int64 // of the members that bound the answer
}

func (r *reader) member(name string) error {
	if r.api < Chat || r.api > Models {
		_, err := r.value()
		return err
	}
	for i, p := range prompts[r.api] {
		if p == name {
			r.weight[i] = weight{}
			return r.weigh(&r.weight[i])
		}
	}
	value, err := r.value()
	if err == nil {
		r.fact(name, value)
	}
	return err
}

func (r *reader) fact(name string, value []byte) {
	switch name {
	case "model":
		r.out.Model = stringOf(value)
	case "stream":
		r.out.Stream = string(value) == "true"
	case "background":
		r.out.Background = r.api == Responses && string(value) == "true"
	case "stream_options":
		r.out.UsageAsked = r.api == Chat && asksUsage(value)
	case "max_completion_tokens", "max_tokens", "max_output_tokens", "n":
		if r.limits == nil {
			r.limits = map[string]int64{}
		}
		r.limits[name], _ = tokens(value)
	}
}

func (r *reader) request() Request {
	out := r.out
	if r.api != Chat || !out.Stream {
		out.UsageAsked = true
	}
	var all weight
	for _, w := range r.weight {
		all.text += w.text
		all.numbers += w.numbers
	}
	out.PromptTokens = tokensOf(all.text)
	if r.api == Embeddings {
		out.PromptTokens += all.numbers
	}
	out.MaxOutput = r.maxOutput()
	return out
}

func (r *reader) maxOutput() int64 {
	switch r.api {
	case Chat:
		limit := r.limits["max_completion_tokens"]
		if limit == 0 {
			limit = r.limits["max_tokens"]
		}
		n := max(r.limits["n"], 1)
		if limit > most/n {
			return most
		}
		return limit * n
	case Responses:
		return r.limits["max_output_tokens"]
	case Messages:
		return r.limits["max_tokens"]
	}
	return 0
}

// asksUsage reports whether stream_options have include_usage: true.
func asksUsage(options []byte) bool {
	asked := false
	c := cursor{b: options}
	if c.next() != '{' {
		return false
	}
	err := c.members(func(name string) error {
		value, err := c.value()
		if name == "include_usage" {
			asked = string(value) == "true"
		}
		return err
	})
	return asked && err == nil
}

// stringOf decodes a JSON string; of anything else it is "".
func stringOf(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	return text(value[1 : len(value)-1])
}
