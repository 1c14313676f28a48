// Command k3sstandin runs in the place of k3s in tests: etcd, kube-apiserver, kube-controller-manager and kubelet, which it finds in PATH,
// as /etc/rancher/k3s/config.yaml says. A server that joins gets certificates and its place in etcd from the server that the configuration
// names, at port 6444, by the token. When a Node is deleted, its member of etcd is removed, as k3s does. It has no scheduler and no
// network of its own: the machine's containerd brings one.
//
//	k3sstandin start server|agent   start in the background, and wait until the API server or the kubelet responds
//	k3sstandin stop                 stop everything that start has started
//	k3sstandin wipe                 stop, and remove its state
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Paths on the machine.
const (
	stateDir   = "/var/lib/rancher/standin"
	configFile = "/etc/rancher/k3s/config.yaml"
	kubeconfig = "/etc/rancher/k3s/k3s.yaml"
	pidFile    = "/run/k3sstandin.pid"
	logDir     = "/var/log/k3sstandin"
)

// patience is the time limit for a process to respond.
const patience = 2 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "k3sstandin:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch strings.Join(args, " ") {
	case "start server", "start agent":
		return start(ctx, args[1])
	case "run server", "run agent":
		return serve(ctx, args[1] == "agent")
	case "stop":
		return stopAll(ctx)
	case "wipe":
		if err := stopAll(ctx); err != nil {
			return err
		}
		return errors.Join(os.RemoveAll(stateDir), os.RemoveAll(kubeconfig), os.RemoveAll("/var/lib/kubelet/pki"))
	}
	return errors.New("its arguments are start server, start agent, stop or wipe")
}

// start starts this program again in the background, and waits until it is ready.
func start(ctx context.Context, role string) error {
	if err := stopAll(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(logDir, 0o750); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(logDir, "standin"))
	if err != nil {
		return err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "run", role) //nolint:noctx // it outlives this process
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	ready := filepath.Join(stateDir, "ready")
	if err := os.RemoveAll(ready); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := os.WriteFile(pidFile, fmt.Append(nil, cmd.Process.Pid), 0o600); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return await(ctx, "the "+role, func() error {
		select {
		case err := <-ended:
			return permanent{fmt.Errorf("it has ended: %w; see %s", err, logDir)}
		default:
			_, err := os.Stat(ready)
			return err
		}
	})
}

// permanent is an error that waiting does not mend.
type permanent struct{ error }

// await repeats an attempt until it succeeds.
func await(ctx context.Context, what string, attempt func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not ready after %s", patience))
	defer cancel()
	for {
		err := attempt()
		if err == nil {
			return nil
		}
		if final := (permanent{}); errors.As(err, &final) {
			return fmt.Errorf("%s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: %w", what, context.Cause(ctx), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// stopAll stops what start has started. Its processes end with it.
func stopAll(ctx context.Context) error {
	data, err := os.ReadFile(pidFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil {
		return err
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(line), "k3sstandin\x00run\x00") {
		return os.Remove(pidFile)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	err = await(ctx, "the processes", func() error {
		if syscall.Kill(pid, 0) == nil {
			return errors.New("they still run")
		}
		return nil
	})
	return errors.Join(err, os.Remove(pidFile))
}
