package natsusers_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/quotashare/quotashare/ingest/natsusers"
	"github.com/quotashare/quotashare/ingest/natsusers/login"
)

// fates says what Write did.
func fates(made []natsusers.Written) string {
	var all []string
	for _, w := range made {
		all = append(all, fmt.Sprintf("%s %s %s", w.User, w.Role, w.Fate))
	}
	return strings.Join(all, ", ")
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	must(t, err)
	return string(data)
}

// TestWriteKeepsWhatIsThere, and changes what it is asked to.
func TestWriteKeepsWhatIsThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "users")
	conf := ""
	for _, step := range []struct {
		want  natsusers.Want
		fates string
		same  bool // the configuration
	}{
		{natsusers.Want{}, "ingest ingest made, decider decider made, admin admin made, viewer viewer made, gateway gateway made", false},
		{natsusers.Want{}, "ingest ingest kept, decider decider kept, admin admin kept, viewer viewer kept, gateway gateway kept", true},
		{
			natsusers.Want{Gateways: []string{"omni", "omni", "a"}, Rotate: []string{"viewer"}},
			"ingest ingest kept, decider decider kept, admin admin kept, viewer viewer made, a gateway made, gateway gateway kept, omni gateway made", false,
		},
		{
			natsusers.Want{Remove: []string{"gateway"}},
			"ingest ingest kept, decider decider kept, admin admin kept, viewer viewer kept, a gateway kept, omni gateway kept", false,
		},
		{
			natsusers.Want{Isolate: true},
			"ingest ingest kept, decider decider kept, admin admin kept, viewer viewer kept, a gateway kept, omni gateway kept", false,
		},
		{
			natsusers.Want{Isolate: true},
			"ingest ingest kept, decider decider kept, admin admin kept, viewer viewer kept, a gateway kept, omni gateway kept", true,
		},
	} {
		made, err := natsusers.Write(dir, step.want)
		must(t, err)
		if got := fates(made); got != step.fates {
			t.Errorf("%+v: %s", step.want, got)
		}
		next := read(t, dir, natsusers.ConfigName)
		if (next == conf) != step.same {
			t.Errorf("%+v: the configuration is the same: %t", step.want, next == conf)
		}
		conf = next
	}
	if _, err := os.Stat(filepath.Join(dir, "gateway.user")); !os.IsNotExist(err) {
		t.Errorf("the login of who is gone: %v", err)
	}
}

// TestFilesAreForTheirOwner, and no password is in the configuration.
func TestFilesAreForTheirOwner(t *testing.T) {
	dir := t.TempDir()
	_, err := natsusers.Write(dir, natsusers.Want{})
	must(t, err)
	must(t, os.Chmod(filepath.Join(dir, "viewer.user"), 0o644))
	_, err = natsusers.Write(dir, natsusers.Want{Gateways: []string{"omni"}})
	must(t, err)
	list, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range list {
		info, err := e.Info()
		must(t, err)
		if info.Mode() != 0o600 {
			t.Errorf("%s has mode %s", e.Name(), info.Mode())
		}
	}
	if len(list) != 8 { // with the lock
		t.Errorf("there are %v", list)
	}
	conf := read(t, dir, natsusers.ConfigName)
	for _, user := range []string{"ingest", "omni"} {
		l, err := login.Read(filepath.Join(dir, user+natsusers.LoginSuffix))
		must(t, err)
		if l.User != user || len(l.Password) < 26 || strings.Contains(conf, l.Password) {
			t.Errorf("the login of %s is %q, or its password is in the configuration", user, l)
		}
	}
}

