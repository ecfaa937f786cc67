package projector

import (
	"encoding/binary"
	"errors"
)

// A rejection stays in the store, from the batch of its message on, until
// QUOTA_REJECTED has it. These two functions are for the one who brings it
// there; they may run beside the loop.

// Rejection is a rejected event that is still in the store.
type Rejection struct {
	Seq   uint64
	Index int
	Value []byte // the message for QUOTA_REJECTED, JSON
}

// errEnough ends a scan.
var errEnough = errors.New("enough")

// Rejections returns the oldest rejections in the store, at most the given
// number.
func Rejections(store Reader, most int) (list []Rejection, err error) {
	err = store.Scan([]byte{tagRejected}, []byte{tagRejected + 1}, func(key, value []byte) error {
		if len(list) == most {
			return errEnough
		}
		if len(key) != 1+8+4 {
			return corrupt("rejection key", key)
		}
		list = append(list, Rejection{
			Seq:   binary.BigEndian.Uint64(key[1:]),
			Index: int(binary.BigEndian.Uint32(key[9:])),
			Value: append([]byte(nil), value...),
		})
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return list, err
}

// PendingRejection returns the message for QUOTA_REJECTED of an event that is not
// there yet as far as the store knows; ok is false when there is none.
func PendingRejection(store Reader, seq uint64, index int) (value []byte, ok bool, err error) {
	return store.Get(appendRejectedKey(nil, seq, index), nil)
}

// ForgetRejections deletes rejections that are safe elsewhere now.
func ForgetRejections(store Store, list []Rejection) error {
	b := store.NewBatch()
	for _, r := range list {
		if err := b.Delete(appendRejectedKey(nil, r.Seq, r.Index)); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	err := store.Commit(b)
	if errors.Is(err, ErrFull) {
		return errors.Join(err, b.Close())
	}
	return err
}
