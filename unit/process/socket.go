package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/wire"
)

// sockets are those that programs offer to their processes, each opened while one
// of these runs.
type sockets struct {
	mu   sync.Mutex
	open map[string]*sharedSocket
}

type sharedSocket struct {
	file  *os.File
	users int
}

// acquire opens a socket, or shares it; nil: none is configured. Each acquire that
// succeeds needs a release.
func (s *sockets) acquire(ctx context.Context, cfg *config.Socket) (*os.File, error) {
	if cfg == nil {
		return nil, nil //nolint:nilnil // both are as configured
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	shared := s.open[cfg.String()]
	if shared == nil {
		file, err := listen(ctx, cfg)
		if err != nil {
			return nil, wire.NewFault(wire.SpawnError, fmt.Sprintf("cannot open socket %s: %v", cfg, err))
		}
		shared = &sharedSocket{file: file}
		if s.open == nil {
			s.open = map[string]*sharedSocket{}
		}
		s.open[cfg.String()] = shared
	}
	shared.users++
	return shared.file, nil
}

// release closes a socket that nobody uses any more.
func (s *sockets) release(cfg *config.Socket) {
	if cfg == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if shared := s.open[cfg.String()]; shared != nil {
		if shared.users--; shared.users == 0 {
			shared.file.Close()
			delete(s.open, cfg.String())
		}
	}
}

// listen opens a socket, in the place of whatever is at its path.
func listen(ctx context.Context, cfg *config.Socket) (file *os.File, err error) {
	var listener net.Listener
	var from net.ListenConfig
	if cfg.Network == "unix" {
		if err := os.Remove(cfg.Address); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if listener, err = from.Listen(ctx, cfg.Network, cfg.Address); err != nil {
		return nil, err
	}
	defer listener.Close() // the file has a descriptor of its own
	switch l := listener.(type) {
	case *net.UnixListener:
		l.SetUnlinkOnClose(false)
		if owner := cfg.Owner; owner != nil && owner.UID != os.Geteuid() {
			err = os.Chown(cfg.Address, owner.UID, owner.GID)
		}
		if err == nil {
			err = os.Chmod(cfg.Address, os.FileMode(cfg.Mode))
		}
		if err == nil {
			file, err = l.File()
		}
	case *net.TCPListener:
		file, err = l.File()
	}
	if err == nil && cfg.Backlog > 0 {
		err = unix.Listen(int(file.Fd()), cfg.Backlog)
	}
	return file, err
}