// TestLoginsAndConfigurationsApart: either may be elsewhere, or be all that a run that was
// killed has left.
func TestLoginsAndConfigurationsApart(t *testing.T) {
	dir := t.TempDir()
	_, err := natsusers.Write(dir, natsusers.Want{})
	must(t, err)
	omni, admin, conf := filepath.Join(dir, "gateway.user"), filepath.Join(dir, "admin.user"), filepath.Join(dir, natsusers.ConfigName)
	was := read(t, omni)
	must(t, os.Remove(conf))
	must(t, os.Remove(admin))
	made, err := natsusers.Write(dir, natsusers.Want{})
	must(t, err)
	if got := read(t, omni); got != was || !strings.Contains(fates(made), "admin admin made") {
		t.Errorf("without the configuration: %s", fates(made))
	}
	must(t, os.Remove(admin))
	made, err = natsusers.Write(dir, natsusers.Want{})
	must(t, err)
	if got := fates(made); !strings.Contains(got, "admin admin unknown, viewer viewer kept") {
		t.Errorf("without a login: %s", got)
	}
	if _, err := os.Stat(admin); !os.IsNotExist(err) {
		t.Errorf("a login that nobody can know: %v", err)
	}
	must(t, os.WriteFile(omni, []byte("gateway:other\n"), 0o600))
	if _, err := natsusers.Write(dir, natsusers.Want{}); !errors.Is(err, natsusers.ErrOtherFile) || !strings.Contains(err.Error(), omni) {
		t.Errorf("with another password: %v", err)
	}
	must(t, os.WriteFile(omni, []byte("viewer:other\n"), 0o600))
	if _, err := natsusers.Write(dir, natsusers.Want{}); err == nil || !strings.Contains(err.Error(), omni) {
		t.Errorf("with the login of another: %v", err)
	}
	for _, bad := range []string{"", "gateway", "gateway:", ":x", "gateway:x\ny:z", "gateway:" + strings.Repeat("x", 2000)} {
		must(t, os.WriteFile(omni, []byte(bad), 0o600))
		if _, err := natsusers.Write(dir, natsusers.Want{}); err == nil || !strings.Contains(err.Error(), "name:password") {
			t.Errorf("with %.20q: %v", bad, err)
		}
	}
}

// TestWhatIsRefused leaves everything as it was.
func TestWhatIsRefused(t *testing.T) {
	dir := t.TempDir()
	_, err := natsusers.Write(dir, natsusers.Want{Gateways: []string{"omni"}, Isolate: true})
	must(t, err)
	was := read(t, dir, natsusers.ConfigName)
	for what, w := range map[string]natsusers.Want{
		`gateway "": use`:                        {Gateways: []string{""}, Isolate: true},
		`gateway "a.b": use`:                     {Gateways: []string{"a.b"}, Isolate: true},
		`gateway "../a": use`:                    {Gateways: []string{"../a"}, Isolate: true},
		`gateway "decider": the name`:            {Gateways: []string{"decider"}, Isolate: true},
		`gateway "quotashare": the name`:         {Gateways: []string{"quotashare"}, Isolate: true},
		`gateway "routes": the name`:             {Gateways: []string{"routes"}, Isolate: true},
		`rotate "gateway": there is no`:          {Rotate: []string{"gateway"}, Isolate: true},
		`remove "admin": there is no`:            {Remove: []string{"admin"}, Isolate: true},
		dir + `: the gateways are isolated, and`: {},
	} {
		if _, err := natsusers.Write(dir, w); err == nil || !strings.HasPrefix(err.Error(), what) {
			t.Errorf("%+v: %v", w, err)
		}
	}
	if read(t, dir, natsusers.ConfigName) != was {
		t.Error("the configuration is another one")
	}
}

// TestRotation: the old password is refused, and so is whoever has none.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	_, err := natsusers.Write(dir, natsusers.Want{})
	must(t, err)
	old, err := login.Read(filepath.Join(dir, "gateway.user"))
	must(t, err)
	_, err = natsusers.Write(dir, natsusers.Want{Rotate: []string{"gateway"}})
	must(t, err)
	now, err := login.Read(filepath.Join(dir, "gateway.user"))
	must(t, err)
	url := serve(t, "", filepath.Join(dir, natsusers.ConfigName))
	for who, options := range map[string][]nats.Option{
		"nobody": nil, "the old password": old.Options(), "a token": {nats.Token(now.Password)},
	} {
		if nc, err := nats.Connect(url, options...); !errors.Is(err, nats.ErrAuthorization) {
			nc.Close()
			t.Errorf("%s: %v", who, err)
		}
	}
	nc, err := nats.Connect(url, now.Options()...)
	must(t, err)
	nc.Close()
}
