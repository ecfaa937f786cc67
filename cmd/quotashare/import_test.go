package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestStandardInputThatSaysNothingIsInterrupted(t *testing.T) {
	silent, other := io.Pipe()
	defer other.Close()
	ctx, stop := context.WithCancel(t.Context())
	in := interruptible(ctx, silent)
	stop()
	if _, err := io.ReadAll(in); !errors.Is(err, errInterrupted) {
		t.Errorf("read ended with %v, want %v", err, errInterrupted)
	}
}

func TestStandardInputIsReadToItsEnd(t *testing.T) {
	all, err := io.ReadAll(interruptible(t.Context(), strings.NewReader("a\nb\n")))
	if string(all) != "a\nb\n" || err != nil {
		t.Errorf("read %q, %v", all, err)
	}
}
