package program

import (
	"io"
	"log/slog"
	"os"

	"github.com/lmittmann/tint"
)

// Logger writes to w, in colour when w is a terminal.
func Logger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05.000", NoColor: !Terminal(w)}))
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
