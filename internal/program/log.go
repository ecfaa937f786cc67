package program

import (
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/lmittmann/tint"

	"github.com/quotashare/quotashare/config"
)

// Logger writes to w, in colour when w is a terminal.
func Logger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05.000", NoColor: !Terminal(w)}))
}

// Logger returns the log of the process. It begins with a warning for each
// variable that looks like configuration and is none: a mistyped name would else
// be a setting that quietly does nothing.
func (p Process) Logger(level slog.Level) *slog.Logger {
	log := Logger(p.Stderr, level)
	known := config.Variables()
	for _, pair := range p.Env {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "QUOTA_") && !slices.Contains(known, name) {
			log.Warn("this variable sets nothing; --help names those that do", "variable", name)
		}
	}
	return log
}

// Terminal reports whether w is one, so that colours and progress bars never
// get into a file.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0 && os.Getenv("TERM") != "dumb"
}
