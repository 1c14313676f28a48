package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// processes are the ones of this machine.
type processes struct {
	config
	ended chan error
}

// serve runs until a signal arrives or a process ends.
func serve(ctx context.Context, agent bool) error {
	c, err := readConfig(agent)
	if err != nil {
		return err
	}
	group, err := enterCgroup()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &processes{c, make(chan error, 8)}
	if agent {
		_, err = c.join(ctx, false)
	} else {
		err = p.server(ctx)
	}
	if err != nil {
		return err
	}
	if err := p.kubelet(ctx, group); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(stateDir, "ready"), nil, 0o600); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-p.ended:
		return err
	}
}

// server starts etcd and the control plane.
func (p *processes) server(ctx context.Context) error {
	data := filepath.Join(stateDir, "etcd")
	_, err := os.Stat(filepath.Join(data, "member"))
	isMember := err == nil
	cluster, state := p.Name+"="+peerURL(p.IP), "new"
	if p.ClusterInit {
		err = makeAuthority()
	} else if _, missing := os.Stat(path("ca.key")); missing != nil || !isMember {
		cluster, err = p.join(ctx, isMember)
		state = "existing"
	} else {
		err = nil // it can start without the server that it joined
	}
	if err != nil {
		return err
	}
	names := append([]string{"127.0.0.1", "localhost", "10.43.0.1", "kubernetes.default.svc", p.IP}, p.Names...)
	if err := issue("server", "kube-apiserver", "", names...); err != nil {
		return err
	}
	if err := issue("admin", "admin", "system:masters"); err != nil {
		return err
	}
	if err := writeKubeconfig(kubeconfig, "https://127.0.0.1:6443"); err != nil {
		return err
	}
	p.start(ctx, "etcd", "--name", p.Name, "--data-dir", data, "--unsafe-no-fsync", "--listen-client-urls", etcdURL, "--advertise-client-urls", etcdURL,
		"--listen-peer-urls", peerURL(p.IP), "--initial-advertise-peer-urls", peerURL(p.IP), "--initial-cluster", cluster, "--initial-cluster-state", state)
	p.start(ctx, "kube-apiserver", "--etcd-servers", etcdURL, "--service-cluster-ip-range", "10.43.0.0/16", "--advertise-address", p.Advertise, "--allow-privileged",
		"--tls-cert-file", path("server.crt"), "--tls-private-key-file", path("server.key"), "--client-ca-file", path("ca.crt"), "--authorization-mode", "RBAC",
		"--service-account-key-file", path("sa.key"), "--service-account-signing-key-file", path("sa.key"), "--service-account-issuer", "https://kubernetes.default.svc",
		"--kubelet-client-certificate", path("admin.crt"), "--kubelet-client-key", path("admin.key"), "--kubelet-preferred-address-types", "InternalIP")
	err = await(ctx, "the API server", func() error {
		select {
		case err := <-p.ended:
			return permanent{err}
		default:
			return p.kubectl(ctx, "get", "--raw", "/readyz").Run()
		}
	})
	if err != nil {
		return err
	}
	p.start(ctx, "kube-controller-manager", "--kubeconfig", kubeconfig, "--service-account-private-key-file", path("sa.key"), "--root-ca-file", path("ca.crt"),
		"--node-monitor-period", "1s", "--node-monitor-grace-period", "8s", "--leader-elect-lease-duration", "8s", "--leader-elect-renew-deadline", "5s", "--leader-elect-retry-period", "1s")
	go p.answer(ctx)
	go p.removeMembers(ctx)
	return nil
}

