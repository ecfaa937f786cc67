// What is in this folder, and beside it for Docker, is text that others run: the tests
// read it as they do, and hold it to the programs that it is for.
package deploy

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/quotashare/quotashare/config"
	"github.com/quotashare/quotashare/internal/program"
)

// service is what matters here of one in a compose file.
type service struct {
	Image       string
	PullPolicy  string `yaml:"pull_policy"`
	User        string
	ReadOnly    bool     `yaml:"read_only"`
	CapDrop     []string `yaml:"cap_drop"`
	SecurityOpt []string `yaml:"security_opt"`
	Restart     string
	Profiles    []string
	Entrypoint  []string
	Environment map[string]string
	Ports       []string
	Volumes     []string
	Healthcheck struct {
		Test    []string
		Disable bool
	}
}

// ours reports whether it is one of our programs.
func (s *service) ours() bool { return strings.HasPrefix(s.Image, "quotashare:") }

func compose(t *testing.T) map[string]*service {
	t.Helper()
	var file struct{ Services map[string]*service }
	if err := yaml.Unmarshal(read(t, "../docker-compose.yml"), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Services) == 0 {
		t.Fatal("docker-compose.yml has no services")
	}
	return file.Services
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A variable that no program reads is a setting that somebody believes in.
func TestVariablesAreThoseOfThePrograms(t *testing.T) {
	known := config.Variables()
	for name, s := range compose(t) {
		for variable := range s.Environment {
			if s.ours() && !slices.Contains(known, variable) {
				t.Errorf("service %s sets %s, which is none of %s", name, variable, known)
			}
		}
	}
	for variable := range environment(t) {
		if strings.HasPrefix(variable, "QUOTA_") && !slices.Contains(known, variable) {
			t.Errorf("Dockerfile sets %s, which is none of %s", variable, known)
		}
	}
}

// What a program would refuse at its start is refused here: what listens beyond its own
// machine without users and tokens is.
func TestVariablesAreAConfiguration(t *testing.T) {
	for name, s := range compose(t) {
		if !s.ours() || s.Profiles != nil {
			continue
		}
		variables := environment(t)
		maps.Copy(variables, s.Environment)
		var given config.Text
		fields := reflect.ValueOf(&given).Elem()
		for i, variable := range config.Variables()[:fields.NumField()] { // those of Text are the first
			fields.Field(i).SetString(variables[variable])
		}
		got, err := given.Parse(config.Default())
		if err != nil {
			t.Errorf("service %s: %v", name, err)
		}
		if got.HTTPAddr != "0.0.0.0:8480" || got.Replicas != 3 && s.Entrypoint[0] == "/bin/ingest" {
			t.Errorf("service %s listens at %s and keeps the log on %d nodes", name, got.HTTPAddr, got.Replicas)
		}
	}
}

// number is a user by number, and not root.
var number = regexp.MustCompile(`^[1-9][0-9]*:[0-9]+$`)

func TestServicesMayDoNoMoreThanTheyMust(t *testing.T) {
	for name, s := range compose(t) {
		once := slices.Equal(s.Profiles, []string{"setup"}) // it runs when it is called, and ends
		for problem, is := range map[string]bool{
			"is not read-only":                    !s.ReadOnly,
			"has capabilities":                    !slices.Equal(s.CapDrop, []string{"ALL"}),
			"may gain privileges":                 !slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}),
			"runs as root, or as who knows":       !number.MatchString(s.User),
			"does not come back":                  s.Restart != "unless-stopped" && !once,
			"has no health check":                 (len(s.Healthcheck.Test) == 0 || s.Healthcheck.Disable) && !once,
			"needs a shell to be checked":         len(s.Healthcheck.Test) > 0 && s.Healthcheck.Test[0] != "CMD",
			"is of no fixed version":              !regexp.MustCompile(`:v?[0-9]+\.[0-9]+\.[0-9]+$`).MatchString(s.Image),
			"is of another version than programs": s.ours() && s.Image != "quotashare:"+program.Version,
			"may be somebody else's image":        s.ours() && s.PullPolicy != "never",
			"is open to other machines":           slices.ContainsFunc(s.Ports, func(p string) bool { return !strings.HasPrefix(p, "127.0.0.1:") }),
		} {
			if is {
				t.Errorf("service %s %s", name, problem)
			}
		}
	}
}

// Two services that write to one volume would be two stores in one directory.
func TestNoTwoServicesWriteToOneVolume(t *testing.T) {
	writer := map[string]string{}
	for name, s := range compose(t) {
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if strings.HasSuffix(v, ":ro") {
				continue
			}
			if other, taken := writer[source]; taken {
				t.Errorf("%s and %s write to the volume %s", name, other, source)
			}
			writer[source] = name
		}
	}
}
