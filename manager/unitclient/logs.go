package unitclient

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

const (
	// silence is how long a followed unit may send nothing; it sends a keep-alive every ten seconds.
	silence = 30 * time.Second
	// maxChunk is the maximum size of a log chunk.
	maxChunk = 1 << 20
)

// Logs is a stream of several logs of a unit. It is not safe for concurrent use.
type Logs struct {
	ctx    context.Context //nolint:containedctx // of the response, which is read in chunks
	cancel context.CancelFunc
	answer *http.Response
	body   *bufio.Reader
	data   []byte
}

// Logs opens a stream of logs; faults OtherInstance and BadArguments. The caller closes it. It is read no faster
// than Next is called, and buffers one chunk.
func (c *Client) Logs(ctx context.Context, r wire.LogsRequest) (*Logs, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(c.pool.limits.Call, cancel)
	answer, err := c.send(ctx, request{method: http.MethodPost, path: "/logs", kind: "application/json", body: text})
	if !late.Stop() && err == nil {
		answer.Body.Close()
		err = fmt.Errorf("logs: %w: no answer in time", ErrUnreachable)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return &Logs{ctx: ctx, cancel: cancel, answer: answer, body: bufio.NewReaderSize(answer.Body, 32<<10)}, nil
}

// LogRotated reports whether a log of a process was rotated or cleared.
func (c *Client) LogRotated(ctx context.Context, process string, stream wire.Stream) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, c.pool.limits.Call)
	defer cancel()
	path := "/log/" + url.PathEscape(process) + "/" + string(stream) + "?after=end"
	answer, err := c.send(ctx, request{method: http.MethodGet, path: path})
	if code, _ := wire.FaultCodeOf(err); code == wire.NoFile {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	answer.Body.Close()
	cursor := strings.Split(answer.Header.Get("Toskose-Cursor"), ".") // LIFE.GENERATION.OFFSET
	if len(cursor) != 3 {
		return false, fmt.Errorf("log: %w: it has no cursor", ErrBadAnswer)
	}
	return cursor[1] != "0", nil
}

// Close stops reading.
func (l *Logs) Close() {
	l.cancel()
	l.answer.Body.Close()
}

// Next waits for the next chunk; its bytes are valid until the next call. The error is io.EOF when all is read.
func (l *Logs) Next() (chunk wire.LogChunk, data []byte, err error) {
	late := time.AfterFunc(silence, l.cancel)
	defer late.Stop()
	line, err := l.body.ReadSlice('\n')
	if err == io.EOF && len(line) == 0 {
		return chunk, nil, io.EOF
	}
	if err != nil {
		return chunk, nil, fmt.Errorf("logs: %w", unreachable(l.ctx, err))
	}
	if err := json.Unmarshal(line, &chunk); err != nil || chunk.Bytes < 0 || chunk.Bytes > maxChunk {
		return chunk, nil, fmt.Errorf("logs: %w: %.100q is no piece of a log", ErrBadAnswer, line)
	}
	if cap(l.data) < chunk.Bytes {
		l.data = make([]byte, chunk.Bytes)
	}
	data = l.data[:chunk.Bytes]
	if _, err := io.ReadFull(l.body, data); err != nil {
		return chunk, nil, fmt.Errorf("logs: %w", unreachable(l.ctx, err))
	}
	return chunk, data, nil
}
