package events

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocument checks that docs/format/events.md names what there is, and that
// its example is true.
func TestDocument(t *testing.T) {
	data, err := os.ReadFile("../docs/format/events.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	var words []string
	for k := Consumption; k <= ConfigSettings; k++ {
		words = append(words, "| `"+k.String())
	}
	for _, r := range []Reason{Undecodable, Invalid, IDConflict, OverflowReason, UnknownSubject, TTLNotAllowed, ConfigUnmarked, ConfigInvalid} {
		words = append(words, "| `"+string(r)+"` |")
	}
	for tag, field := range map[int]string{
		tagKind: "kind", tagID: "id", tagSource: "source", tagTime: "time", tagAPIKeyID: "apiKeyId", tagConnectionID: "connectionId", tagProvider: "provider", tagModel: "model",
		tagRequestID: "requestId", tagReason: "reason", tagPartial: "partial", tagEstimated: "estimated", tagCost: "cost", tagReadings: "readings", tagStatus: "status", tagHeaders: "headers",
		tagPool: "pool", tagCandidates: "candidates", tagLease: "leaseMs", tagMaxWait: "maxWaitMs", tagDecisionID: "decisionId", tagConfigID: "id of", tagDelete: "deletion", tagDocument: "document",
	} {
		words = append(words, fmt.Sprintf("\n| %d | %s", tag, field))
	}
	words = append(words, HeaderConfig, HeaderActor, HeaderReason, HeaderTTL, RejectedPrefix, RejectedStream)
	for _, word := range words {
		if !strings.Contains(doc, word) {
			t.Errorf("%q is not in it", word)
		}
	}
	_, rest, _ := strings.Cut(doc, "An example:\n\n")
	example, rest, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	e := decodeOne(t, "quota.consumption", example)
	if want := "canonical  " + hex.EncodeToString(e.AppendCanonical(nil)); !strings.HasPrefix(strings.TrimSpace(rest), want+"\n") {
		t.Errorf("the example's bytes are %s", want)
	}
}
