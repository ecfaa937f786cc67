package decider

import (
	"context"
	"sync"
)

// gate is a door that people wait at while it is shut.
type gate struct {
	mu   sync.Mutex
	open bool
	// turn is closed, and replaced, at every turn of the door.
	turn chan struct{}
}

func newGate() *gate { return &gate{turn: make(chan struct{})} }

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != open {
		g.open = open
		close(g.turn)
		g.turn = make(chan struct{})
	}
}

func (g *gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// wait returns when the door is open, or with the context's error.
func (g *gate) wait(ctx context.Context) error {
	for {
		g.mu.Lock()
		open, turn := g.open, g.turn
		g.mu.Unlock()
		if open {
			return nil
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
