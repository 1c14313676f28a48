package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// inMemory keeps a lock in this process.
type inMemory struct {
	sync.Mutex
	record   *Record
	version  int
	refuse   bool          // every call fails
	replaced chan struct{} // has an entry for each renewal; may be nil
}

var errRefused = errors.New("connection refused")

// try changes the record if it is of a version; empty: if there is none.
func (m *inMemory) try(r *Record, version string) (string, error) {
	m.Lock()
	defer m.Unlock()
	now := ""
	if m.record != nil {
		now = strconv.Itoa(m.version)
	}
	switch {
	case m.refuse:
		return "", errRefused
	case now != version:
		return "", ErrChanged
	}
	m.version++
	m.record = r
	return strconv.Itoa(m.version), nil
}

func (m *inMemory) Read(context.Context) (*Record, string, error) {
	m.Lock()
	defer m.Unlock()
	if m.refuse {
		return nil, "", errRefused
	}
	return m.record, strconv.Itoa(m.version), nil
}

// holder is the owner of the record; empty: there is none.
func (m *inMemory) holder() string {
	m.Lock()
	defer m.Unlock()
	if m.record == nil {
		return ""
	}
	return m.record.Owner
}

func (m *inMemory) Create(_ context.Context, r Record) (string, error) { return m.try(&r, "") }
func (m *inMemory) Remove(_ context.Context, version string) error {
	_, err := m.try(nil, version)
	return err
}

func (m *inMemory) Replace(_ context.Context, r Record, version string) (string, error) {
	version, err := m.try(&r, version)
	if err == nil && m.replaced != nil {
		select {
		case m.replaced <- struct{}{}:
		default:
		}
	}
	return version, err
}

// as are the options of someone whose lock lives so long.
func as(owner string, ttl time.Duration) (Options, *strings.Builder) {
	var said strings.Builder
	return Options{App: "shop", Owner: owner, Command: "toskose deploy shop", TTL: ttl, Say: func(line string) { said.WriteString(line + "\n") }}, &said
}

