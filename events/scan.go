package events

import "github.com/quotashare/quotashare/wire"

func scanItems(data []byte, enc wire.Encoding, kind Kind, dst []Item) ([]Item, bool) {
	return dst, false
}
