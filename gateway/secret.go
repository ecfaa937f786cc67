package gateway

import (
	"errors"
	"os"
	"strings"
	"sync"
	"time"
)

// secretAge is how old a credential from a file may be.
const secretAge = time.Second

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
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	value := strings.TrimSpace(string(data))
	if value == "" {
		return "", errors.New("has nothing in it: write the credential there")
	}
	return value, usable(value)
}

// usable says why a credential cannot be sent, and nothing of it.
func usable(value string) error {
	if strings.ContainsFunc(value, isControl) || strings.ContainsAny(value, " \t") || strings.Contains(value, "${") {
		return errors.New("has a blank, a control character or a ${ within: it is a token, or ${NAME} and nothing else")
	}
	return nil
}