func acquire(t *testing.T, s Store, opts Options) *Lock {
	t.Helper()
	l, err := Acquire(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ofAnotherHost is a record of a process that is not known here.
func ofAnotherHost(owner string) Record {
	return Record{ID: owner, Owner: owner, Process: 7, Command: "toskose rotate", Since: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Origin: "elsewhere"}
}

func TestTheSecondCommandIsToldWhoHoldsTheLock(t *testing.T) {
	t.Parallel()
	store := &inMemory{}
	ada, _ := as("ada@office", time.Hour)
	eve, said := as("eve@home", time.Hour)
	first := acquire(t, store, ada)
	_, err := Acquire(t.Context(), store, eve)
	var held *HeldError
	if !errors.As(err, &held) || held.Holder.Owner != "ada@office" || said.Len() > 0 {
		t.Fatalf("error %v, and it says %q", err, said)
	}
	want := fmt.Sprintf("\"shop\" is locked by ada@office, by process %d (`toskose deploy shop`), since %s: run this command again when that one has ended, or with --steal-lock if it hangs",
		first.record.Process, first.record.Since.Format(time.RFC3339))
	if err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
	first.Release(t.Context())
	acquire(t, store, eve).Release(t.Context())
	if left := store.holder(); left != "" {
		t.Errorf("the lock of %s is left", left)
	}
}

func TestALockOfAnotherHostIsInUseWhileItIsRenewed(t *testing.T) {
	t.Parallel()
	store, there := &inMemory{}, ofAnotherHost("ada@office")
	if _, err := store.Create(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	eve, said := as("eve@home", 12*time.Second)
	renewing := eve.Say
	eve.Say = func(line string) {
		renewing(line)
		there.Renewed++
		if _, err := store.Replace(t.Context(), there, "1"); err != nil {
			t.Error(err)
		}
	}
	_, err := Acquire(t.Context(), store, eve)
	if held := new(HeldError); !errors.As(err, &held) || !strings.Contains(said.String(), "waiting up to 12s") {
		t.Errorf("error %v, and it says %q", err, said)
	}
}

func TestALockThatIsNotRenewedExpires(t *testing.T) {
	t.Parallel()
	store := &inMemory{}
	if _, err := store.Create(t.Context(), ofAnotherHost("ada@office")); err != nil {
		t.Fatal(err)
	}
	eve, said := as("eve@home", 300*time.Millisecond)
	l := acquire(t, store, eve)
	defer l.Release(t.Context())
	if store.holder() != "eve@home" || !strings.Contains(said.String(), "it is held by ada@office, by process 7 (`toskose rotate`), since 2026-03-01T12:00:00Z") {
		t.Errorf("%s holds it: %q", store.holder(), said)
	}
}

func TestALockIsRenewedAndSurvivesItsTimeToLive(t *testing.T) {
	t.Parallel()
	store := &inMemory{replaced: make(chan struct{}, 1)}
	ada, _ := as("ada@office", 3*time.Second)
	l := acquire(t, store, ada)
	for range renewals + 1 {
		<-store.replaced
	}
	if l.Err() != nil || store.holder() != "ada@office" {
		t.Errorf("%v: %s holds it", l.Err(), store.holder())
	}
	l.Release(t.Context())
	if left := store.holder(); left != "" {
		t.Errorf("the lock of %s is left", left)
	}
}

func TestTheLockOfAProcessThatWasKilledIsTakenOverAtOnce(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	here := ofAnotherHost("ada@office")
	here.Process, here.Origin, here.Started = cmd.Process.Pid, origin(), startOf(cmd.Process.Pid)
	if here.Origin == "" {
		t.Skip("process ids say nothing on this system")
	}
	store := &inMemory{}
	if _, err := store.Create(t.Context(), here); err != nil {
		t.Fatal(err)
	}
	eve, said := as("eve@home", time.Hour)
	if _, err := Acquire(t.Context(), store, eve); !errors.As(err, new(*HeldError)) {
		t.Errorf("while the process runs: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	second := acquire(t, store, eve)
	second.Release(t.Context())
	if by := second.Interrupted(); by == nil || by.ID != here.ID {
		t.Errorf("it was interrupted: %+v", by)
	}
	if !strings.Contains(said.String(), "the command that holds the lock was interrupted: ada@office") {
		t.Errorf("it says %q", said)
	}
}

func TestALockThatIsStolenEndsTheWorkOfItsHolder(t *testing.T) {
	t.Parallel()
	store := &inMemory{}
	ada, _ := as("ada@office", 300*time.Millisecond)
	eve, said := as("eve@home", 300*time.Millisecond)
	eve.Steal = true
	first := acquire(t, store, ada)
	ctx, cancel := first.While(context.WithoutCancel(t.Context()))
	defer cancel()
	second := acquire(t, store, eve)
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "eve@home") || !errors.Is(first.Err(), ErrLost) {
		t.Errorf("it ends with %v", err)
	}
	first.Release(t.Context())
	if store.holder() != "eve@home" || !strings.Contains(said.String(), "taking over the lock of ada@office") {
		t.Errorf("%s holds it: %q", store.holder(), said)
	}
	second.Release(t.Context())
}

func TestALockThatCannotBeRenewedIsGivenUpBeforeItExpires(t *testing.T) {
	t.Parallel()
	store := &inMemory{}
	ada, _ := as("ada@office", 300*time.Millisecond)
	l := acquire(t, store, ada)
	ctx, cancel := l.While(t.Context())
	defer cancel()
	store.Lock()
	store.refuse = true
	store.Unlock()
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, ErrLost) || !errors.Is(err, errRefused) {
		t.Errorf("it ends with %v", err)
	}
	l.Release(t.Context())
}

func TestAnInterruptedCommandReleasesItsLock(t *testing.T) {
	t.Parallel()
	store := &inMemory{}
	ada, _ := as("ada@office", time.Hour)
	l := acquire(t, store, ada)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Release(ctx)
	if left := store.holder(); left != "" {
		t.Errorf("the lock of %s is left", left)
	}
}

// TestTwoDeploymentsAreAMistakeOfTheDocumentation: docs/mistakes.md has the message.
func TestTwoDeploymentsAreAMistakeOfTheDocumentation(t *testing.T) {
	t.Parallel()
	err := &HeldError{App: "shop", Holder: Record{
		Owner: "ann@laptop", Process: 4711, Command: "toskose deploy shop-toskosed", Since: time.Date(2026, 11, 22, 19, 36, 9, 0, time.UTC),
	}}
	want, failed := os.ReadFile("../../cmd/toskose/testdata/mistakes/two-deployments.golden")
	if failed != nil {
		t.Fatal(failed)
	}
	if "toskose: "+err.Error()+"\n" != string(want) {
		t.Errorf("%v, want %s", err, want)
	}
}
