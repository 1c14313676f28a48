package spec_test

import (
	"testing"

	"github.com/toskose/toskose/spec"
)

func TestAPortOfTheHostIsParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]spec.Port{
		"80": {Host: 80}, "0": {}, "127.0.0.1:80": {Address: "127.0.0.1", Host: 80}, "[::1]:65535": {Address: "::1", Host: 65535},
		"[::ffff:10.0.0.1]:80": {Address: "10.0.0.1", Host: 80},
	} {
		address, port, err := spec.ParseHostPort(text)
		if err != nil || address != want.Address || port != want.Host {
			t.Errorf("%s: %q %d, %v", text, address, port, err)
		}
	}
	for _, text := range []string{"", "65536", "-1", "127.0.0.1:0", "127.0.0.1", "::1:80", "localhost:80", "[fe80::1%eth0]:80", "127.0.0.1:80:80", "a:b", "127.0.0.1:65536"} {
		if address, port, err := spec.ParseHostPort(text); err == nil {
			t.Errorf("%q is %q %d", text, address, port)
		}
	}
}

func TestPortsConflictAtTheSameAddress(t *testing.T) {
	t.Parallel()
	port := func(address string) spec.Port { return spec.Port{Host: 80, Protocol: "tcp", Address: address} }
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"", "", true},
		{"", "127.0.0.1", true},
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "127.0.0.2", false},
		{"127.0.0.1", "::1", false},
		{"0.0.0.0", "127.0.0.1", true},
		{"0.0.0.0", "::1", false},
		{"::", "::1", true},
		{"::1", "::1", true},
	} {
		if got := port(test.a).Conflicts(port(test.b)); got != test.want || port(test.b).Conflicts(port(test.a)) != test.want {
			t.Errorf("%q and %q: %v", test.a, test.b, got)
		}
	}
	if a := port(""); a.Conflicts(spec.Port{Host: 80, Protocol: "udp"}) || a.Conflicts(spec.Port{Host: 81, Protocol: "tcp"}) || (spec.Port{}).Conflicts(spec.Port{}) {
		t.Error("different ports conflict")
	}
}
