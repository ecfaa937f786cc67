package memstore_test

import (
	"testing"

	"github.com/quotashare/quotashare/projector"
	"github.com/quotashare/quotashare/projector/memstore"
	"github.com/quotashare/quotashare/projector/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func() projector.Store { return memstore.New() })
}
