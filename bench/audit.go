package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/quotashare/quotashare/httpapi"
	"github.com/quotashare/quotashare/questions"
)

// Auditor makes the command of another process that folds the log of the broker at
// that URL once, and leaves nothing but in that directory.
type Auditor func(url, dir string) *exec.Cmd

// auditing is an engine beside which the history is folded again.
type auditing struct {
	*arena
	r    *runner
	p    *paced
	last uint64 // sequence of the history
	made [2]int // audits that came to their end: here, and in the other process
}

// audit measures how fast events are folded, and how long answers take, while an audit
// folds the log again: in this process, where it gives way to the fold, and in
// another one, which has to share the machine. The bare part is the same without.
func audit(ctx context.Context, r *runner) (rows []Row, err error) {
	a := &auditing{r: r}
	if a.arena, err = r.openArena(ctx, 0, []byte(question)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	if a.last, err = (logShape{perMessage: besideArray}).write(ctx, a.js, r.events); err != nil {
		return nil, err
	}
	if a.p, err = newPaced(a.client); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.p.close()) }()
	names, sides := []string{"here"}, []side{a.beside(idle), a.beside(a.explained)}
	if r.auditor != nil {
		names, sides = append(names, "in another process"), append(sides, a.beside(a.elsewhere))
	}
	all, err := turns(ctx, r.foldRounds, sides...)
	if err != nil {
		return nil, err
	}
	for i, where := range names {
		d := duel{ours: all[i+1], bare: all[0]}
		name := "fold while an audit runs " + where
		rate := d.of(name, "events/s", func(s slice) float64 { return s.value }).judged(ratioAtLeast(0.9))
		p99 := d.p99("decide while an audit runs " + where).judged(ratioAtMost(1 / 0.9))
		rate.Note = fmt.Sprintf("%d audits of %d events came to their end", a.made[i], r.events)
		p99.Note = fmt.Sprintf("%d events/s published, %d requests/s", besideEvents, besideQuestions)
		rows = append(rows, rate, p99)
	}
	return rows, nil
}

// idle is no audit.
func idle(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// explained makes explanations in this process, one after the other, of an answer at
// the end of the history.
func (a *auditing) explained(ctx context.Context) error {
	q := httpapi.ExplainQuery{Question: questions.Question{APIKeyID: keyName(0), ConnectionID: connection}, Seq: a.last, Top: 10}
	for ctx.Err() == nil {
		if _, err := a.engine.Explain(ctx, &q); err != nil {
			return ended(ctx, err)
		}
		a.made[0]++
	}
	return nil
}

// elsewhere has another process fold the log, again and again.
func (a *auditing) elsewhere(ctx context.Context) error {
	dir := filepath.Join(a.r.dir, "elsewhere")
	for ctx.Err() == nil {
		cmd := a.r.auditor(a.server.ClientURL(), dir)
		if err := runUntil(ctx, cmd); err != nil {
			return ended(ctx, err)
		}
		a.made[1]++
	}
	return nil
}

// ended is nil when it is over because it was told to end.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// runUntil runs a command, which is told to end when the context ends: killed, it would
// leave its files.
func runUntil(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errors.Join(cmd.Process.Signal(os.Interrupt), <-done)
	}
}

// beside makes a slice of what an engine does while the audit runs: answers timed
// while events come at a fixed rate, and then events as fast as they are taken.
func (a *auditing) beside(audit func(context.Context) error) side {
	return func(ctx context.Context) (s slice, err error) {
		running, stop := context.WithCancel(ctx)
		over := make(chan error, 1)
		go func() { over <- audit(running) }()
		defer func() {
			stop()
			err = errors.Join(err, <-over)
		}()
		timed, err := a.r.loaded(ctx, a.arena, a.p, questions.Subject, "quota.consumption")
		if err != nil {
			return s, err
		}
		s, err = a.burst(ctx)
		s.p50, s.p99 = timed.p50, timed.p99
		return s, err
	}
}

// burst publishes events as fast as the broker takes them, and returns how many a
// second could be asked about.
func (a *auditing) burst(ctx context.Context) (slice, error) {
	p := publisher{js: a.js, subject: "quota.consumption"}
	bodies := arraysOf(besideArray)
	m := startMeter()
	n := 0
	for ; n < a.r.burst; n += besideArray {
		if err := p.send(bodies[n/besideArray%len(bodies)]); err != nil {
			return slice{}, err
		}
	}
	seq, err := p.flush(ctx)
	if err == nil {
		err = a.engine.await(ctx, seq)
	}
	return m.rate(n), err
}
