package config

import (
	"strings"
	"testing"
)

func TestSecretsAreNotShown(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"nats://a:4222":                         "nats://a:4222",
		"nats://token@a:4222,nats://u:pw@b:422": "nats://xxxxx@a:4222,nats://xxxxx@b:422",
		"nats://u:50%zz@a:4222":                 "nats://xxxxx@a:4222",
		"nats://u:p@w@a:4222":                   "nats://xxxxx@a:4222",
		"nats://u:p,w@a:4222,nats://b":          "nats://xxxxx@a:4222,nats://b",
		"nats://u:p/w@a:4222":                   "nats://xxxxx@a:4222",
		"u:pw@a:4222":                           "xxxxx@a:4222",
	} {
		if got := WithoutSecrets(text); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}

// TestAFaultOfRoutesHidesThePassword, however the route is spoilt.
func TestAFaultOfRoutesHidesThePassword(t *testing.T) {
	for _, routes := range []string{
		"nats://routes:S3cretPW%zz@b:6222", "nats://routes:S3cretPW@b", "http://routes:S3cretPW@b:6222",
		"nats://routes:S3cretPW,S3cretPW@b:6222", "routes:S3cretPW@b:6222", "nats://routes:x@S3cretPW@b",
	} {
		_, err := Text{ClusterName: "quota", ServerName: "a", ClusterRoutes: routes}.Parse(Default())
		if err == nil || !strings.Contains(err.Error(), "which is no route") || strings.Contains(err.Error(), "S3cret") {
			t.Errorf("%s: %v", routes, err)
		}
	}
}
