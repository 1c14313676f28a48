package rpc

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

const (
	login  = "Authorization: Basic dTpw\r\n" // u:p, as passwordServer has it
	health = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
)

// admitted is a request with the password.
func admitted(method string) string {
	body := methodCall(method)
	return "POST /RPC2 HTTP/1.1\r\nHost: x\r\n" + login + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// wantStatus sends a request by a connection of its own.
func wantStatus(t *testing.T, address, request string, want int) {
	t.Helper()
	conn, r := dialed(t, address, request)
	defer conn.Close()
	if got := status(t, r); got != want {
		t.Errorf("%.20q is answered with %d, not %d", request, got, want)
	}
}

// wantClosed waits until the other end has closed a connection.
func wantClosed(t *testing.T, what string, conn net.Conn) {
	t.Helper()
	if _, err := io.Copy(io.Discard, conn); err != nil {
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // as net returns it
			t.Errorf("%s is not closed", what)
		}
	}
}

func TestStrangersWithHalfARequestKeepNobodyOut(t *testing.T) {
	t.Parallel()
	address := "127.0.0.1:" + passwordServer(t, newFake())
	// A client that is between two requests stays.
	old, oldAnswers := dialed(t, address, admitted("supervisor.getPID"))
	if got := status(t, oldAnswers); got != http.StatusOK {
		t.Fatalf("status %d", got)
	}
	first, _ := dialed(t, address, "GET /healthz HT")
	for range 140 {
		dialed(t, address, "GET /healthz HT")
	}
	for range 5 {
		wantStatus(t, address, health, http.StatusOK)
		wantStatus(t, address, admitted("supervisor.getPID"), http.StatusOK)
	}
	if _, err := io.WriteString(old, admitted("supervisor.getPID")); err != nil {
		t.Fatal(err)
	}
	if got := status(t, oldAnswers); got != http.StatusOK {
		t.Errorf("the client that was there before is answered with %d", got)
	}
	wantClosed(t, "the oldest of the strangers", first)
}

func TestTailsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.follow = endless
	address := "127.0.0.1:" + passwordServer(t, f)
	const request = "GET /logtail/api:start HTTP/1.1\r\nHost: x\r\n" + login + "\r\n"
	for range 200 {
		_, r := dialed(t, address, request)
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	wantStatus(t, address, health, http.StatusOK)
	wantStatus(t, address, admitted("supervisor.getPID"), http.StatusOK)
	for range 56 {
		_, r := dialed(t, address, request)
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	wantStatus(t, address, request, http.StatusServiceUnavailable)
	wantStatus(t, address, health, http.StatusOK)
}

func TestStrangersOfOneAddressDoNotCloseThoseOfAnother(t *testing.T) {
	t.Parallel()
	address, _ := running(t, newFake(), Limits{Unauthenticated: 4})
	patient, r := dialed(t, address, health[:10])
	neighbour := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	for range 40 {
		conn, err := neighbour.DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
	}
	if _, err := io.WriteString(patient, health[10:]); err != nil {
		t.Fatal(err)
	}
	if got := status(t, r); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
}

// busy answers a start once it may.
type busy struct {
	*fakeUnit
	entered, leave chan struct{}
}

func (b busy) StartAllProcesses(ctx context.Context, _ bool) ([]wire.ProcessStatus, error) {
	b.entered <- struct{}{}
	select {
	case <-b.leave:
	case <-ctx.Done():
	}
	return nil, nil
}

func TestACallTooManyWaitsForAnotherAndHealthDoesNot(t *testing.T) {
	t.Parallel()
	b := busy{newFake(), make(chan struct{}, 2), make(chan struct{})}
	address, _ := running(t, b, Limits{Connections: 1})
	_, first := dialed(t, address, admitted("supervisor.startAllProcesses"))
	<-b.entered
	second, answer := dialed(t, address, admitted("supervisor.getPID"))
	_ = second.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := answer.Peek(1); err == nil {
		t.Error("the second call was answered during the first")
	}
	wantStatus(t, address, health, http.StatusOK)
	close(b.leave)
	_ = second.SetReadDeadline(time.Now().Add(patience))
	for name, r := range map[string]*bufio.Reader{"the first": first, "the second": bufio.NewReader(second)} {
		if got := status(t, r); got != http.StatusOK {
			t.Errorf("%s is answered with %d", name, got)
		}
	}
}

func TestAnIdleClientMakesRoomForACall(t *testing.T) {
	t.Parallel()
	address, _ := running(t, newFake(), Limits{Connections: 1})
	idle, r := dialed(t, address, admitted("supervisor.getPID"))
	if got := status(t, r); got != http.StatusOK {
		t.Fatalf("status %d", got)
	}
	wantStatus(t, address, admitted("supervisor.getPID"), http.StatusOK)
	wantClosed(t, "the idle client", idle)
}

func TestAWaitingCallEndsWhenItsConnectionIsClosedForANewerOne(t *testing.T) {
	t.Parallel()
	b := busy{newFake(), make(chan struct{}, 2), make(chan struct{})}
	defer close(b.leave)
	address, end := running(t, b, Limits{Connections: 1, Unauthenticated: 1})
	dialed(t, address, admitted("supervisor.startAllProcesses"))
	<-b.entered
	waits, _ := dialed(t, address, admitted("supervisor.getPID"))
	wantStatus(t, address, health, http.StatusOK)
	wantClosed(t, "the call that waits", waits)
	if err := end(); err != nil {
		t.Error(err)
	}
}

// dialedFrom is dialed, from another address of this machine.
func dialedFrom(t *testing.T, local net.IP, address, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: local}}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
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

