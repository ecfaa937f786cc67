package wire

import "strconv"

// AppendValue appends a parsed value, an absent one as null. In msgpack a number
// that is no integer of 64 bits becomes a string, which every reader of a
// number takes.
func AppendValue(dst []byte, enc Encoding, v Value) []byte {
	if enc == Msgpack {
		return appendMsgpackValue(dst, v)
	}
	return appendJSONValue(dst, v)
}

func appendJSONValue(dst []byte, v Value) []byte {
	switch v.Kind {
	case Bool:
		return strconv.AppendBool(dst, v.Bool)
	case Number:
		return append(dst, v.Text...)
	case String:
		return AppendJSONString(dst, v.Text)
	case Array:
		dst = append(dst, '[')
		for i := range v.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSONValue(dst, v.Items[i])
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i := range v.Fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendJSONString(dst, v.Fields[i].Name), ':')
			dst = appendJSONValue(dst, v.Fields[i].Value)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

func appendMsgpackValue(dst []byte, v Value) []byte {
	switch v.Kind {
	case Bool:
		return AppendBool(dst, v.Bool)
	case Number:
		if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
			return AppendInt(dst, n)
		}
		return AppendStr(dst, v.Text)
	case String:
		return AppendStr(dst, v.Text)
	case Array:
		dst = AppendArrayHeader(dst, len(v.Items))
		for i := range v.Items {
			dst = appendMsgpackValue(dst, v.Items[i])
		}
		return dst
	case Object:
		dst = AppendMapHeader(dst, len(v.Fields))
		for i := range v.Fields {
			dst = AppendStr(dst, v.Fields[i].Name)
			dst = appendMsgpackValue(dst, v.Fields[i].Value)
		}
		return dst
	}
	return AppendNil(dst)
}
