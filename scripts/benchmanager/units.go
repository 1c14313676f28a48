package main

import (
	"context"
	"encoding/json"
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
	"github.com/toskose/toskose/spec/protocol"
)

const (
	user       = "admin"
	password   = "bench"
	port       = 9001
	components = 10 // of each unit
	perNode    = 100
)

// fleet is a set of running units, each at a separate loopback address.
type fleet struct {
	dir           string
	perNode       int
	configuration func(dir string, addr netip.AddrPort, node int) string

	units []*exec.Cmd
	addrs []netip.AddrPort
}

// Replicas finds the units of a node by its number.
func (f *fleet) Replicas(_ context.Context, alias string, _ int) ([]netip.AddrPort, error) {
	var n int
	if _, err := fmt.Sscanf(alias, "n%d", &n); err != nil || n*f.perNode >= len(f.addrs) {
		return nil, discovery.ErrNone
	}
	return f.addrs[n*f.perNode : min((n+1)*f.perNode, len(f.addrs))], nil
}

// Clients reports that all units are ready.
func (f *fleet) Clients(context.Context, string) ([]netip.Addr, bool, error) { return nil, true, nil }

// Running returns nil: the application does not have standalone containers.
func (f *fleet) Running(context.Context, string, []int) ([]netip.Addr, error) {
	return nil, discovery.ErrNone
}

func (f *fleet) start(binary string, count int) error {
	for i := range count {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 1, byte(i / 250), byte(i%250 + 1)}), port)
		dir, err := os.MkdirTemp(f.dir, fmt.Sprint(i, "-"))
		if err != nil {
			return err
		}
		if err := os.Mkdir(filepath.Join(dir, "documents"), 0o700); err != nil {
			return err
		}
		conf := filepath.Join(dir, "supervisord.conf")
		if err := os.WriteFile(conf, []byte(f.configuration(dir, addr, i/f.perNode)), 0o600); err != nil {
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
}

func name(node, n int) string { return fmt.Sprintf("n%dc%d", node, n) }

// server is the part of a configuration that differs between units.
func server(dir string, addr netip.AddrPort) string {
	return fmt.Sprintf("[supervisord]\nnodaemon=true\nlogfile=%[1]s/unit.log\npidfile=%[1]s/unit.pid\ntoskose_journal=%[1]s/journal\ntoskose_documents=%[1]s/documents\n"+
		"[inet_http_server]\nport=%[2]s\nusername=%[3]s\ntoskose_auth=required\n", dir, addr, user)
}

// program is an operation of a component.
func program(component, operation, command string) string {
	return fmt.Sprintf("[program:%[1]s.%[2]s]\nprocess_name=%[2]s\ncommand=%[3]s\nautostart=false\nautorestart=false\nstartsecs=0\n"+
		"stdout_logfile=NONE\nstderr_logfile=NONE\ntoskose_component=%[1]s\ntoskose_interface=Standard\ntoskose_operation=%[4]s\n",
		component, operation, command, protocol.Operation{Name: operation}.Kind())
}

// component is the configuration of a component whose operations are programs.
func component(name string, p protocol.Protocol, operations ...string) string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // protocols can always be encoded
	}
	for i := range operations {
		operations[i] = name + "." + operations[i]
	}
	return fmt.Sprintf("[group:%[1]s]\nprograms=%[2]s\n[toskose:component:%[1]s]\ntoskose_protocol=%[3]s\n", name, strings.Join(operations, ","), text)
}

// quick is the protocol of every component. Its operations have no script, so that only the unit
// and the manager are measured.
var quick = protocol.Protocol{
	Initial: "deleted",
	States:  []protocol.State{{Name: "created"}, {Name: "deleted"}},
	Transitions: []protocol.Transition{
		{Source: "deleted", Target: "created", Operation: protocol.Operation{Interface: "Standard", Name: "create"}},
		{Source: "created", Target: "deleted", Operation: protocol.Operation{Interface: "Standard", Name: "delete"}},
	},
}

func configuration(dir string, addr netip.AddrPort, node int) string {
	var text strings.Builder
	text.WriteString(server(dir, addr))
	for n := range components {
		text.WriteString(program(name(node, n), "work", "/bin/true"))
		text.WriteString(component(name(node, n), quick, "work"))
	}
	return text.String()
}
