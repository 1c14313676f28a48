package ready

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/freeport"
)

// soon is an interval that costs a test no time; patience ends one that hangs.
const (
	soon     = time.Millisecond
	patience = time.Minute
)

// listen opens a port that closes with the test.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func TestAPollAsksUntilTheAnswerIsYes(t *testing.T) {
	t.Parallel()
	asked := 0
	p := NewPoll("it", soon, func(context.Context) error {
		if asked++; asked < 5 {
			return errors.New("not yet")
		}
		return nil
	})
	if p.Met() {
		t.Error("it is met before anyone asked")
	}
	if err := p.Wait(within(t, patience)); err != nil || asked != 5 || !p.Met() {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

func TestAPollThatRunsOutOfTimeGivesTheLastAnswerThatSaysSomething(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	p := NewPoll("it", soon, func(ctx context.Context) error {
		if asked++; asked < 3 {
			return errors.New("refused")
		}
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if err := p.Wait(ctx); err == nil || err.Error() != "refused" {
		t.Errorf("the error is %v", err)
	}
	if err := p.Wait(ctx); err == nil || p.Met() {
		t.Errorf("a wait that began too late: %v", err)
	}
}

func TestAwaitNamesAllThatIsMissing(t *testing.T) {
	t.Parallel()
	yes := func(context.Context) error { return nil }
	line, err := NewLine("x")
	if err != nil {
		t.Fatal(err)
	}
	checks := []Check{NewPoll("a", soon, yes), line, NewPoll("b", soon, func(context.Context) error { return errors.New("no") })}
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- Await(ctx, checks) }()
	cancel()
	err = <-first
	if err == nil || !strings.Contains(err.Error(), `log line "x": no such line appeared; b: `) || Met(checks) {
		t.Errorf("the error is %v", err)
	}
	if err := Await(t.Context(), checks[:1]); err != nil || !Met(checks[:1]) {
		t.Errorf("all are met: %v", err)
	}
}

func TestTCPIsMetWhenThePortAccepts(t *testing.T) {
	t.Parallel()
	// Of a port that the kernel gives to whoever wants one, somebody else may be the next to listen.
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", freeport.Find(t)))
	if err != nil {
		t.Fatal(err)
	}
	if err := TCP(l.Addr().String(), soon).Wait(within(t, patience)); err != nil {
		t.Error(err)
	}
	l.Close()
	err = TCP(l.Addr().String(), soon).attempt(t.Context())
	if err == nil || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("a closed port: %v", err)
	}
}

func TestHTTPJudgesTheStatusLine(t *testing.T) {
	t.Parallel()
	for answer, says := range map[string]string{
		"HTTP/1.1 200 OK\r\n\r\n":                      "",
		"HTTP/1.0 204\r\n":                             "",
		"HTTP/1.1 302 Found\r\nLocation: /nowhere\r\n": "",
		"HTTP/1.1 399 x\n":                             "",
		"HTTP/1.1 400 Bad Request\r\n\r\n":             `answers "400 Bad Request"`,
		"HTTP/1.1 503 Service Unavailable\r\n\r\n":     `answers "503`,
		"HTTP/1.1 100 Continue\r\n\r\n":                `answers "100`,
		"HTTP/1.1 many\r\n":                            `answers "many"`,
		"SSH-2.0-OpenSSH_9\r\n":                        "does not speak HTTP/1",
		"\r\n":                                         "does not speak HTTP/1",
		"HTTP/1.1 200":                                 "does not answer",
		"":                                             "does not answer",
		"HTTP/1.1 200 " + strings.Repeat("x", 1<<20):   "does not answer",
	} {
		t.Run(answer[:min(len(answer), 20)], func(t *testing.T) {
			t.Parallel()
			l := listen(t)
			asked := make(chan string, 1)
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				request := make([]byte, 1024)
				n, _ := conn.Read(request)
				asked <- string(request[:n])
				_, _ = io.WriteString(conn, answer)
			}()
			check, err := HTTP("http://"+l.Addr().String()+"/a%20b?c=d", soon, Success)
			if err != nil {
				t.Fatal(err)
			}
			err = check.attempt(within(t, patience))
			if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("the error is %v, want %q", err, says)
			}
			if request := <-asked; !strings.HasPrefix(request, "GET /a%20b?c=d HTTP/1.1\r\nHost: "+l.Addr().String()+"\r\n") {
				t.Errorf("it asks\n%s", request)
			}
		})
	}
}

func TestHTTPDoesNotWaitForOneWhoNeverAnswers(t *testing.T) {
	t.Parallel()
	l := listen(t)
	check, err := HTTP("http://"+l.Addr().String(), soon, Success)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- check.Wait(ctx) }()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err != nil { // it has asked
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "does not answer in time") {
		t.Errorf("the error is %v", err)
	}
	for _, address := range []string{"https://x", "http://", "%"} {
		if _, err := HTTP(address, soon, Success); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}
