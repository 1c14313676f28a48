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

// Serve runs a unit until the test ends, and returns its address once it answers.
// config makes its configuration, of a folder of its own and the port.
func Serve(t testing.TB, password string, config func(folder string, port uint16) []byte) netip.AddrPort {
	t.Helper()
	folder := t.TempDir()
	addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(freeport.Find(t)))
	conf := filepath.Join(folder, "supervisord.conf")
	if err := os.Mkdir(filepath.Join(folder, "documents"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, config(folder, addr.Port()), 0o600); err != nil {
		t.Fatal(err)
	}
	var output strings.Builder
	cmd := exec.Command(Shipped(t), "-c", conf) //nolint:noctx // it is ended by TERM, as a container's is
	cmd.Env = append(os.Environ(), "SUPERVISORD_PASSWORD="+password)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("unit: %v\n%s", err, output.String())
		}
	})
	awaitHealth(t, addr)
	return addr
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
