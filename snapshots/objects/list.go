package objects

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// contents are what the bucket's stream has.
type contents struct {
	now    time.Time         // by the broker's clock
	pieces map[string]uint64 // how many there are, by the id of their object
	names  []string          // subjects
}

// contents asks for the number of messages on each subject. That is one request:
// whether an object has all its pieces is known without reading one of them.
func (s *Store) contents(ctx context.Context, stream jetstream.Stream) (contents, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(allSubjects))
	if err != nil {
		return contents{}, wrap("list", err)
	}
	c := contents{now: info.TimeStamp, pieces: make(map[string]uint64)}
	for subject, n := range info.State.Subjects {
		if id, ok := strings.CutPrefix(subject, piecesPrefix); ok {
			c.pieces[id] = n
		}
		if strings.HasPrefix(subject, namesPrefix) {
			c.names = append(c.names, subject)
		}
	}
	return c, nil
}

// named reads what a name stands for; nil when it was removed meanwhile.
func (s *Store) named(ctx context.Context, stream jetstream.Stream, subject string) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	m, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return m, wrap("read what is named", err)
}

// List returns the snapshots that were stored to the end, the newest first, none
// when there is no bucket.
func (s *Store) List(ctx context.Context) ([]Object, error) {
	all, err := s.entries(ctx)
	list := make([]Object, len(all))
	for i, e := range all {
		list[i] = e.Object
	}
	return list, err
}

func (s *Store) entries(ctx context.Context) ([]entry, error) {
	stream, err := s.look(ctx)
	if stream == nil {
		return nil, err
	}
	c, err := s.contents(ctx, stream)
	if err != nil {
		return nil, err
	}
	var list []entry
	for _, subject := range c.names {
		m, err := s.named(ctx, stream, subject)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		if e, err := parse(m); err == nil && e.pieces == c.pieces[e.id] {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(b.Header.Seq, a.Header.Seq) })
	return list, nil
}
