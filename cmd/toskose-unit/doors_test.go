package main_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// certify writes a certificate that signs itself, and its key, and gives it.
func certify(t *testing.T, cert, key string) tls.Certificate {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: text}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}

// trusting is a client that knows one server and has one certificate.
func trusting(t *testing.T, server tls.Certificate, own ...tls.Certificate) *http.Client {
	t.Helper()
	leaf, err := x509.ParseCertificate(server.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: own}, DisableKeepAlives: true}
	return &http.Client{Transport: transport, Timeout: 3 * patience} // as patient, and for its reasons
}

func TestOverTLSTheUnitIsReachedWithACertificateAndHealthyToItself(t *testing.T) {
	t.Parallel()
	c := newContainer(t, "toskose_tls_cert=DIR/tls.crt\ntoskose_tls_key=DIR/tls.key\ntoskose_tls_client_ca=DIR/ca.crt\n"+
		component("api", map[string]string{"create": "echo $SUPERVISOR_SERVER_URL"}, ""))
	in := func(name string) string { return filepath.Join(c.dir, name) }
	server := certify(t, in("tls.crt"), in("tls.key"))
	client := certify(t, in("ca.crt"), in("client.key"))
	c.client = trusting(t, server, client)
	c.boot()
	if x := c.run("api", "create"); x.Stdout != fmt.Sprintf("https://127.0.0.1:%d\n", c.port) {
		t.Errorf("children are told %q", x.Stdout)
	}
	for name, client := range map[string]*http.Client{
		"without a certificate": trusting(t, server), "with a stranger's": trusting(t, server, certify(t, in("x.crt"), in("x.key"))),
	} {
		response, err := client.Get("https://" + c.address() + "/healthz")
		if err == nil {
			response.Body.Close()
			t.Errorf("%s: %s", name, response.Status)
		}
	}
	if code, output := command(t, nil, "health", "-c", in("supervisord.conf")); code != 0 {
		t.Errorf("health: %d, %s", code, output)
	}
	// A new certificate needs no restart.
	old := server
	server = certify(t, in("tls.crt"), in("tls.key"))
	c.client = trusting(t, server, client)
	if c.sample("toskose_unit_info") != 1 {
		t.Error("no metrics")
	}
	if code, output := command(t, nil, "health", "-c", in("supervisord.conf")); code != 0 {
		t.Errorf("health with the new certificate: %d, %s", code, output)
	}
	if response, err := trusting(t, old, client).Get("https://" + c.address() + "/healthz"); err == nil {
		response.Body.Close()
		t.Error("the old certificate is still used")
	}
	// Another's certificate where ours should be is not the unit.
	certify(t, in("other.crt"), in("other.key"))
	c.write("other.conf", strings.ReplaceAll(c.read("supervisord.conf"), "/tls.", "/other."))
	if code, output := command(t, nil, "health", "-c", in("other.conf")); code != 1 {
		t.Errorf("health with another certificate: %d, %s", code, output)
	}
	c.terminate()
}

func TestTLSFilesThatCannotBeUsedAreSaidAtTheStart(t *testing.T) {
	t.Parallel()
	conf := configuration(t, "[supervisord]\nlogfile=NONE\n[inet_http_server]\nport=127.0.0.1:1\ntoskose_tls_cert=/nowhere/crt\ntoskose_tls_key=/nowhere/key\n")
	code, output := command(t, nil, "-c", conf)
	if code != 2 || !strings.Contains(output, "[inet_http_server]") || !strings.Contains(output, "/nowhere/crt") || strings.Count(output, "\n") != 1 {
		t.Errorf("exit code %d: %s", code, output)
	}
}

// withSocket returns a container with a unix socket besides.
func withSocket(t *testing.T, keys string) (c *container, socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	c = newContainer(t, fmt.Sprintf("[unix_http_server]\nfile=%s\n%s\n", socket, keys)+
		"[program:sleep]\ncommand=/bin/sleep 1000\nstartsecs=0\n")
	return c, socket
}

func TestAUnixSocketHasItsModeAndOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	c, socket := withSocket(t, "chmod=0620\nchown=12345:23456")
	c.boot()
	info, err := os.Lstat(socket)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	if info.Mode() != os.ModeSocket|0o620 || owner.Uid != 12345 || owner.Gid != 23456 {
		t.Errorf("%v of %d:%d", info.Mode(), owner.Uid, owner.Gid)
	}
	c.terminate()
	if _, err := os.Lstat(socket); err == nil {
		t.Error("the socket outlives the unit")
	}
}

func TestAStaleSocketIsReplacedAndALiveOneIsNot(t *testing.T) {
	t.Parallel()
	c, socket := withSocket(t, "")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	c.boot()
	if info, err := os.Lstat(socket); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	second := configuration(t, "[supervisord]\nlogfile=NONE\n[unix_http_server]\nfile="+socket+"\n")
	if code, output := command(t, nil, "-c", second); code != 2 || !strings.Contains(output, "another process is listening on "+socket) {
		t.Errorf("a second unit: %d, %s", code, output)
	}
	if code, output := command(t, nil, "health", "-c", second); code != 0 {
		t.Errorf("health over the socket: %d, %s", code, output)
	}
	// A file that is no socket is somebody's, and stays.
	file := configuration(t, "mine")
	if code, _ := command(t, nil, "-c", configuration(t, "[supervisord]\nlogfile=NONE\n[unix_http_server]\nfile="+file+"\n")); code != 2 {
		t.Errorf("over a file: %d", code)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Errorf("the file has %q, %v", text, err)
	}
}

func TestSupervisorctlSpeaksOverTheSocket(t *testing.T) {
	t.Parallel()
	supervisorctl, err := exec.LookPath("supervisorctl")
	if err != nil {
		t.Skip("Debian's supervisor is not installed")
	}
	c, socket := withSocket(t, "username=admin\ntoskose_auth=required\n[supervisorctl]")
	c.boot()
	ctl := func(args ...string) string {
		cmd := exec.Command(supervisorctl, append([]string{"-c", filepath.Join(c.dir, "supervisord.conf"), "-s", "unix://" + socket, "-u", "admin", "-p", "secret"}, args...)...)
		cmd.Dir = c.dir
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	for _, step := range []struct{ args, want string }{
		{"stop sleep", "sleep: stopped"},
		{"status", "STOPPED"},
		{"start sleep", "sleep: started"},
		{"status sleep", "RUNNING"},
	} {
		if got := ctl(strings.Fields(step.args)...); !strings.Contains(got, step.want) {
			t.Errorf("%s: %s", step.args, got)
		}
	}
}

func TestNeitherStrangersNorTailsMakeTheContainerUnhealthy(t *testing.T) {
	t.Parallel()
	c := newContainer(t, sleeping("sleep", "")).boot()
	c.running("sleep")
	open := func(request string) *bufio.Reader {
		conn, err := net.Dial("tcp", c.address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := fmt.Fprint(conn, request); err != nil {
			t.Fatal(err)
		}
		return bufio.NewReader(conn)
	}
	healthy := func(whom string) {
		t.Helper()
		if code, output := command(t, nil, "health", "-c", filepath.Join(c.dir, "supervisord.conf")); code != 0 {
			t.Errorf("beside %s: health: %d, %s", whom, code, output)
		}
		if response, err := patient.Get("http://" + c.address() + "/healthz"); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("beside %s: /healthz: %v, %v", whom, response, err)
		} else {
			response.Body.Close()
		}
	}
	for range 140 {
		open("POST /RPC2 HTTP/1.1\r\nHost: ")
	}
	healthy("140 half requests")
	for range 200 {
		r := open("GET /logtail/sleep HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YWRtaW46c2VjcmV0\r\n\r\n")
		if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("a tail is answered with %q, %v", line, err)
		}
	}
	healthy("200 tails")
	c.must("supervisor.getPID")
}
