package rpc

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

// patience is how long a test waits for what must happen.
const patience = time.Minute

// running serves a unit on loopback and returns its address, and what ends it and
// answers Serve's error.
func running(t *testing.T, u Unit, limits Limits) (string, func() error) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, listener, New(Options{Unit: u, Logger: quiet(), Limits: limits}), limits, quiet())
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return listener.Addr().String(), func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			return errors.New("Serve does not return")
		}
	}
}

// dialed is a connection on which a test speaks HTTP by hand.
func dialed(t *testing.T, address, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func status(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode
}

// endless writes one line and then waits for its end, as a log that is followed.
func endless(ctx context.Context, w io.Writer) error {
	if _, err := io.WriteString(w, "first\n"); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestEndlessAnswersEndProperlyWhenServeDoes(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.follow = endless
	polled := make(chan struct{})
	f.journal = func(ctx context.Context, _ string, _ time.Duration) (unit.JournalPage, error) {
		close(polled)
		<-ctx.Done()
		return unit.JournalPage{}, ctx.Err()
	}
	address, end := running(t, f, Limits{CloseTime: time.Minute})
	_, tail := dialed(t, address, "GET /mainlogtail HTTP/1.1\r\nHost: x\r\n\r\n")
	response, err := http.ReadResponse(tail, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if chunked := response.TransferEncoding; len(chunked) != 1 || chunked[0] != "chunked" {
		t.Errorf("transfer encoding %v", chunked)
	}
	line := make([]byte, len("first\n"))
	if _, err := io.ReadFull(response.Body, line); err != nil || string(line) != "first\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_, poll := dialed(t, address, "GET /journal?wait=60s HTTP/1.1\r\nHost: x\r\n\r\n")
	<-polled
	if err := end(); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(response.Body); err != nil || len(rest) != 0 {
		t.Errorf("the tail ended with %q, %v", rest, err)
	}
	if got := status(t, poll); got != http.StatusServiceUnavailable {
		t.Errorf("the poll ended with %d", got)
	}
}

// stubborn waits for a channel and not for its context.
type stubborn struct {
	*fakeUnit
	entered, leave chan struct{}
}

func (s stubborn) StartAllProcesses(context.Context, bool) ([]wire.ProcessStatus, error) {
	close(s.entered)
	<-s.leave
	return nil, nil
}

func TestServeReturnsEvenWhenACallDoesNot(t *testing.T) {
	t.Parallel()
	s := stubborn{newFake(), make(chan struct{}), make(chan struct{})}
	address, end := running(t, s, Limits{CloseTime: time.Millisecond})
	body := methodCall("supervisor.startAllProcesses")
	dialed(t, address, "POST /RPC2 HTTP/1.1\r\nHost: x\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
	<-s.entered
	if err := end(); err != nil {
		t.Error(err)
	}
	close(s.leave)
}

func TestServeReportsAListenerThatFails(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	if err := Serve(t.Context(), listener, http.NotFoundHandler(), Limits{}, quiet()); err == nil {
		t.Error("no error")
	}
}

func TestALongHeaderIsRefused(t *testing.T) {
	t.Parallel()
	address, _ := running(t, newFake(), Limits{HeaderBytes: 1024})
	_, r := dialed(t, address, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("x", 20_000)+"\r\n\r\n")
	// What was not read may make the kernel reset the connection before the
	// answer arrives.
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		return
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", response.StatusCode)
	}
}

func TestAChunkedCallNeedsALength(t *testing.T) {
	t.Parallel()
	address, _ := running(t, newFake(), Limits{})
	_, r := dialed(t, address, "POST /RPC2 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n<\r\n0\r\n\r\n")
	if got := status(t, r); got != http.StatusLengthRequired {
		t.Errorf("chunked: status %d", got)
	}
	_, r = dialed(t, address, "POST /RPC2 HTTP/1.1\r\nHost: x\r\n\r\n")
	if got := status(t, r); got != http.StatusLengthRequired {
		t.Errorf("nothing: status %d", got)
	}
	_, r = dialed(t, address, "POST /RPC2 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	if got := status(t, r); got != http.StatusBadRequest {
		t.Errorf("no body: status %d", got)
	}
}

// waiting answers a start when its context ends or a time has passed.
type waiting struct {
	*fakeUnit
	entered chan struct{}
	ended   chan error
	time    time.Duration
}

func (w waiting) StartAllProcesses(ctx context.Context, _ bool) ([]wire.ProcessStatus, error) {
	close(w.entered)
	select {
	case <-ctx.Done():
	case <-time.After(w.time):
	}
	w.ended <- ctx.Err()
	return nil, ctx.Err()
}

func TestACallIsToldThatItsClientHungUp(t *testing.T) {
	t.Parallel()
	w := waiting{newFake(), make(chan struct{}), make(chan error, 1), patience}
	address, _ := running(t, w, Limits{})
	body := methodCall("supervisor.startAllProcesses")
	conn, _ := dialed(t, address, "POST /RPC2 HTTP/1.1\r\nHost: x\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
	<-w.entered
	conn.Close()
	if err := <-w.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
}

func TestATailEndsWhenItsClientHangsUpThoughItSentALineEndTooMany(t *testing.T) {
	t.Parallel()
	f := newFake()
	ended := make(chan struct{})
	f.follow = func(ctx context.Context, _ io.Writer) error {
		<-ctx.Done()
		close(ended)
		return nil
	}
	address, _ := running(t, f, Limits{})
	conn, r := dialed(t, address, "GET /mainlogtail HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "\r\n"); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the tail does not end")
	}
}

func TestATailOfAClientThatDoesNotReadEnds(t *testing.T) {
	t.Parallel()
	f := newFake()
	ended := make(chan error, 1)
	f.follow = func(_ context.Context, w io.Writer) error {
		piece := make([]byte, 1<<20)
		for {
			if _, err := w.Write(piece); err != nil {
				ended <- err
				return err
			}
		}
	}
	address, _ := running(t, f, Limits{WriteTime: 50 * time.Millisecond})
	dialed(t, address, "GET /mainlogtail HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the tail does not end")
	}
}
