package unitclient

import "github.com/toskose/toskose/unit/wire"

// DecodeForTest decodes an answer as each of the values that there are.
func DecodeForTest(data []byte) {
	var (
		info     wire.ProcessInfo
		statuses []wire.ProcessStatus
		groups   [][][]string
		text     string
		number   int64
		flag     bool
	)
	tail := []any{&text, &number, &flag}
	for _, into := range []any{&info, &statuses, &groups, &text, &flag, &tail} {
		_ = decode(data, into)
	}
}
