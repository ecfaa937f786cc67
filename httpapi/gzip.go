package httpapi

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Gzip may become maxBody, and beyond that maxInflation bytes for each of its own and
// lineInflation for each line that has a result. Zeros become 1,030 times as short, and
// who sends those means to keep us busy; but so does one event that is sent a million
// times, which is honest, and has results to be waited for. A body that is read whole
// ends at maxBody anyway.
const (
	maxInflation  = 100
	lineInflation = 16 << 10
)

// isZipped says whether the body came as gzip. Other encodings are not read.
func isZipped(r *http.Request) (bool, error) {
	zipped := false
	for _, value := range r.Header["Content-Encoding"] {
		for name := range strings.SplitSeq(value, ",") {
			name = strings.TrimSpace(name)
			switch {
			case name == "", strings.EqualFold(name, "identity"):
			case !zipped && (strings.EqualFold(name, "gzip") || strings.EqualFold(name, "x-gzip")):
				zipped = true
			default:
				f := unsupported("content-encoding: " + quote(value) + " is not read here: send the body as it is, or in gzip, once")
				f.accept = "gzip"
				return false, f
			}
		}
	}
	return zipped, nil
}

// unzipped is what a body was before gzip. It has memory for the window of that and no
// more, whatever comes.
type unzipped struct {
	src  io.Reader
	most int64 // bytes of src; 0 = it has no end

	in, out int64
	results int64 // of lines
	err     error // of src
	zip     *gzip.Reader
}

// begin reads as far as to see that it is gzip at all.
func (u *unzipped) begin() error {
	if u.zip != nil {
		return nil
	}
	z, err := gzip.NewReader(compressed{u})
	if err != nil {
		return u.fault(err)
	}
	u.zip = z
	return nil
}

// Read refuses, by a fault, what is no gzip, and what keeps growing. What src has to say
// is passed on.
func (u *unzipped) Read(p []byte) (n int, err error) {
	if err := u.begin(); err != nil {
		return 0, err
	}
	n, err = u.zip.Read(p)
	if u.out += int64(n); u.out > maxBody+maxInflation*u.in+lineInflation*u.results {
		return 0, tooLarge("content-encoding: the body is gzip of almost nothing, more than 100 times as large: send it as it is")
	}
	return n, u.fault(err)
}

// fault tells errors of gzip from those of src. The end of an empty body is one too.
func (u *unzipped) fault(err error) error {
	switch {
	case u.most > 0 && u.in > u.most:
		return bodyTooLarge(int(u.most))
	case err == nil || err == io.EOF:
		return err
	case u.err != nil && u.err != io.EOF:
		return u.err
	}
	return undecodable(fmt.Errorf("content-encoding: the body is not gzip to its end: %w", err))
}

// compressed is the other side of an unzipped body.
type compressed struct{ u *unzipped }

// Read counts. It ends one byte behind the bound, so that unzipping ends too.
func (c compressed) Read(p []byte) (n int, err error) {
	u := c.u
	if u.most > 0 {
		p = p[:min(int64(len(p)), u.most+1-u.in)]
		if len(p) == 0 {
			return 0, io.EOF
		}
	}
	n, err = u.src.Read(p)
	u.in += int64(n)
	u.err = err
	return n, err
}
