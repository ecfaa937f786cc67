package vitals

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// lookEvery is how old sizes may be. A log of 100 GB has 12,000 files, and to ask for
// their sizes takes a tenth of a second; nobody needs to know more often.
const lookEvery = 30 * time.Second

// names are those of the directories that have a size of their own.
var names = map[string]string{"nats": "log", "state": "state", "snapshots": "snapshots", "spool": "spool"}

// parts are the sizes of what is in a data directory.
type parts struct {
	dir string

	mu     sync.Mutex
	looked time.Time
	bytes  map[string]int64
}

// look returns the bytes by part, and keeps them for a while.
func (p *parts) look() map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bytes == nil || time.Since(p.looked) >= lookEvery {
		p.bytes, p.looked = sizes(p.dir), time.Now()
	}
	return maps.Clone(p.bytes)
}

// sizes adds up the files of each part. What is deleted meanwhile, and what cannot be
// read, has no size.
func sizes(dir string) map[string]int64 {
	sum := map[string]int64{"log": 0, "state": 0, "snapshots": 0, "spool": 0, "other": 0}
	root := os.DirFS(dir)
	_ = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // it has no size, and the others have
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum[partOf(path)] += info.Size()
		}
		return nil
	})
	return sum
}

// partOf is the part that a file belongs to.
func partOf(path string) string {
	first, _, below := strings.Cut(filepath.ToSlash(path), "/")
	if name, ok := names[first]; ok && below {
		return name
	}
	return "other"
}
