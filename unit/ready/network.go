package ready

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// statusBytes is the maximum length of the first line of a response, textBytes how much of the rest
// is searched for a text, and bufferBytes how much is read at once.
const (
	statusBytes = 4096
	textBytes   = 64 << 10
	bufferBytes = 512
)

// TCP is met when the address, HOST:PORT, accepts a connection.
func TCP(address string, interval time.Duration) *Poll {
	return NewPoll("tcp "+address, interval, func(ctx context.Context) error {
		conn, err := dial(ctx, address)
		if err != nil {
			return err
		}
		defer conn.Close()
		if conn.isSelf() {
			return errors.New("connection refused")
		}
		return nil
	})
}

// trimmedError strips the operation and the address, which the message already contains.
func trimmedError(err error) error {
	var operation *net.OpError
	if errors.As(err, &operation) {
		err = operation.Err
	}
	var system *os.SyscallError
	if errors.As(err, &system) {
		err = system.Err
	}
	return err
}

// Expect is the expected answer to a GET.
type Expect struct {
	First, Last int    // the range of its status
	Text        string // is in its first 64 KiB; empty: not checked
}

// Success is the expectation of a status from 200 to 399.
var Success = Expect{First: 200, Last: 399}

// HTTP is met when the URL, http://HOST:PORT/PATH, answers a GET as expected.
func HTTP(address string, interval time.Duration, expect Expect) (*Poll, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an http:// address", address)
	}
	return NewPoll(address, interval, func(ctx context.Context) error { return get(ctx, u, expect) }), nil
}

// get writes the request itself: net/http's client would add a quarter to the size of the binary.
func get(ctx context.Context, u *url.URL, expect Expect) error {
	port := u.Port()
	if port == "" {
		port = "80"
	}
	conn, err := dial(ctx, net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	defer conn.Close()
	defer conn.endWith(ctx)()
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: toskose-unit\r\nAccept: */*\r\nConnection: close\r\n\r\n",
		u.RequestURI(), u.Host)
	if err != nil {
		return fmt.Errorf("cannot send the request: %w", trimmedError(err))
	}
	answer := io.LimitedReader{R: conn, N: statusBytes}
	reader := bufio.NewReaderSize(&answer, bufferBytes)
	line, err := reader.ReadString('\n')
	switch {
	case ctx.Err() != nil && err != nil:
		return errors.New("it does not answer in time")
	case err != nil:
		return fmt.Errorf("it does not answer: %w", trimmedError(err))
	}
	line = strings.TrimSpace(line)
	fields := strings.Fields(line)
	if len(fields) < 2 || !strings.HasPrefix(fields[0], "HTTP/1.") {
		return fmt.Errorf("it does not speak HTTP/1: %q", line)
	}
	if status, err := strconv.Atoi(fields[1]); err != nil || status < expect.First || status > expect.Last {
		return fmt.Errorf("it answers %q", strings.Join(fields[1:], " "))
	}
	if expect.Text == "" {
		return nil
	}
	answer.N = textBytes
	text, err := io.ReadAll(reader)
	switch {
	case bytes.Contains(text, []byte(expect.Text)):
		return nil
	case ctx.Err() != nil && err != nil:
		return errors.New("it does not answer in time")
	}
	return fmt.Errorf("its answer does not contain %q", expect.Text)
}
