package snapdir

// Stepped is the file system that tells of each change before it makes it, by what
// it will do. The tests of whoever keeps snapshots end their process there. A nil
// fs is the disk.
func Stepped(fs FS, step func(name string)) FS {
	if fs == nil {
		fs = disk{}
	}
	return stepped{fs, step}
}

type stepped struct {
	FS
	step func(name string)
}

func (s stepped) MkdirAll(dir string) error {
	s.step("make the directory")
	return s.FS.MkdirAll(dir)
}

func (s stepped) Create(path string) (File, error) {
	s.step("create")
	f, err := s.FS.Create(path)
	if err != nil {
		return nil, err
	}
	return steppedFile{f, s.step}, nil
}

func (s stepped) Rename(from, to string) error {
	s.step("rename")
	return s.FS.Rename(from, to)
}

func (s stepped) Remove(path string) error {
	s.step("remove")
	return s.FS.Remove(path)
}

func (s stepped) SyncDir(dir string) error {
	s.step("sync the directory")
	return s.FS.SyncDir(dir)
}

type steppedFile struct {
	File
	step func(name string)
}

func (f steppedFile) Write(p []byte) (int, error) {
	f.step("write")
	return f.File.Write(p)
}

func (f steppedFile) Sync() error {
	f.step("sync")
	return f.File.Sync()
}
