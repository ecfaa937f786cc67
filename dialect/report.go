package dialect

// Usage are the tokens of one call. The prompt is the whole prompt, of which
// cached is a part; the completion is the whole answer, of which reasoning is a
// part. What was not stated is 0, and so is what one event, or a body that is
// JSON, states together with a number above 100,000,000: no call is that large.
type Usage struct {
	Prompt, Completion, Cached, Reasoning int64
	// Total is what is charged: OpenAI's total_tokens, or prompt + completion
	// where that is more, because a whole is not less than its parts: a relay
	// that states 0 for what it did not add up has made nothing free. Of
	// Anthropic it is input + cache creation + cache read + output, none of
	// which is a part of another
	// (platform.claude.com/docs/en/build-with-claude/prompt-caching).
	Total int64
}

// Report is what a response said so far.
type Report struct {
	Model string // that answered, "" when it was not said
	Usage Usage  // as far as it was stated
	Whole bool   // all of the usage was stated
	Text  int64  // bytes of text that came, decoded, of whole events
	// Ended says that the body ended as it should: the JSON is whole; [DONE],
	// message_stop, or response.completed, .incomplete or .failed has come.
	Ended bool
	Fault string // the first error the body told of: its code, else its type; "" for none

	api     API
	refused bool
	begun   bool
}

// Report returns what was read so far. It may be asked for while the body
// passes, for partial consumption.
func (m *Meter) Report() Report {
	return Report{
		Model: m.model, Usage: m.sum(), Whole: m.whole, Text: m.text, Ended: m.ended, Fault: m.fault,
		api: m.api, refused: m.refused, begun: m.begun,
	}
}

func (m *Meter) sum() Usage {
	said := func(n int64) int64 { return max(n, 0) }
	u := Usage{
		Prompt: said(m.usage.prompt), Completion: said(m.usage.completion),
		Cached: said(m.usage.cached), Reasoning: said(m.usage.reasoning),
	}
	if m.api == Messages {
		u.Prompt += u.Cached + said(m.usage.created)
		u.Total = u.Prompt + u.Completion
		return u
	}
	u.Total = max(m.usage.total, u.Prompt+u.Completion)
	return u
}

// Charge returns the tokens to be charged for the call, at most the 1e12 that
// an event may state, and whether they are an estimate. prompt is the request's
// own estimate, Request.PromptTokens.
//
//   - the usage is whole: its total.
//   - it is not, and a byte came: the prompt as stated, else prompt, and a
//     token for every 4 bytes of text, rounded up; an estimate. The byte need
//     not be one that the meter can read: what answers in plain text, in HTML,
//     in an array or in an encoding of its own has read the prompt, and would
//     be free to whoever can have it answer so.
//   - nothing came; the status is not 2xx; an error came before any text or
//     stated prompt; or the call is not metered: nothing.
//
// Thoughts that a provider hides are in no text, so a stream that is cut is
// charged less than was used, never more than the provider could have counted
// of what came.
func (r Report) Charge(prompt int64) (tokens int64, estimated bool) {
	stated := r.Usage.Prompt
	switch {
	case !r.api.Metered() || r.refused || !r.begun:
		return 0, false
	case r.Whole:
		return min(r.Usage.Total, most), false
	case r.Fault != "" && r.Text == 0 && stated == 0:
		return 0, false
	case stated > 0:
		prompt = stated
	}
	return min(min(prompt, most)+tokensOf(r.Text), most), true
}
