package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dockerfile is the instructions in order, each with what follows it.
func dockerfile(t *testing.T) (all [][2]string) {
	t.Helper()
	for line := range strings.Lines(string(read(t, "../Dockerfile"))) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			verb, rest, _ := strings.Cut(line, " ")
			all = append(all, [2]string{verb, rest})
		}
	}
	return all
}

// said returns what follows an instruction that must be there once.
func said(t *testing.T, verb string) string {
	t.Helper()
	var found []string
	for _, one := range dockerfile(t) {
		if one[0] == verb {
			found = append(found, one[1])
		}
	}
	if len(found) != 1 {
		t.Fatalf("Dockerfile has %s %d times, want once", verb, len(found))
	}
	return found[0]
}

// environment is what the image sets.
func environment(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pair := range strings.Fields(said(t, "ENV")) {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return all
}

// command reads the form of a command that needs no shell.
func command(t *testing.T, verb string) []string {
	t.Helper()
	text := said(t, verb)
	var words []string
	if err := json.Unmarshal([]byte(text[strings.Index(text, "["):]), &words); err != nil {
		t.Fatalf("%s %s: %v", verb, text, err)
	}
	return words
}

// In an image of nothing, nothing can be run while it is built, and no shell starts a
// program.
func TestTheImageIsOfNothingButOurs(t *testing.T) {
	if first := dockerfile(t)[0]; first != [2]string{"FROM", "scratch"} {
		t.Errorf("it begins with %s", first)
	}
	for _, one := range dockerfile(t) {
		if known := strings.Fields("FROM COPY USER ENV VOLUME EXPOSE HEALTHCHECK ENTRYPOINT CMD"); !slices.Contains(known, one[0]) {
			t.Errorf("it has %s %s", one[0], one[1])
		}
	}
	if user := said(t, "USER"); !number.MatchString(user) {
		t.Errorf("it runs as %s", user)
	}
	if got := command(t, "HEALTHCHECK"); !slices.Equal(got, []string{"/bin/quotashare", "health"}) {
		t.Errorf("its health is asked for by %q", got)
	}
	if got := append(command(t, "ENTRYPOINT"), command(t, "CMD")...); !slices.Equal(got, []string{"/bin/quotashare", "up"}) {
		t.Errorf("it runs %q", got)
	}
}

// What programs write goes to a volume of their own, so that the rest may be read-only.
func TestWhatIsWrittenGoesToTheVolume(t *testing.T) {
	volume := said(t, "VOLUME")
	for _, name := range []string{"QUOTA_DATA_DIR", "TMPDIR"} {
		if got := environment(t)[name]; got != volume {
			t.Errorf("%s is %s, and the volume is %s", name, got, volume)
		}
	}
}

// layOut makes the folder that the image is built from, with an archive whose programs
// are not real: that those run is another test's, which takes long.
func layOut(t *testing.T) string {
	t.Helper()
	in, dir := filepath.Join(t.TempDir(), "quotashare-0"), filepath.Join(t.TempDir(), "files")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields("decider gateway ingest quotashare LICENSE README.md CHANGELOG.md") {
		if err := os.WriteFile(filepath.Join(in, name), []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	certificates := filepath.Join(in, "README.md")
	for _, argv := range [][]string{{"tar", "-czf", in + ".tar.gz", "-C", filepath.Dir(in), filepath.Base(in)}, {"./image", in + ".tar.gz", dir}} {
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "CA_CERTIFICATES="+certificates)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", argv, err, out)
		}
	}
	return dir
}

func TestWhatIsCopiedIsThere(t *testing.T) {
	dir := layOut(t)
	for _, one := range dockerfile(t) {
		if one[0] != "COPY" {
			continue
		}
		words := strings.Fields(one[1])
		if _, err := os.Stat(filepath.Join(dir, words[len(words)-2])); err != nil {
			t.Errorf("COPY %s: %v", one[1], err)
		}
	}
	var programs []string
	entries, err := os.ReadDir(filepath.Join(dir, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		programs = append(programs, e.Name())
	}
	if want := []string{"decider", "gateway", "ingest", "quotashare"}; !slices.Equal(programs, want) {
		t.Errorf("/bin has %s, want %s", programs, want)
	}
}

// A volume that is mounted where the image has no folder belongs to root.
func TestEveryVolumeHasAFolderOfTheUser(t *testing.T) {
	owned := map[string]bool{}
	for _, one := range dockerfile(t) {
		words := strings.Fields(one[1])
		if one[0] == "COPY" && words[0] == "--chown="+said(t, "USER") {
			owned[strings.TrimSuffix(words[2], "/")] = true
		}
	}
	for name, s := range compose(t) {
		for _, v := range s.Volumes {
			if target := strings.Split(v, ":")[1]; s.ours() && !owned[target] {
				t.Errorf("%s has the volume %s, and the image no folder %s of its user", name, v, target)
			}
		}
	}
}
