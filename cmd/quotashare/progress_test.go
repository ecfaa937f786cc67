package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestProgressOnATerminal(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, 200, true)
	for range 2 {
		if _, err := p.Write(make([]byte, 50)); err != nil {
			t.Fatal(err)
		}
	}
	p.rows(7)
	p.done()
	if want := "\r[" + strings.Repeat("=", 20) + strings.Repeat(" ", 20) + "]  50 %  7 rows\n"; out.String() != want {
		t.Errorf("drawn %q, want %q", &out, want)
	}
}

func TestProgressOfAStreamCountsRows(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, 0, true)
	p.rows(7)
	if out.String() != "\r7 rows" {
		t.Errorf("drawn %q", &out)
	}
}

func TestNoProgressInAFile(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, 10, false)
	p.rows(7)
	p.done()
	if out.Len() > 0 {
		t.Errorf("drawn %q", &out)
	}
}
