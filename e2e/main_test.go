// Package e2e tests the engine from outside: real brokers, real stores on a
// real disk, real programs, and clients that share no code with it.
//
// Most tests start the program quotashare, which is built once per run. Those
// that have to get between the engine and its files run the same parts in this
// process.
//
// The clients that are not Go are in e2e/node; their packages are fetched once:
//
//	cd e2e/node && npm ci
//
// Variables:
//
//	QUOTASHARE_E2E_LONG=1  kills programs 50 times instead of 10, rushes a limit
//	                       200 times instead of 20, and damages every file in
//	                       more places
//	QUOTASHARE_CLUSTER_FOR=5m
//	                       kills the processes of a cluster for so long, and not
//	                       each kind once
//	QUOTASHARE_E2E_SEED=n  repeats a run: every random choice follows from the
//	                       seed, which each test that chooses prints
//
// Nothing here waits for a length of time. What is waited for is an event (an
// acknowledgement, a line in a log, a sequence that is folded), and deadline
// ends the wait for what never comes.
package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quotashare/quotashare/internal/brokertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	removePrograms()
	for _, fault := range judges.faults {
		fmt.Fprintln(os.Stderr, "an answer is not as the OpenAPI document says:", fault)
		code = 1
	}
	if code == 0 {
		if err := goleak.Find(pebbleTicker, brokertest.LostChannel); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left over:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// pebbleTicker is a goroutine that Pebble leaves behind when it refuses to open
// a damaged store. It is Pebble's, and ends with the process.
var pebbleTicker = goleak.IgnoreTopFunction("github.com/cockroachdb/pebble/v2/vfs.(*diskHealthCheckingFS).startTickerLocked.func1")

// patience is how long a test waits for what should come at once. It is long
// because the machine may be busy, and costs nothing when all is well.
const patience = time.Minute

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func long() bool { return os.Getenv("QUOTASHARE_E2E_LONG") != "" }

// dice returns the random choices of a test and prints their seed.
func dice(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("QUOTASHARE_E2E_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("QUOTASHARE_E2E_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("repeat with QUOTASHARE_E2E_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
