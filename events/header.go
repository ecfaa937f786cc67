package events

import "strings"

// header returns the values of a header. Its exact name goes first; else names
// that differ in case only count, the smallest of them, because clients and
// proxies change the case and the order of a map must not decide.
func (m *Message) header(name string) []string {
	if len(m.Header) == 0 {
		return nil
	}
	if values := m.Header[name]; len(values) > 0 {
		return values
	}
	found := ""
	for key, values := range m.Header {
		if len(values) > 0 && strings.EqualFold(key, name) && (found == "" || key < found) {
			found = key
		}
	}
	return m.Header[found]
}

// first returns the first value of a header, "" when there is none.
func (m *Message) first(name string) string {
	if values := m.header(name); len(values) > 0 {
		return values[0]
	}
	return ""
}
