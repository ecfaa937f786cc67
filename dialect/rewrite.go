package dialect

import "slices"

// AskUsage returns the body of a chat request so changed that its stream states
// its usage: stream_options.include_usage is true. All other bytes are those of
// body, which is not written to. When nothing is to be changed, because the
// request is no stream, asks for it already, or has stream_options of a wrong
// type (which the provider will refuse), it returns body itself and false.
//
// OpenAI then sends one chunk more, before [DONE], with empty choices and the
// usage, and every other chunk says "usage": null
// (platform.openai.com/docs/api-reference/chat/create,
// stream_options.include_usage). Stripper takes both out again.
func AskUsage(body []byte) (out []byte, changed bool, err error) {
	c := cursor{b: body}
	stream, options := false, span{}
	end, err := c.document(func(name string) error {
		value, err := c.value()
		switch name {
		case "stream":
			stream = string(value) == "true"
		case "stream_options":
			options = span{c.i - len(value), c.i}
		}
		return err
	})
	if err != nil || !stream {
		return body, false, err
	}
	at, insert := usageAt(body, options, end)
	if insert == "" {
		return body, false, nil
	}
	return slices.Concat(body[:at.from], []byte(insert), body[at.to:]), true, nil
}

// span is a part of a body; that of an absent member is empty.
type span struct{ from, to int }

// usageAt returns what to replace, and by what, so that usage is asked for;
// by nothing when that is not needed or not possible.
func usageAt(body []byte, options span, end int) (span, string) {
	value := body[options.from:options.to]
	switch {
	case len(value) == 0: // an object with stream: true is not empty
		return span{end, end}, `,"stream_options":{"include_usage":true}`
	case string(value) == "null":
		return options, `{"include_usage":true}`
	case value[0] != '{':
		return span{}, ""
	}
	c := cursor{b: body, i: options.from}
	members, usage := 0, span{}
	_ = c.members(func(name string) error { // it was read once without an error
		value, err := c.value()
		members++
		if name == "include_usage" {
			usage = span{c.i - len(value), c.i}
		}
		return err
	})
	last := span{options.to - 1, options.to - 1}
	switch {
	case members == 0:
		return last, `"include_usage":true`
	case usage == span{}:
		return last, `,"include_usage":true`
	case string(body[usage.from:usage.to]) == "true":
		return span{}, ""
	}
	return usage, "true"
}
