package gateway

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	secretAge = time.Second // how old a credential from a file may be
	secretMax = 64 << 10    // bytes of a file: many times the longest token
)

// secret is a credential, maybe of a file that somebody renews.
type secret struct {
	id   string // of the connection
	path string // "" = it does not change
	said func(connection string, err error)

	mu    sync.Mutex
	value string
	read  time.Time
	fault string // that was said
}

// now returns the credential. The last good one is used when the file has none: whoever
// writes it anew may be in the middle of it.
func (s *secret) now() string {
	if s.path == "" {
		return s.value
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) < secretAge {
		return s.value
	}
	s.read = time.Now()
	value, err := readFile(s.path)
	if err != nil {
		s.say(err)
		return s.value
	}
	s.value, s.fault = value, ""
	return value
}

// say says a fault once.
func (s *secret) say(err error) {
	if text := err.Error(); text != s.fault {
		s.fault = text
		s.said(s.id, err)
	}
}

// readFile returns the first credential of a file, which is all there should be.
func readFile(path string) (string, error) {
	data, err := readSome(path)
	if err != nil {
		return "", err
	}
	value := strings.TrimSpace(string(data))
	if value == "" {
		return "", errors.New("has nothing in it: write the credential there")
	}
	return value, usable(value)
}

// readSome returns what is in a file. Something else than a file is not opened: a pipe
// would wait for ever, and all calls of the connection with it. Nor is a file read
// without end, which others than we may have put there.
func readSome(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file: write the credential into one", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read
	data, err := io.ReadAll(io.LimitReader(f, secretMax+1))
	if err == nil && len(data) > secretMax {
		err = fmt.Errorf("%s has more than %d bytes: leave the credential alone in it", path, secretMax)
	}
	return data, err
}

// usable says why a credential cannot be sent, and nothing of it.
func usable(value string) error {
	if strings.ContainsFunc(value, isControl) || strings.ContainsAny(value, " \t") || strings.Contains(value, "${") {
		return errors.New("has a blank, a control character or a ${ within: it is a token, or ${NAME} and nothing else")
	}
	return nil
}
