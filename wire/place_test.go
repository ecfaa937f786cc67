package wire

import "testing"

func TestWhereADocumentStopsBeingOne(t *testing.T) {
	for _, tt := range []struct{ doc, want string }{
		{"x", "line 1, column 1: not well formed: invalid character 'x' looking for beginning of value"},
		{"{\n  \"a\": 1,\n}", "line 3, column 1: not well formed: invalid character '}' looking for beginning of object key string"},
		{"{\n  \"é\": 1 \"b\"\n}", "line 2, column 10: not well formed: invalid character '\"' after object key:value pair"},
		{"\ufeff{\"a\": 1]", "line 1, column 8: not well formed: invalid character ']' after object key:value pair"},
		{"{\n\"a\": [\n", "line 3, column 1: not well formed: unexpected EOF"},
		{"{\r\n\"a\": \"\xff\"}", "line 2, column 7: " + ErrUTF8.Error()},
		{"{}\n{}", "line 2, column 1: " + ErrTrailing.Error()},
		{"[]] ", "line 1, column 3: " + ErrTrailing.Error()},
		{`{"a":1,"a":2}`, `the field "a" is there twice in one object: send it once`},
		{`["\ud800"]`, ErrSurrogate.Error()},
	} {
		_, err := ParseJSON([]byte(tt.doc))
		if err == nil {
			t.Errorf("%q is taken", tt.doc)
			continue
		}
		if got := Located([]byte(tt.doc), err).Error(); got != tt.want {
			t.Errorf("%q\ngot  %s\nwant %s", tt.doc, got, tt.want)
		}
	}
}
