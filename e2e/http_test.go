package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// client keeps no connection: a process that is killed must not be waited for,
// and no goroutine may be left over. What it is answered is judged by the
// document that the process serves.
var client = &http.Client{Transport: judges}

func call(t *testing.T, method, url, contentType, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(deadline(t), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func decode(t *testing.T, text string, doc any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), doc); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}
