package unitclient

// DecodeForTest decodes an answer as each of the structs that there are.
func DecodeForTest(data []byte) {
	var (
		snapshot  snapshotX
		execution executionX
		info      processInfoX
		statuses  []statusX
		groups    [][][]string
		text      string
		number    int64
		flag      bool
	)
	tail := []any{&text, &number, &flag}
	for _, into := range []any{&snapshot, &execution, &info, &statuses, &groups, &text, &flag, &tail} {
		_ = decode(data, into)
	}
	_, _ = snapshot.wire()
	_, _ = execution.wire()
}
