package events

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// collect returns a pool of some types, and a function for the headers and
// payloads that its listener, who accepts everything, has been sent.
func collect(name string, types ...Type) (*Pool, func() string) {
	p := NewPool(PoolOptions{Name: name, Server: "s", Events: types, BufferSize: 100})
	var got []string
	l := p.Join(func(event []byte) bool {
		got = append(got, string(event))
		return true
	})
	l.Running(true)
	return p, func() string {
		l.Receive([]byte("READY\n"))
		for seen := 0; seen < len(got); {
			seen = len(got)
			l.Receive([]byte(ok))
		}
		return strings.Join(got, "\n")
	}
}

func TestPoolsGetWhatTheySubscribedTo(t *testing.T) {
	t.Parallel()
	var h Hub
	if h.Wants(RemoteCommunication) {
		t.Error("a hub without pools wants something")
	}
	h.Emit(Remote("nobody", "hears")) // takes no number
	remote, heardRemote := collect("remote", RemoteCommunication)
	groups, heardGroups := collect("groups", ProcessGroup, ProcessGroupAdded)
	h.Add(remote)
	h.Add(groups)
	h.Emit(GroupAdded("a"))
	h.Emit(Remote("k", "v"))
	h.Emit(Event{Type: SupervisorStateChangeRunning})
	h.Remove(remote)
	h.Emit(Remote("too", "late"))
	h.Emit(GroupRemoved("a"))
	if got, want := heardRemote(), "ver:3.0 server:s serial:1 pool:remote poolserial:0 eventname:REMOTE_COMMUNICATION len:8\ntype:k\nv"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	want := "ver:3.0 server:s serial:0 pool:groups poolserial:0 eventname:PROCESS_GROUP_ADDED len:12\ngroupname:a\n\n" +
		"ver:3.0 server:s serial:2 pool:groups poolserial:1 eventname:PROCESS_GROUP_REMOVED len:12\ngroupname:a\n"
	if got := heardGroups(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTicksComeAtTheMomentsThatTheirPeriodsDivide(t *testing.T) {
	t.Parallel()
	at := func(hour, minute, second int) time.Time {
		return time.Date(2026, 11, 21, hour, minute, second, 7, time.UTC)
	}
	for _, tt := range []struct {
		last, now time.Time
		want      string
	}{
		{at(9, 0, 1), at(9, 0, 4), ""},
		{at(9, 0, 1), at(9, 0, 5), "TICK_5 when:1795251605"},
		{at(9, 0, 59), at(9, 1, 0), "TICK_5 when:1795251660 TICK_60 when:1795251660"},
		{at(8, 59, 59), at(9, 0, 0), "TICK_5 when:1795251600 TICK_60 when:1795251600 TICK_3600 when:1795251600"},
		{at(9, 0, 1), at(9, 0, 44), "TICK_5 when:1795251640"}, // the unit was stopped: one is enough
		{at(9, 1, 0), at(9, 0, 59), "TICK_5 when:1795251655 TICK_60 when:1795251600"},
	} {
		var got []string
		for _, e := range ticks(periods, tt.last, tt.now) {
			got = append(got, string(e.Type)+" "+e.Payload)
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("from %s to %s: %q, want %q", tt.last, tt.now, got, tt.want)
		}
	}
	if got := untilTick(periods[1:], at(9, 0, 58)); got != 2*time.Second-7 {
		t.Errorf("the next is in %s", got)
	}
}

func TestTicksBeginAndEndWithTheirSubscribers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // whose clock begins at a full day
		var h Hub
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go h.Tick(ctx, time.Now)
		p, heard := collect("p", Tick60)
		time.Sleep(90 * time.Second)
		h.Add(p)
		time.Sleep(time.Minute)
		q, heardHours := collect("q", Tick3600)
		h.Add(q)
		time.Sleep(time.Minute)
		synctest.Wait()
		h.Remove(p)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := strings.Count(heard(), "eventname:TICK_60"); got != 2 || strings.Contains(heard(), "TICK_5") {
			t.Errorf("%d ticks:\n%s", got, heard())
		}
		if got := strings.Count(heardHours(), "eventname:TICK_3600"); got != 2 {
			t.Errorf("%d ticks:\n%s", got, heardHours())
		}
	})
}
