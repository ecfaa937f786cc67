package pebblestore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/quotashare/quotashare/projector/pebblestore"
)

func TestATemporaryStoreIsGoneAtTheEnd(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "made")
	s, err := pebblestore.Temporary(parent, nil)()
	if err != nil {
		t.Fatal(err)
	}
	if list, _ := os.ReadDir(parent); len(list) != 1 {
		t.Errorf("there is %v while it is open", list)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if list, _ := os.ReadDir(parent); len(list) != 0 {
		t.Errorf("%v is left", list)
	}
}

// TestATemporaryStoreNeedsAPlace: one that cannot be made is an error that says where.
func TestATemporaryStoreNeedsAPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := pebblestore.Temporary(file, nil)(); err == nil {
		t.Error("a store below a file", s.Close())
	}
}
