package process

import (
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

func TestUptimeReadsAsPythonPrintsIt(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		3 * time.Second: "0:00:03", -time.Second: "0:00:00", 25*time.Hour + 3*time.Second: "1 day, 1:00:03",
		49 * time.Hour: "2 days, 1:00:00", 10*time.Hour + 59*time.Minute: "10:59:00",
	} {
		if got := timedelta(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

func TestDescriptionsAreSupervisors(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 20, 35, 0, 0, time.Local)
	for want, s := range map[string]Status{
		"Not started":                  {State: wire.Stopped},
		"Nov 20 08:35 PM":              {State: wire.Exited, Started: now, Stopped: now},
		"pid 12, uptime 0:00:03":       {State: wire.Running, PID: 12, Started: now.Add(-3 * time.Second)},
		`unknown error (try "tail x")`: {State: wire.Fatal},
		"Exited too quickly":           {State: wire.Backoff, SpawnErr: "Exited too quickly"},
		"":                             {State: wire.Starting},
	} {
		if got := description("x", s, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
