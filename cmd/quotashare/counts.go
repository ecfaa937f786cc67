package main

import (
	"context"
	"encoding/json"
	"fmt"
)

// counts is what became of the events of the log since it began. What others
// publish during an import is counted with it.
type counts struct{ Folded, Duplicates, Late, Rejected uint64 }

// counts asks for them once everything up to minSeq is folded.
func (c *client) counts(ctx context.Context, minSeq uint64) (counts, error) {
	page, err := c.state(ctx, minSeq, false)
	if err != nil {
		return counts{}, err
	}
	var doc struct{ Counts *counts }
	if err := json.Unmarshal(page, &doc); err != nil || doc.Counts == nil {
		return counts{}, fmt.Errorf("the engine's state cannot be read: %s", page)
	}
	return *doc.Counts, nil
}

// since returns what was counted after an earlier look.
func (n counts) since(before counts) counts {
	return counts{
		Folded: n.Folded - before.Folded, Duplicates: n.Duplicates - before.Duplicates,
		Late: n.Late - before.Late, Rejected: n.Rejected - before.Rejected,
	}
}