func TestWithoutAPasswordCallsOfOneAddressKeepNoOtherOut(t *testing.T) {
	t.Parallel()
	b := busy{newFake(), make(chan struct{}, 4), make(chan struct{})}
	address, _ := running(t, b, Limits{Connections: 2})
	oldest, _ := dialed(t, address, admitted("supervisor.startAllProcesses"))
	<-b.entered
	_, second := dialed(t, address, admitted("supervisor.startAllProcesses"))
	<-b.entered
	neighbour := net.IPv4(127, 0, 0, 2)
	_, answer := dialedFrom(t, neighbour, address, admitted("supervisor.startAllProcesses"))
	<-b.entered // which had to wait for one of the others before
	wantClosed(t, "the oldest call of the address that has most", oldest)
	// Each has one: who comes next waits.
	waits, waiting := dialedFrom(t, neighbour, address, admitted("supervisor.getPID"))
	_ = waits.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := waiting.Peek(1); err == nil {
		t.Error("a call was answered for which there was no room")
	}
	close(b.leave)
	_ = waits.SetReadDeadline(time.Now().Add(patience))
	for name, r := range map[string]*bufio.Reader{"the second": second, "the neighbour's": answer, "the one that waits": bufio.NewReader(waits)} {
		if got := status(t, r); got != http.StatusOK {
			t.Errorf("%s is answered with %d", name, got)
		}
	}
}

func TestWithoutAPasswordTailsOfOneAddressKeepNoOtherOut(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.follow = endless
	address, _ := running(t, f, Limits{Followers: 2})
	const request = "GET /logtail/api:start HTTP/1.1\r\nHost: x\r\n\r\n"
	wants := func(what string, r *bufio.Reader, code string) {
		t.Helper()
		if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, code) {
			t.Errorf("%s is answered with %q, %v", what, line, err)
		}
	}
	oldest, r := dialed(t, address, request)
	wants("the first of one address", r, "200")
	_, r = dialed(t, address, request)
	wants("the second", r, "200")
	_, r = dialed(t, address, request)
	wants("the third", r, "503")
	_, r = dialedFrom(t, net.IPv4(127, 0, 0, 2), address, request)
	wants("the first of another", r, "200")
	wantClosed(t, "the oldest tail", oldest)
}
