package client

import (
	"context"
	"net/http"
	"sync"

	"golang.org/x/sync/semaphore"
)

// memory bounds what the bodies of requests take at once, until their responses begin:
// a few kilobytes may be compressed gigabytes. Who finds no room waits.
type memory struct {
	once sync.Once
	room *semaphore.Weighted
}

// perBody is how much room a body may need in bodies of the largest size: as it came,
// decoded, and changed. atOnce of those fit, so that a few may wait for their provider
// while others are read.
const (
	perBody = 3
	atOnce  = 4
)

// take waits for room, which give has to give back.
func (m *memory) take(ctx context.Context, n, maxBody int64) error {
	m.once.Do(func() { m.room = semaphore.NewWeighted(perBody * atOnce * maxBody) })
	return m.room.Acquire(ctx, n)
}

func (m *memory) give(n int64) { m.room.Release(n) }

// needs returns how much room the body of a request may need.
func needs(req *http.Request, maxBody int64) int64 {
	encoded := req.Header.Get("Content-Encoding")
	if n := req.ContentLength; n >= 0 && n <= maxBody && (encoded == "" || encoded == "identity") {
		return perBody * n
	}
	return perBody * maxBody
}
