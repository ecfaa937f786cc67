package questions

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/quotashare/quotashare/schemas/schematest"
)

// TestQuestionsAreAsTheirSchemaSays, those that are asked and those of the decision
// log, where nobody asks for another time.
func TestQuestionsAreAsTheirSchemaSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQuestion(t)
		doc, message := AppendQuestion(nil, &q), "question"
		if q.Routed() {
			message = "routeQuestion"
		}
		if err := schematest.Payload(message, doc); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if q.At == 0 {
			if err := schematest.Valid("decision#/$defs/RecordedQuestion", doc); err != nil {
				t.Fatalf("%s: %v", doc, err)
			}
		}
	})
}

// TestErrorsAreAsTheirSchemaSays, each code that there is.
func TestErrorsAreAsTheirSchemaSays(t *testing.T) {
	for _, code := range []string{CodeUndecodable, CodeInvalid, CodeTooMany, CodeTooLarge, CodeAtTooOld, CodeInternal} {
		doc := AppendError(nil, 0, &Error{Code: code, Message: "m"})
		if err := schematest.Payload("questionError", doc); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	}
}
