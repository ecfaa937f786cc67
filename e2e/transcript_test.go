package e2e

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
)

// transcript collects what something writes, and lets others wait for it.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
	turn chan struct{} // closed, and replaced, at every write
}

func newTranscript() *transcript { return &transcript{turn: make(chan struct{})} }

// Write implements io.Writer.
func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.turn)
	w.turn = make(chan struct{})
	return w.text.Write(p)
}

// String returns everything so far.
func (w *transcript) String() string {
	text, _ := w.now()
	return text
}

func (w *transcript) now() (string, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String(), w.turn
}

// await returns the text once it contains the words.
func (w *transcript) await(ctx context.Context, t *testing.T, words string) string {
	t.Helper()
	for {
		text, turn := w.now()
		if strings.Contains(text, words) {
			return text
		}
		select {
		case <-turn:
		case <-ctx.Done():
			t.Fatalf("nobody said %q:\n%s", words, text)
		}
	}
}
