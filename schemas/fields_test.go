package schemas_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quotashare/quotashare/plans"
	"github.com/quotashare/quotashare/quota"
	"github.com/quotashare/quotashare/schemas"
)

// fieldsOf are the names of all fields that some schemas define, but for choices that
// only judge further.
func fieldsOf(t *testing.T, names string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, name := range strings.Fields(names) {
		data, ok := schemas.Open(name)
		if !ok {
			t.Fatalf("there is no schema %s", name)
		}
		doc := parsed(t, string(data)).(object)
		defined(doc, all)
		parts, _ := doc["$defs"].(object)
		for _, part := range parts {
			defined(part, all)
		}
	}
	return all
}

func defined(schema any, all map[string]bool) {
	fields, _ := at(schema, "properties").(object)
	for name, field := range fields {
		all[name] = true
		defined(field, all)
	}
}

// TestEveryFieldIsTried: the documents that are changed in every odd way have each
// field that their schemas define. One that no decoder knew would be found then, for
// the decoder takes whatever is in it.
func TestEveryFieldIsTried(t *testing.T) {
	for message, names := range map[string]string{
		"consumption": "consumption", "adjustment": "adjustment", "saturation": "saturation", "release": "release", "hold": "hold", "due": "due",
		"cloudEvent": "cloudevent", "pool": "pool", "plan": "plan", "settings": "settings", "question": "question", "routeQuestion": "route-question",
	} {
		var tried []string
		for _, text := range codecs[slices.IndexFunc(codecs, func(c codec) bool { return c.message == message })].full {
			collect(parsed(t, text), &tried)
		}
		refused := []string{"at", "connectionId"} // of a route: null is all they may be
		for field := range fieldsOf(t, names) {
			if !slices.Contains(tried, field) && !(message == "routeQuestion" && slices.Contains(refused, field)) {
				t.Errorf("%s: no document has %s", message, field)
			}
		}
	}
}

// TestEveryFieldThatIsReadIsDescribed: a decoder names each field that it reads in a
// call, and those are the fields that its schemas define.
func TestEveryFieldThatIsReadIsDescribed(t *testing.T) {
	var units, settings []string
	for u := range quota.Unit(quota.NumUnits) {
		units = append(units, u.String())
	}
	for s := range plans.Setting(plans.NumSettings) {
		settings = append(settings, s.String())
	}
	for _, c := range []struct {
		files, schemas  string
		computed        []string // names that the decoder computes
		ignored, beside string   // what it does not look at, and names in calls that are no fields
	}{
		{
			"../events/read.go ../events/cloudevents.go", "consumption adjustment saturation release hold due cloudevent",
			units, "", "score", // that of a candidate is described where questions are
		},
		{
			"../questions/tree.go ../questions/route.go ../questions/parse.go ../questions/traffic.go", "question route-question reply question-error",
			units, "source id", "seq time lagMs", // those of asOf are in common.json
		},
		{"../plans/parsepool.go ../plans/parseplan.go ../plans/settings.go", "pool plan settings", settings, "", ""},
	} {
		read := namesIn(t, c.files)
		for _, name := range append(c.computed, strings.Fields(c.ignored)...) {
			read[name] = true
		}
		for _, name := range strings.Fields(c.beside) {
			delete(read, name)
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(read)), slices.Sorted(maps.Keys(fieldsOf(t, c.schemas)))); diff != "" {
			t.Errorf("%s read (-), %s define (+):\n%s", c.files, c.schemas, diff)
		}
	}
}

var fieldName = regexp.MustCompile(`^[a-z][A-Za-z_0-9]+$`)

// namesIn are the arguments of calls that look like names of fields.
func namesIn(t *testing.T, files string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range strings.Fields(files) {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, arg := range call.Args {
				if text, ok := arg.(*ast.BasicLit); ok && text.Kind == token.STRING {
					if name, err := strconv.Unquote(text.Value); err == nil && fieldName.MatchString(name) {
						names[name] = true
					}
				}
			}
			return true
		})
	}
	return names
}
