package config

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAGatewayThatIsToldOnlyItsConnections(t *testing.T) {
	got, err := GatewayText{GatewayConnections: "[]"}.Parse(DefaultGateway(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	want := Gateway{
		StoreNATSURL: "nats://127.0.0.1:4222", HTTPAddr: "127.0.0.1:8482", KeysFile: filepath.FromSlash("data/keys.json"),
		Connections: "[]", Timeout: time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Who issues tokens and who checks them must look into one file.
func TestTheKeyFileIsInTheDataDirectory(t *testing.T) {
	for _, tt := range []struct{ named, dir, want string }{
		{"", "", "data/keys.json"},
		{"", "/srv/q/", "/srv/q/keys.json"},
		{"k.json", "/srv/q", "k.json"},
		{"./k.json", "", "./k.json"},
	} {
		g, err := GatewayText{GatewayConnections: "[]", KeysFile: tt.named, DataDir: tt.dir}.Parse(DefaultGateway(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if issued := KeysFile(tt.named, tt.dir); filepath.ToSlash(g.KeysFile) != tt.want || issued != g.KeysFile {
			t.Errorf("%+v: checked in %s, issued into %s", tt, g.KeysFile, issued)
		}
	}
}