// answer serves machines that join.
func (p *processes) answer(ctx context.Context) {
	server := &http.Server{Addr: p.IP + ":" + joinPort, Handler: &doorman{token: p.token}, ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.ListenAndServeTLS(path("server.crt"), path("server.key"))
	if ctx.Err() == nil {
		p.ended <- err
	}
}

// removeMembers removes members of etcd whose Nodes are deleted.
func (p *processes) removeMembers(ctx context.Context) {
	seen := map[string]bool{}
	for ctx.Err() == nil {
		if out, err := p.kubectl(ctx, "get", "nodes", "-o", "jsonpath={.items[*].metadata.name}", "--request-timeout", "5s").Output(); err == nil {
			names := strings.Fields(string(out))
			for name := range seen {
				if !slices.Contains(names, name) && removeNamed(ctx, name) == nil {
					delete(seen, name)
				}
			}
			for _, name := range names {
				seen[name] = true
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func removeNamed(ctx context.Context, name string) error {
	all, err := members(ctx)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.Name == name {
			fmt.Println("removing the member", name)
			return removeMember(ctx, m.ID)
		}
	}
	return nil
}

func (p *processes) kubectl(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "kubectl", append([]string{"--kubeconfig", kubeconfig}, args...)...)
}

// kubelet starts the kubelet, with the machine's containerd.
func (p *processes) kubelet(ctx context.Context, group string) error {
	address, own := p.Server, filepath.Join(stateDir, "kubelet.kubeconfig")
	if !p.agent {
		address = "https://127.0.0.1:6443"
	}
	if err := writeKubeconfig(own, address); err != nil {
		return err
	}
	settings, err := json.Marshal(map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "cgroupDriver": "cgroupfs", "failSwapOn": false, "failCgroupV1": false,
		"containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
		"authentication":           map[string]any{"anonymous": map[string]bool{"enabled": false}, "webhook": map[string]bool{"enabled": false}, "x509": map[string]string{"clientCAFile": path("ca.crt")}},
		"authorization":            map[string]string{"mode": "AlwaysAllow"},
		"evictionHard":             map[string]string{"nodefs.available": "1%", "imagefs.available": "1%"}, "imageGCHighThresholdPercent": 100,
		"nodeLeaseDurationSeconds": 8, "nodeStatusUpdateFrequency": "5s",
	})
	if err != nil {
		return err
	}
	file := filepath.Join(stateDir, "kubelet.json")
	if err := os.WriteFile(file, settings, 0o600); err != nil {
		return err
	}
	p.start(ctx, "kubelet", "--config", file, "--kubeconfig", own, "--hostname-override", p.Name, "--node-ip", p.IP, "--node-labels", strings.Join(p.Labels, ","), "--cgroup-root", group)
	return nil
}

// start starts a process that ends with this one.
func (p *processes) start(ctx context.Context, name string, args ...string) {
	log, err := os.Create(filepath.Join(logDir, name))
	if err != nil {
		p.ended <- err
		return
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan struct{})
	go func() {
		runtime.LockOSThread() // the process ends with the thread that started it
		defer log.Close()
		err := cmd.Start()
		close(started)
		if err == nil {
			err = cmd.Wait()
		}
		if ctx.Err() == nil {
			p.ended <- fmt.Errorf("%s has ended: %w", name, err)
		}
	}()
	<-started
}

// enterCgroup moves this process to the cgroup of the machine's containerd, with which it ends, and returns the path of that cgroup.
func enterCgroup() (string, error) {
	files, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return "", err
	}
	here, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return "", err
	}
	for _, file := range files {
		name, _ := os.ReadFile(file)
		there, _ := os.Readlink(filepath.Join(filepath.Dir(file), "ns", "mnt"))
		if strings.TrimSpace(string(name)) != "containerd" || there != here {
			continue
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cgroup"))
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(text)) {
			parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(parts) == 3 && (parts[1] == "pids" || parts[1] == "") && parts[2] != "/" {
				return parts[2], enter(parts[2])
			}
		}
	}
	return "", fmt.Errorf("this machine has no containerd in a cgroup of its own")
}

func enter(group string) error {
	all, err := filepath.Glob("/sys/fs/cgroup/*" + group + "/cgroup.procs")
	if err != nil {
		return err
	}
	all = append(all, "/sys/fs/cgroup"+group+"/cgroup.procs")
	for _, file := range all {
		if _, err := os.Stat(file); err != nil {
			continue
		}
		if err := os.WriteFile(file, fmt.Append(nil, os.Getpid()), 0); err != nil {
			return err
		}
	}
	return nil
}
