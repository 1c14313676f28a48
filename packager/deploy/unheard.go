package deploy

import (
	"context"
	"errors"
	"net"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// unheard returns why a running manager is unreachable, or nil if the reason is unknown.
func (d *deployer) unheard(ctx context.Context, err error) error {
	where, ok := d.where.(backend.Listener)
	if !ok || !cutOff(err) {
		return nil
	}
	return where.Unheard(ctx)
}

// cutOff reports whether an error is a network error or timeout.
func cutOff(err error) bool {
	var op *net.OpError
	var slow net.Error
	return errors.As(err, &op) || errors.As(err, &slow) && slow.Timeout()
}
