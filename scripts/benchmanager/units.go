package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/toskose/toskose/manager/discovery"
)

const (
	user       = "admin"
	password   = "bench"
	port       = 9001
	components = 10 // of each unit
	perNode    = 100
)

// fleet are units that run, each at an address of its own on the loopback.
type fleet struct {
	dir   string
	units []*exec.Cmd
	addrs []netip.AddrPort
}

// Replicas finds the units of a node by its number.
func (f *fleet) Replicas(_ context.Context, alias string, _ int) ([]netip.AddrPort, error) {
	var n int
	if _, err := fmt.Sscanf(alias, "n%d", &n); err != nil || n*perNode >= len(f.addrs) {
		return nil, discovery.ErrNone
	}
	return f.addrs[n*perNode : min((n+1)*perNode, len(f.addrs))], nil
}

// Clients are led to all units.
func (f *fleet) Clients(context.Context, string) ([]netip.Addr, bool, error) { return nil, true, nil }

// Running finds nothing: there are no standalone containers.
func (f *fleet) Running(context.Context, string, []int) ([]netip.Addr, error) {
	return nil, discovery.ErrNone
}

func (f *fleet) start(binary string, count int) error {
	for i := range count {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 1, byte(i / 250), byte(i%250 + 1)}), port)
		dir := filepath.Join(f.dir, fmt.Sprint(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		conf := filepath.Join(dir, "supervisord.conf")
		if err := os.WriteFile(conf, []byte(configuration(dir, addr, i/perNode)), 0o600); err != nil {
			return err
		}
		cmd := exec.CommandContext(context.Background(), binary, "-c", conf)
		cmd.Env = append(os.Environ(), "SUPERVISORD_PASSWORD="+password)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			return err
		}
		f.units, f.addrs = append(f.units, cmd), append(f.addrs, addr)
	}
	for _, addr := range f.addrs {
		if err := awaitPort(addr); err != nil {
			return err
		}
	}
	return nil
}

func awaitPort(addr netip.AddrPort) error {
	for deadline := time.Now().Add(3 * time.Minute); ; {
		conn, err := net.Dial("tcp", addr.String()) //nolint:noctx // of the loopback
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (f *fleet) stop() {
	for _, cmd := range f.units {
		_ = cmd.Process.Kill()
	}
	for _, cmd := range f.units {
		_ = cmd.Wait()
	}
	_ = os.RemoveAll(f.dir)
}

// lifecycle is the protocol of every component. Its operations have no script, so
// that what is measured is the unit's and the manager's.
const lifecycle = `{"initial":"deleted","states":[{"name":"created"},{"name":"deleted"}],"transitions":[` +
	`{"source":"deleted","target":"created","interface":"Standard","operation":"create"},` +
	`{"source":"created","target":"deleted","interface":"Standard","operation":"delete"}]}`

func name(node, n int) string { return fmt.Sprintf("n%dc%d", node, n) }

func configuration(dir string, addr netip.AddrPort, node int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "[supervisord]\nnodaemon=true\nlogfile=%[1]s/unit.log\npidfile=%[1]s/unit.pid\ntoskose_journal=%[1]s/journal\ntoskose_documents=%[1]s/documents\n"+
		"[inet_http_server]\nport=%[2]s\nusername=%[3]s\ntoskose_auth=required\n", dir, addr, user)
	for n := range components {
		c := name(node, n)
		fmt.Fprintf(&text, "[program:%[1]s.work]\nprocess_name=work\ncommand=/bin/true\nautostart=false\nautorestart=false\n"+
			"stdout_logfile=NONE\nstderr_logfile=NONE\ntoskose_component=%[1]s\ntoskose_interface=extra\ntoskose_operation=run\n"+
			"[group:%[1]s]\nprograms=%[1]s.work\n[toskose:component:%[1]s]\ntoskose_protocol=%[2]s\n", c, lifecycle)
	}
	return text.String()
}
