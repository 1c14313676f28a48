package data

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What a timestamp looks like: in 1.x as YAML 1.1 has it, a date alone or with
// a time that is parted from it in several ways; in 2.0 as RFC 3339 has it. They
// are compiled when there is one.
var (
	timestampRule = form(`^(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt]|[ \t]+)(\d{1,2}):(\d{2}):(\d{2})(?:\.(\d*))?[ \t]*(Z|z|[+-]\d{1,2}(?::?\d{2})?)?)?$`)
	timestampFull = form(`^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$`)
)

func form(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// instant reads a timestamp of a day that exists. Without a time zone it is in
// UTC; a leap second counts as the one after it.
func instant(text string, full bool) (time.Time, bool) {
	m := timestampRule().FindStringSubmatch(text)
	if m == nil || full && !timestampFull().MatchString(text) {
		return time.Time{}, false
	}
	part := func(i int) int {
		n, _ := strconv.Atoi(m[i]) // an empty part is 0
		return n
	}
	month, hour, minute, second := time.Month(part(2)), part(4), part(5), part(6)
	fraction, _ := strconv.Atoi((m[7] + "000000000")[:9])
	offset, ok := zone(m[8])
	day := time.Date(part(1), month, part(3), 0, 0, 0, 0, time.UTC)
	if !ok || day.Month() != month || day.Day() != part(3) || hour > 23 || minute > 59 || second > 60 {
		return time.Time{}, false
	}
	return time.Date(part(1), month, part(3), hour, minute, second-offset, fraction, time.UTC), true
}

// zone reads an offset in seconds.
func zone(text string) (offset int, ok bool) {
	if text == "" || strings.EqualFold(text, "z") {
		return 0, true
	}
	digits := strings.ReplaceAll(text[1:], ":", "")
	if len(digits) == 3 {
		digits = "0" + digits
	}
	hours, _ := strconv.Atoi(digits[:min(2, len(digits))])
	minutes := 0
	if len(digits) == 4 {
		minutes, _ = strconv.Atoi(digits[2:])
	}
	offset = hours*3600 + minutes*60
	if text[0] == '-' {
		offset = -offset
	}
	return offset, hours <= 23 && minutes <= 59
}
