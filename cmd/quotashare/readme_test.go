package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// block is a fenced block of a document.
type block struct {
	lang, text string
	line       int
}

// blocks returns the fenced blocks of a Markdown text.
func blocks(t *testing.T, text string) []block {
	t.Helper()
	var all []block
	var open *block
	for i, line := range strings.Split(text, "\n") {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{lang: lang, line: i + 1}
		case fence:
			all, open = append(all, *open), nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		t.Fatalf("the block of line %d has no end", open.line)
	}
	return all
}

// TestReadme runs the pages that are to be tried: every block of sh, in their
// order, against an engine of its own, and holds what it prints against the
// block of text that follows. There … stands for anything within a line, or,
// alone, for any lines. A block that names a file is that file. The gateway, which a
// block of bash has the reader start in another terminal, is started there, and the
// engine is stopped and started where the reader is told to.
func TestReadme(t *testing.T) {
	for page, least := range map[string]int{"README.md": 5, "docs/CONFIGURATION.md": 8, "docs/format/decide.md": 5, "docs/GATEWAY.md": 5, "docs/MIGRATION.md": 6, "docs/EXPLAIN.md": 4, "docs/OPERATIONS.md": 5, "docs/RETENTION.md": 1, "docs/PUBLISHING.md": 10, "examples/README.md": 2} {
		t.Run(strings.ToLower(strings.ReplaceAll(page, "/", "-")), func(t *testing.T) { runPage(t, page, least) })
	}
}

// started is how a page starts a gateway, with a file that it has.
var started = regexp.MustCompile(`bin/gateway --gateway-config (\S+)`)

// beside is what a reader does in another terminal.
func beside(text string) string {
	if file := started.FindStringSubmatch(text); file != nil {
		return "gateway " + file[1] + "\n"
	}
	switch {
	case strings.Contains(text, "Ctrl-C"):
		return "down\n"
	case text == "bin/quotashare up\n":
		return "up\n"
	}
	return ""
}

// runPage runs a page that has at least so many blocks of sh.
func runPage(t *testing.T, page string, least int) {
	text, err := os.ReadFile(filepath.Join(repo(t), page))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "up\nsymlink examples -> $REPO/examples\nmkdir bin\nexec bash -c 'ln -s \"$(command -v quotashare)\" bin/quotashare'\n"
	files, ran := "", 0
	for i, all := 0, blocks(t, string(text)); i < len(all); i++ {
		if _, file, named := strings.Cut(all[i].lang, " "); named {
			files += "-- " + file + " --\n" + all[i].text
		}
		if all[i].lang == "bash" {
			script += beside(all[i].text)
		}
		if all[i].lang != "sh" {
			continue
		}
		ran++
		name := fmt.Sprintf("line-%d.sh", all[i].line)
		write(t, filepath.Join(dir, name), onOurPorts(all[i].text))
		script += fmt.Sprintf("exec bash -euo pipefail %s\n", filepath.Join(dir, name))
		if i+1 < len(all) && all[i+1].lang == "text" {
			script += "stdout '" + pattern(all[i+1].text) + "'\n"
		}
	}
	if ran < least {
		t.Fatalf("%s has %d blocks to run: is it still a guide?", page, ran)
	}
	write(t, filepath.Join(dir, "page.txtar"), script+files)
	p := params(dir)
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("REPO", repo(t))
		return setup(env)
	}
	testscript.Run(t, p)
}

// onOurPorts makes the commands find the test's engine: README.md has the
// default addresses, which may be taken here.
func onOurPorts(text string) string {
	return strings.NewReplacer("127.0.0.1:8480", "$QUOTA_HTTP_ADDR", "127.0.0.1:8482", "$GATEWAY_ADDR", "/tmp/", "$WORK/").Replace(unquoteURLs(text))
}

// quotedURL is a URL in single quotes, in which no variable would be replaced.
var quotedURL = regexp.MustCompile(`'(http://127\.0\.0\.1:8480[^']*)'`)

func unquoteURLs(text string) string { return quotedURL.ReplaceAllString(text, `"$1"`) }

// pattern is the regular expression of an expected output: all of it.
func pattern(text string) string {
	quoted := regexp.QuoteMeta(text)
	quoted = strings.NewReplacer("\n…\n", `\n(?s:.*\n)?`, "…", ".*", "\n", `\n`).Replace(quoted)
	quoted = strings.TrimSuffix(quoted, `\n`)
	return `\A` + strings.ReplaceAll(quoted, "'", "''") + `\n*\z`
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Documents point at files; those must be there.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	var docs []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*.md"} {
		found, err := filepath.Glob(filepath.Join(repo(t), pattern))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, found...)
	}
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s: %s is not there", filepath.Base(doc), m[1])
			}
		}
	}
}
