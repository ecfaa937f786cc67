//go:build linux && !arm64

package golden

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestOnArm64 runs the other tests built for arm64, on an emulator of its
// instructions. No part of this program is in C, so building it takes Go alone.
func TestOnArm64(t *testing.T) {
	emulator := lookFor(t, "qemu-aarch64", "qemu-aarch64-static")
	program := filepath.Join(t.TempDir(), "golden.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, ".")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build for arm64: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), emulator, program, "-test.v", "-test.count=1").CombinedOutput()
	if err != nil {
		t.Errorf("on arm64: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func lookFor(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("there is no qemu-aarch64 to run programs of another machine: apt-get install qemu-user")
	return ""
}
