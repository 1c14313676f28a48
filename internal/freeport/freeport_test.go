package freeport

import (
	"fmt"
	"net"
	"testing"
)

func TestAPortIsFreeAndGivenToNobodyElse(t *testing.T) {
	t.Parallel()
	port := Find(t)
	claim, err := listen(t.Context(), "unix", fmt.Sprintf("@toskose-test-port-%d", port)) // as another process would
	if err != nil || claim != nil {
		t.Errorf("somebody else gets %d: %v, %v", port, claim, err)
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if taken, err := listen(t.Context(), "tcp", listener.Addr().String()); err != nil || taken != nil {
		t.Errorf("a port at which somebody listens is free: %v, %v", taken, err)
	}
}
