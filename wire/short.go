package wire

// parseShort is quota.ParseFixed for the numbers that are common: no exponent,
// nothing to round, and few enough digits to fit without a look at each step.
// It gives up on all others.
func parseShort(text string, digits int) (v int64, ok bool) {
	i := 0
	neg := len(text) > 0 && text[0] == '-'
	if neg {
		i = 1
	}
	v, wholes := takeDigits(0, text[i:])
	i += wholes
	// 18 digits in all fit an int64, whatever they are.
	if wholes == 0 || wholes+digits > 18 || wholes > 1 && text[i-wholes] == '0' {
		return 0, false
	}
	fraction := 0
	if i < len(text) && text[i] == '.' {
		v, fraction = takeDigits(v, text[i+1:])
		if fraction == 0 || fraction > digits {
			return 0, false
		}
		i += 1 + fraction
	}
	if i != len(text) {
		return 0, false
	}
	v *= pow10[digits-fraction]
	if neg {
		v = -v
	}
	return v, true
}

// takeDigits appends the digits that text begins with to v. It stops at 18: no
// caller has use for more.
func takeDigits(v int64, text string) (int64, int) {
	n := 0
	for n < len(text) && n < 19 {
		d := text[n] - '0'
		if d > 9 {
			break
		}
		v = v*10 + int64(d)
		n++
	}
	return v, n
}

// parseUTC reads the two forms of RFC 3339 that programs write most:
// 2006-01-02T15:04:05Z, and the same with three digits of milliseconds.
func parseUTC(text string) (ms int64, ok bool) {
	if len(text) != 20 && len(text) != 24 || text[len(text)-1] != 'Z' {
		return 0, false
	}
	if text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':' {
		return 0, false
	}
	century, ok1 := twoDigits(text, 0)
	year, ok2 := twoDigits(text, 2)
	month, ok3 := twoDigits(text, 5)
	day, ok4 := twoDigits(text, 8)
	hour, ok5 := twoDigits(text, 11)
	minute, ok6 := twoDigits(text, 14)
	second, ok7 := twoDigits(text, 17)
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && ok7) || century < 19 { // days divides what is not negative
		return 0, false
	}
	year += 100 * century
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	millis := int64(0)
	if len(text) == 24 {
		n := 0
		if millis, n = takeDigits(0, text[20:]); n != 3 || text[19] != '.' {
			return 0, false
		}
	}
	return ((days(year, month, day)*24+hour)*60+minute)*60_000 + second*1000 + millis, true
}

func twoDigits(s string, i int) (int64, bool) {
	a, b := s[i]-'0', s[i+1]-'0'
	return int64(a)*10 + int64(b), a <= 9 && b <= 9
}

func daysIn(year, month int64) int64 {
	if month == 2 {
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 30 + (month+month/8)%2 // long months are odd up to July, even after
}

// days returns the days from 1970-01-01 to a date. The year begins in March, so
// that the leap day is its last: then the months before month m have
// (153·m + 2) / 5 days, whatever the year.
func days(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - epochDays
}

// epochDays is what days would give for 1970-01-01 without it.
const epochDays = 719_468
