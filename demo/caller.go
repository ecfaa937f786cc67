package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/quotashare/quotashare/dialect"
)

// caller is the client of one key. It does as the SDKs do: it sends its token the way
// its API has it, reads answers to their end, and of a refusal that says so
// (X-Should-Retry: false, which is said of every wait above a minute) it does not try
// the same request again.
type caller struct {
	habit *habit
	url   string // of the gateway
	token string
	http  *http.Client
}

// callWithin bounds one request.
const callWithin = 30 * time.Second

// ask makes one request. A refusal for now is no error; anything else but an answer is.
func (c *caller) ask(ctx context.Context, r *request) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	body, _ := json.Marshal(c.body(r)) // strings and numbers
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+c.habit.api.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.habit.api == dialect.Messages {
		req.Header.Set("X-Api-Key", c.token)
		req.Header.Set("Anthropic-Version", "2023-06-01")
	} else {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it is read
	if err := c.read(resp); err != nil {
		return fmt.Errorf("the answer to %s of %s: %w", c.habit.api, c.habit.key, err)
	}
	return nil
}

func (c *caller) body(r *request) map[string]any {
	body := map[string]any{
		"messages": []any{map[string]any{"role": "user", "content": r.prompt}}, "stream": c.habit.stream,
	}
	if c.habit.api == dialect.Messages {
		body["model"], body["max_tokens"] = "claude-sonnet-4-5", r.answer
	} else {
		body["model"], body["max_completion_tokens"] = "gpt-5", r.answer
	}
	return body
}

var errCut = errors.New("it ends before its end")

// read reads an answer to its end.
func (c *caller) read(resp *http.Response) error {
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		_, err := io.Copy(io.Discard, resp.Body)
		return err
	case resp.StatusCode != http.StatusOK:
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(text))
	case c.habit.stream:
		return c.readStream(resp.Body)
	}
	var doc struct{ ID string }
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
		return err
	}
	if doc.ID == "" {
		return errCut
	}
	return nil
}

// readStream reads events until the one that the API ends with.
func (c *caller) readStream(r io.Reader) error {
	end := "data: [DONE]"
	if c.habit.api == dialect.Messages {
		end = "event: message_stop"
	}
	last := ""
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, end) {
			last = line
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if last == "" {
		return errCut
	}
	return nil
}
