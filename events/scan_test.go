package events

import (
	"strings"
	"testing"
)

// TestScannerRefusesWhatTheTreeRefuses has events with one fault each, alone in
// their message: in an array one fault makes the scanner give up on all of it,
// and hides what it thinks of the others.
func TestScannerRefusesWhatTheTreeRefuses(t *testing.T) {
	hold := func(rest string) string {
		return `{"id":"h","apiKeyId":"k","requestId":"r","decisionId":"d","estimate":{},` + rest + `}`
	}
	reading := func(rest string) string { return `{"connectionId":"c","readings":[{` + rest + `}]}` }
	cost := func(rest string) string { return `{"apiKeyId":"k","connectionId":"c","cost":{` + rest + `}}` }
	for subject, docs := range map[string][]string{
		"quota.hold": {
			hold(`"leaseMs":1`),
			hold(`"leaseMs":1,"connectionId":"c","pool":"p"`),
			hold(`"leaseMs":1,"pool":null`),
			hold(`"leaseMs":0,"pool":"p"`),
			hold(`"leaseMs":3600001,"pool":"p"`),
			hold(`"leaseMs":1,"pool":"p","maxWaitMs":-1`),
			hold(`"leaseMs":1,"pool":"p","maxWaitMs":3600001`),
			hold(`"leaseMs":1.5,"pool":"p"`),
			hold(`"leaseMs":null,"pool":"p"`),
			hold(`"pool":"p"`),
			strings.Replace(hold(`"leaseMs":1,"pool":"p"`), `"id":"h"`, `"id":null`, 1),
			strings.Replace(hold(`"leaseMs":1,"pool":"p"`), `"estimate":{}`, `"estimate":null`, 1),
			strings.Replace(hold(`"leaseMs":1,"pool":"p"`), `"estimate":{}`, `"estimate":{"usd":-1}`, 1),
			strings.Replace(hold(`"leaseMs":1,"pool":"p"`), `"decisionId":"d"`, `"x":"d"`, 1),
		},
		"quota.saturation": {
			reading(`"window":"5h","window":"5h","usedPercent":1`),
			reading(`"window":"5h","usedPercent":1,"usedPercent":1`),
			reading(`"window":"5h","usedPercent":-1`),
			reading(`"window":"5h","usedPercent":null`),
			reading(`"window":null,"usedPercent":1`),
			reading(`"window":"5H","usedPercent":1`),
			reading(`"window":"5h","usedPercent":1,"scope":""`),
			reading(`"window":"5h","usedPercent":1,"resetAt":1`),
			`{"connectionId":"c","readings":null}`,
			`{"connectionId":"c","readings":[null]}`,
			`{"connectionId":"c","readings":[` + strings.Repeat(`{"window":"5h","usedPercent":1},`, MaxReadings) + `{"window":"5h","usedPercent":1}]}`,
		},
		"quota.consumption": {
			cost(`"usd":-1`), cost(`"usd":1,"usd":1`), cost(`"Usd":1`), cost(`"x":null`), cost(`"usd":true`), cost(`"usd":""`), cost(`"tokens":1000000000000.001`),
			`{"apiKeyId":"k","connectionId":null}`,
			`{"apiKeyId":"k","connectionId":"c","connectionId":"c"}`,
			`{"apiKeyId":"k","connectionId":"c","x":1,"x":1}`,
			`{"apiKeyId":"k","connectionId":"c","partial":"true"}`,
			`{"apiKeyId":"k","connectionId":"c","cost":[]}`,
			`{"apiKeyId":"k","connectionId":"` + strings.Repeat("x", 257) + `"}`,
			`{"apiKeyId":"k","connectionId":"c","specversion":"1.0"}`,
		},
		"quota.adjustment": {
			`{"apiKeyId":"k","connectionId":"c"}`,
			`{"apiKeyId":"k","connectionId":"c","reason":""}`,
			`{"apiKeyId":"k","connectionId":"c","reason":"` + strings.Repeat("x", MaxReason+1) + `"}`,
		},
		"quota.release": {`{"apiKeyId":"k"}`, `{"apiKeyId":"k","requestId":7}`},
		"quota.due":     {`{"id":""}`, `{"time":5}`, `[{},[]]`},
	} {
		for _, doc := range docs {
			items, scanned := decodeBoth(t, &Message{Subject: subject, Data: []byte(doc)})
			if last := items[len(items)-1]; scanned || last.Err == nil {
				t.Errorf("%s %s: scanned %v, %v", subject, doc, scanned, last.Err)
			}
		}
	}
}

// TestScannerKnowsTheBounds: and takes what lies on them.
func TestScannerKnowsTheBounds(t *testing.T) {
	for subject, docs := range map[string][]string{
		"quota.hold":        {`{"id":"h","apiKeyId":"k","requestId":"r","decisionId":"d","estimate":{"usd":1000000},"leaseMs":"3600000","maxWaitMs":3600000,"pool":"p","connectionId":null}`},
		"quota.saturation":  {`{"connectionId":"c","readings":[` + strings.Repeat(`{"window":"rate","usedPercent":1e2,"scope":null},`, MaxReadings-1) + `{"window":"5h","usedPercent":0,"resetAt":946684800000}]}`},
		"quota.consumption": {`{"type":"quota.consumption","x":1,"apiKeyId":"k","connectionId":"é","cost":{"tokens":1000000000000,"usd":"1e-9","percent":null}}`},
		"quota.adjustment":  {`{"apiKeyId":"k","connectionId":"c","reason":"` + strings.Repeat("x", MaxReason) + `","cost":{"usd":-1000000}}`},
	} {
		for _, doc := range docs {
			items, scanned := decodeBoth(t, &Message{Subject: subject, Data: []byte(doc)})
			if !scanned || items[0].Err != nil {
				t.Errorf("%s %s: scanned %v, %v", subject, doc, scanned, items[0].Err)
			}
		}
	}
}
