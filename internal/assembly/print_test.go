package assembly

import (
	"strings"
	"testing"
)

// TestWhatIsShownCanBeUsed: an address that stands for all is shown as one of them.
func TestWhatIsShownCanBeUsed(t *testing.T) {
	for text, want := range map[string]string{
		"https://[::]:8480":       "https://127.0.0.1:8480",
		"tls://0.0.0.0:4222":      "tls://127.0.0.1:4222",
		"http://10.0.0.7:8480":    "http://10.0.0.7:8480",
		"http://[::1]:8480":       "http://[::1]:8480",
		"nats://log.example:4222": "nats://log.example:4222",
	} {
		at, all := dialable(text)
		if at != want || all != (text != want) {
			t.Errorf("%s is shown as %s, all is %t", text, at, all)
		}
	}
}

// TestTheBannerOnEveryAddress names addresses that flags take, and what a program is for.
func TestTheBannerOnEveryAddress(t *testing.T) {
	cfg := onFreePorts(t)
	cfg.NATSAddr, cfg.HTTPAddr, cfg.APIToken = "0.0.0.0:0", ":0", "a token that nobody guesses"
	for _, decides := range []bool{true, false} {
		cfg.DataDir = t.TempDir()
		p := start(t, Parts{Name: "ingest", OwnsLog: true, Decides: decides}, cfg)
		var b strings.Builder
		p.Print(&b)
		if !strings.HasPrefix(p.NATSAddr(), "127.0.0.1:") || !strings.HasPrefix(p.HTTPAddr(), "127.0.0.1:") ||
			strings.Count(b.String(), "; and on every other address of this machine") != 2 {
			t.Errorf("it says\n%s", &b)
		}
		if status, body := ask(t, "GET", p.HTTP+"/healthz", ""); status != 200 {
			t.Errorf("%d %s", status, body)
		}
		if dashboard := strings.Contains(b.String(), "dashboard"); dashboard != decides || decides == strings.Contains(b.String(), "takes events at /api/quota/events") {
			t.Errorf("deciding is %t, and it says\n%s", decides, &b)
		}
		until(t, p.HTTP+"/readyz", "ok")
		p.end(t)
	}
}
