package deploy

import (
	"context"
	"errors"
	"net"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// unheard returns why the manager, which could not be asked, runs all the same and will
// not be heard; nil: nobody knows.
func (d *deployer) unheard(ctx context.Context, err error) error {
	where, ok := d.where.(backend.Listener)
	if !ok || !cutOff(err) {
		return nil
	}
	return where.Unheard(ctx)
}

// cutOff reports whether an error is the network's: nothing answers at an address, or
// not in time.
func cutOff(err error) bool {
	var op *net.OpError
	var slow net.Error
	return errors.As(err, &op) || errors.As(err, &slow) && slow.Timeout()
}
