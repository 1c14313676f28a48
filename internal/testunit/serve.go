package testunit

import (
	"context"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/freeport"
)

// Unit is one that runs until the test ends.
type Unit struct {
	Addr netip.AddrPort

	t      testing.TB
	conf   string
	env    []string
	cmd    *exec.Cmd
	output strings.Builder
}

// Run runs a unit until the test ends, and returns it once it answers. config makes its
// configuration, of a folder of its own and the port.
func Run(t testing.TB, password string, config func(folder string, port uint16) []byte) *Unit {
	t.Helper()
	return RunWith(t, config, "SUPERVISORD_PASSWORD="+password)
}

// RunWith is Run with variables for the unit.
func RunWith(t testing.TB, config func(folder string, port uint16) []byte, variables ...string) *Unit {
	t.Helper()
	folder := t.TempDir()
	u := &Unit{
		Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(freeport.Find(t))),
		t:    t, conf: filepath.Join(folder, "supervisord.conf"), env: append(os.Environ(), variables...),
	}
	if err := os.Mkdir(filepath.Join(folder, "documents"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(u.conf, config(folder, u.Addr.Port()), 0o600); err != nil {
		t.Fatal(err)
	}
	u.start()
	t.Cleanup(func() {
		_ = u.cmd.Process.Signal(syscall.SIGTERM)
		if err := u.cmd.Wait(); err != nil || t.Failed() {
			t.Logf("unit: %v\n%s", err, u.output.String())
		}
	})
	return u
}

func (u *Unit) start() {
	u.t.Helper()
	u.cmd = exec.Command(Shipped(u.t), "-c", u.conf) //nolint:noctx // it is ended by TERM, as a container's is
	u.cmd.Env, u.cmd.Stdout, u.cmd.Stderr = u.env, &u.output, &u.output
	if err := u.cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	awaitHealth(u.t, u.Addr)
}

// Crash kills the unit and runs it again, on what is left of its files. Its programs
// have to have ended by themselves.
func (u *Unit) Crash() {
	u.t.Helper()
	if err := u.cmd.Process.Kill(); err != nil {
		u.t.Fatal(err)
	}
	_ = u.cmd.Wait() // its exit says that it was killed
	u.start()
}

func awaitHealth(t testing.TB, addr netip.AddrPort) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr.String()+"/healthz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(req)
		if err == nil {
			answer.Body.Close()
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the unit does not answer: %v", err)
		}
		time.Sleep(10 * time.Millisecond) // there is nothing else to wait on
	}
}
