package process

import (
	"testing"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/wire"
)

func TestTwoStartsThatWaitShowWhatTheyWaitFor(t *testing.T) {
	t.Parallel()
	p := &Program{table: &Table{}, changed: make(chan struct{})}
	one, two := p.Waiting(), p.Waiting()
	shown := func(want string) {
		t.Helper()
		if got := p.Status().Waits; got != want {
			t.Errorf("it shows %q, not %q", got, want)
		}
	}
	for _, w := range []*Waiting{one, two} {
		if !w.Show("waits for db") || w.Show("waits for db") {
			t.Error("what is shown is new once")
		}
	}
	one.Show("")
	shown("")
	if two.Show("waits for db") {
		t.Error("what is shown again is new")
	}
	shown("waits for db")
	two.Show("waits for cache")
	one.Show("")
	shown("waits for cache")
	if !p.Status().Stoppable() || !p.StopWaiting() || p.StopWaiting() {
		t.Error("what waits can be stopped once")
	}
	shown("")
	if two.Show("waits for more"); !one.Void() || !two.Void() {
		t.Error("what was stopped still waits")
	}
	shown("")
}

func TestHowFarAProgramHasGot(t *testing.T) {
	t.Parallel()
	service := config.Program{Autorestart: config.RestartUnexpected, StartSecs: 1, ExitCodes: []int{0}}
	shot := config.Program{Autorestart: config.RestartNever, ExitCodes: []int{0, 3}}
	checked := shot
	checked.Ready = &config.Ready{}
	well, badly := &Exit{Code: 3}, &Exit{Code: 1}
	for name, tt := range map[string]struct {
		of   config.Program
		is   Status
		want Standing
	}{
		"never started":           {service, Status{State: wire.Stopped}, AtRest},
		"never started, waiting":  {service, Status{State: wire.Stopped, Waits: "waits for db"}, Coming},
		"starting":                {service, Status{State: wire.Starting}, Coming},
		"between two starts":      {service, Status{State: wire.Backoff}, Coming},
		"running":                 {service, Status{State: wire.Running}, Arrived},
		"given up":                {service, Status{State: wire.Fatal}, AtRest},
		"a service that exited":   {service, Status{State: wire.Exited, Exit: &Exit{}}, AtRest},
		"one shot, running":       {shot, Status{State: wire.Running}, Coming},
		"one shot, ended well":    {shot, Status{State: wire.Exited, Exit: well}, Arrived},
		"one shot, ended badly":   {shot, Status{State: wire.Exited, Exit: badly}, AtRest},
		"one shot, stopped":       {shot, Status{State: wire.Stopped, Exit: well}, AtRest},
		"with a check, running":   {checked, Status{State: wire.Running}, Arrived},
		"with a check, has ended": {checked, Status{State: wire.Exited, Exit: well}, AtRest},
	} {
		p := &Program{cfg: &tt.of, status: tt.is}
		p.live.Store(&tt.of)
		if got := p.Standing(); got != tt.want {
			t.Errorf("%s: %d, not %d", name, got, tt.want)
		}
	}
}
