package logs

import (
	"bytes"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/wire"
)

// sink is a writer that can be looked at while it is written.
type sink struct {
	mu   sync.Mutex
	data []byte
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = append(s.data, p...)
	return len(p), nil
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.data)
}

func TestAPumpCarriesEverythingToTheEnd(t *testing.T) {
	t.Parallel()
	var to sink
	p, child, err := Start(&to, PumpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	if _, err := child.Write(text); err != nil {
		t.Fatal(err)
	}
	child.Close()
	<-p.Done()
	if to.String() != string(text) {
		t.Fatalf("%d of %d bytes arrived", len(to.data), len(text))
	}
	if got, want := end(p), text[len(text)-wire.TailBytes:]; !bytes.Equal(got, want) {
		t.Fatalf("the tail is %d bytes: %q", len(got), got)
	}
	p.Close()
	p.Sync()
}

func TestTheTailIsTheEndOfWhateverWasWritten(t *testing.T) {
	t.Parallel()
	var p Pump
	var all []byte
	for i := range 3000 {
		part := bytes.Repeat([]byte{byte('a' + i%26)}, i*7%5000)
		p.keep(part)
		all = append(all, part...)
		if want := all[max(0, len(all)-wire.TailBytes):]; !bytes.Equal(end(&p), want) {
			t.Fatalf("after %d parts the tail is not the end", i)
		}
	}
	if cap(p.tail) > 4*wire.TailBytes {
		t.Fatalf("it keeps %d bytes", cap(p.tail))
	}
}

func TestDrainHasAllThatAnExitedProcessWroteThoughADescendantHoldsThePipe(t *testing.T) {
	t.Parallel()
	for range 20 {
		var to sink
		p, child, err := Start(&to, PumpOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// The background process keeps the pipe open until its input ends.
		cmd := exec.Command("/bin/sh", "-c", "exec 3<&0; cat <&3 & echo out; head -c 100000 /dev/zero; echo end")
		cmd.Stdout = child
		hold, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		child.Close()
		if _, err := cmd.Process.Wait(); err != nil {
			t.Fatal(err)
		}
		p.Drain()
		if got := to.String(); !strings.HasPrefix(got, "out\n") || !strings.HasSuffix(got, "end\n") || len(got) != 100_008 {
			t.Fatalf("%d bytes after Drain", len(got))
		}
		if !bytes.HasSuffix(end(p), []byte("\x00end\n")) {
			t.Fatal("the tail lacks the end")
		}
		select {
		case <-p.Done():
			t.Fatal("the pump has ended before the descendant")
		default:
		}
		if _, err := hold.Write([]byte("later")); err != nil {
			t.Fatal(err)
		}
		hold.Close()
		<-p.Done()
		if got := to.String(); !strings.HasSuffix(got, "end\nlater") {
			t.Fatal("what the descendant wrote is missing")
		}
	}
}

func TestAPumpWithoutALogKeepsTheTail(t *testing.T) {
	t.Parallel()
	p, child, err := Start(nil, PumpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := child.WriteString("hello"); err != nil {
		t.Fatal(err)
	}
	p.Sync()
	if got := string(end(p)); got != "hello" {
		t.Fatalf("the tail is %q", got)
	}
	// A child of another test, until it executes something, would read the pipe, too.
	syscall.ForkLock.RLock()
	p.Close()
	syscall.ForkLock.RUnlock()
	<-p.Done()
	if _, err := child.WriteString("x"); err == nil {
		t.Fatal("the pipe is still read")
	}
	child.Close()
}

func TestALogThatTakesNothingDoesNotStopAPump(t *testing.T) {
	t.Parallel()
	f := New("/dev/full", Options{})
	defer f.Close()
	p, child, err := Start(f, PumpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.Repeat([]byte("x"), 1<<20)
	if _, err := child.Write(text); err != nil {
		t.Fatal(err)
	}
	child.Close()
	<-p.Done()
	if s := f.Stats(); s.Dropped != 1<<20 || s.Err == nil {
		t.Fatalf("stats: %+v", s)
	}
}

// gate is a writer that has to be let through with every write.
type gate struct {
	sink
	arrived, pass chan struct{}
}

func (g *gate) Write(p []byte) (int, error) {
	g.arrived <- struct{}{}
	<-g.pass
	return g.sink.Write(p)
}

func TestAPipeThatWasFullIsMadeLarger(t *testing.T) {
	t.Parallel()
	to := &gate{arrived: make(chan struct{}), pass: make(chan struct{})}
	p, child, err := Start(to, PumpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	size := func() int {
		size, err := unix.FcntlInt(child.Fd(), unix.F_GETPIPE_SZ, 0)
		if err != nil {
			t.Fatal(err)
		}
		return size
	}
	text := bytes.Repeat([]byte("0123456789abcdef"), (pumpRead+largeRead)/16)
	small, rest := text[:100], text[100:]
	if _, err := child.Write(small); err != nil {
		t.Fatal(err)
	}
	<-to.arrived
	if _, err := child.Write(rest[:pumpRead]); err != nil { // as much as it holds
		t.Fatal(err)
	}
	if size() != pumpRead {
		t.Errorf("the pipe of a quiet program has %d bytes, want %d", size(), pumpRead)
	}
	to.pass <- struct{}{}
	<-to.arrived
	if size() < largePipe && unix.Geteuid() != 0 {
		t.Skip("this user has large pipes enough")
	}
	if size() != largePipe {
		t.Errorf("the pipe that was full has %d bytes, want %d", size(), largePipe)
	}
	if _, err := child.Write(rest[pumpRead:]); err != nil { // without a reader: there is room
		t.Fatal(err)
	}
	child.Close()
	go func() {
		for range to.arrived {
			to.pass <- struct{}{}
		}
	}()
	to.pass <- struct{}{}
	<-p.Done()
	close(to.arrived)
	if to.String() != string(text) {
		t.Errorf("%d of %d bytes arrived", len(to.data), len(text))
	}
	if got, want := end(p), text[len(text)-wire.TailBytes:]; !bytes.Equal(got, want) {
		t.Errorf("the tail is %d bytes: %q", len(got), got)
	}
}

func TestAChildsEndOfThePipeWaitsAsChildrenExpect(t *testing.T) {
	t.Parallel()
	p, child, err := Start(nil, PumpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", "grep '^flags' /proc/self/fdinfo/1")
	cmd.Stdout = child
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	child.Close()
	<-p.Done()
	// O_NONBLOCK is 04000.
	if flags := strings.Fields(string(end(p)))[1]; len(flags) > 4 && flags[len(flags)-4] >= '4' {
		t.Fatalf("the flags are %s", flags)
	}
}

func BenchmarkPump(b *testing.B) {
	f := New(b.TempDir()+"/log", Options{MaxBytes: 50 << 20, Backups: 1})
	defer f.Close()
	p, child, err := Start(f, PumpOptions{})
	if err != nil {
		b.Fatal(err)
	}
	text := bytes.Repeat([]byte("x"), 64<<10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := child.Write(text); err != nil {
			b.Fatal(err)
		}
	}
	child.Close()
	<-p.Done()
}

// end is a pump's tail, without whether it is all.
func end(p *Pump) []byte {
	tail, _ := p.Tail()
	return tail
}

func TestATailThatIsNotAllBeginsWithACharacterAndSaysSo(t *testing.T) {
	t.Parallel()
	var p Pump
	text := bytes.Repeat([]byte("€"), wire.TailBytes/3) // 4095 bytes
	p.keep(text)
	if tail, cut := p.Tail(); cut || !bytes.Equal(tail, text) {
		t.Errorf("all of it: cut %v, %d bytes", cut, len(tail))
	}
	p.keep([]byte("€"))
	if tail, cut := p.Tail(); !cut || !bytes.Equal(tail, text) {
		t.Errorf("one more: cut %v, %d bytes, %q", cut, len(tail), tail[:4])
	}
	var binary Pump
	binary.keep(bytes.Repeat([]byte{0x80}, 2*wire.TailBytes))
	if tail, cut := binary.Tail(); !cut || len(tail) != wire.TailBytes {
		t.Errorf("no text: cut %v, %d bytes", cut, len(tail))
	}
}
