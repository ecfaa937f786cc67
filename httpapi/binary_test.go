package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

// TestAttributesWithoutTheirVersion are refused by name, and nothing is stored: an id that
// was not taken would count what is sent again twice.
func TestAttributesWithoutTheirVersion(t *testing.T) {
	const plain, structured = `{"apiKeyId":"k","connectionId":"c"}`, `{"specversion":"1.0","type":"quota.consumption","source":"/g","id":"e","data":{"apiKeyId":"k","connectionId":"c"}}`
	cases := []struct {
		name, contentType, body string
		header                  []string // a name and its value
		says                    string   // "" = it is taken
	}{
		{"type", "application/json", plain, []string{"ce-type", "quota.adjustment"}, "ce-specversion: is missing, and ce-type is there"},
		{"id", "application/json", plain, []string{"ce-id", "9"}, "ce-specversion: is missing, and ce-id is there"},
		{"source", "application/msgpack", "\x80", []string{"ce-source", "x"}, "ce-specversion: is missing, and ce-source is there"},
		{"time", "application/json", "[" + plain + "]", []string{"ce-time", "x"}, "ce-specversion: is missing, and ce-time is there"},
		{"stream", "application/x-ndjson", plain, []string{"ce-type", "quota.consumption"}, "ce-specversion: is missing, and ce-type is there"},
		{"no attribute", "application/json", plain, []string{"ce-traceparent", "x"}, ""},
		{"all of them", "application/json", plain, []string{"ce-specversion", "1.0", "ce-type", "quota.consumption", "ce-source", "/g", "ce-id", "9"}, ""},
		{"the body has its own", "application/cloudevents+json", structured, []string{"ce-type", "quota.consumption"}, ""},
		{"so has each of a batch", "application/cloudevents-batch+json", "[" + structured + "]", []string{"ce-type", "quota.consumption"}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newDouble()
			srv := serve(t, d, Config{})
			h := http.Header{"Content-Type": {c.contentType}}
			for i := 0; i < len(c.header); i += 2 {
				h.Set(c.header[i], c.header[i+1])
			}
			status, a := srv.postAs(t, h, strings.NewReader(c.body))
			if c.says == "" {
				if status != http.StatusOK || len(d.messages) != 1 {
					t.Errorf("%d, %+v, %d messages", status, a, len(d.messages))
				}
				return
			}
			if status != http.StatusBadRequest || a.Error == nil || !strings.Contains(a.Error.Message, c.says) || len(d.messages) != 0 {
				t.Errorf("%d, %+v, %d messages", status, a.Error, len(d.messages))
			}
		})
	}
}
