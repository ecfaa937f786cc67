package fakeprovider

import (
	"fmt"
	"slices"
	"strings"
)

// listModels answers what models there are, or one of them by its id
// (platform.openai.com/docs/api-reference/models;
// platform.claude.com/docs/en/api/models).
func (c *call) listModels(path string, names []string) fault {
	id, one := strings.CutPrefix(path, "/v1/models/")
	switch {
	case one && !slices.Contains(names, id):
		return fault{404, "The model " + id + " does not exist."}
	case one:
		c.models = c.model(id)
		return fault{}
	}
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = c.model(name)
	}
	list := strings.Join(all, ",")
	c.models = `{"object":"list","data":[` + list + `]}`
	if c.anthropic {
		c.models = fmt.Sprintf(`{"data":[%s],"has_more":false,"first_id":%s,"last_id":%s}`, list, quote(names[0]), quote(names[len(names)-1]))
	}
	return fault{}
}

func (c *call) model(name string) string {
	if c.anthropic {
		return fmt.Sprintf(`{"type":"model","id":%s,"display_name":%s,"created_at":"2026-01-01T00:00:00Z"}`, quote(name), quote(name))
	}
	return fmt.Sprintf(`{"id":%s,"object":"model","created":1767225600,"owned_by":"system"}`, quote(name))
}
