package process

import (
	"testing"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/wire"
)

func TestTwoStartsThatWaitShowWhatTheyWaitFor(t *testing.T) {
	t.Parallel()
	p := &Program{table: &Table{}, changed: make(chan struct{})}
	one, two := p.PendingStart(), p.PendingStart()
	shown := func(want string) {
		t.Helper()
		if got := p.Status().WaitsFor; got != want {
			t.Errorf("it shows %q, not %q", got, want)
		}
	}
	for _, w := range []*PendingStart{one, two} {
		if !w.SetReason("waits for db") || w.SetReason("waits for db") {
			t.Error("what is shown is new once")
		}
	}
	one.SetReason("")
	shown("")
	if two.SetReason("waits for db") {
		t.Error("what is shown again is new")
	}
	shown("waits for db")
	two.SetReason("waits for cache")
	one.SetReason("")
	shown("waits for cache")
	if !p.Status().Stoppable() || !p.CancelPendingStarts() || p.CancelPendingStarts() {
		t.Error("what waits can be stopped once")
	}
	shown("")
	if two.SetReason("waits for more"); !one.Canceled() || !two.Canceled() {
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
		want Progress
	}{
		"never started":           {service, Status{State: wire.Stopped}, NotStarting},
		"never started, waiting":  {service, Status{State: wire.Stopped, WaitsFor: "waits for db"}, InProgress},
		"starting":                {service, Status{State: wire.Starting}, InProgress},
		"between two starts":      {service, Status{State: wire.Backoff}, InProgress},
		"running":                 {service, Status{State: wire.Running}, Reached},
		"given up":                {service, Status{State: wire.Fatal}, NotStarting},
		"a service that exited":   {service, Status{State: wire.Exited, Exit: &Exit{}}, NotStarting},
		"one shot, running":       {shot, Status{State: wire.Running}, InProgress},
		"one shot, ended well":    {shot, Status{State: wire.Exited, Exit: well}, Reached},
		"one shot, ended badly":   {shot, Status{State: wire.Exited, Exit: badly}, NotStarting},
		"one shot, stopped":       {shot, Status{State: wire.Stopped, Exit: well}, NotStarting},
		"with a check, running":   {checked, Status{State: wire.Running}, Reached},
		"with a check, has ended": {checked, Status{State: wire.Exited, Exit: well}, NotStarting},
	} {
		p := &Program{cfg: &tt.of, status: tt.is}
		p.settings.Store(&tt.of)
		if got := p.Progress(); got != tt.want {
			t.Errorf("%s: %d, not %d", name, got, tt.want)
		}
	}
}
