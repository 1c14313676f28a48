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
	"github.com/toskose/toskose/unit/safepath"
	"github.com/toskose/toskose/unit/wire"
)

// sockets are the sockets of FastCGI programs. Each is open while one of its processes runs.
type sockets struct {
	mu   sync.Mutex
	open map[string]*sharedSocket
}

type sharedSocket struct {
	file  *os.File
	users int
}

// acquire opens or shares a socket, and returns nil if none is configured. Each successful acquire
// needs a release.
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

// release closes a socket when its last user is gone.
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

// listen opens a socket, replacing any file at its path.
func listen(ctx context.Context, cfg *config.Socket) (file *os.File, err error) {
	if cfg.Network == "unix" {
		file, err = listenUnix(ctx, cfg)
	} else {
		var from net.ListenConfig
		listener, listenErr := from.Listen(ctx, cfg.Network, cfg.Address)
		if listenErr != nil {
			return nil, listenErr
		}
		defer listener.Close() // the returned file has its own descriptor
		if tcp, ok := listener.(*net.TCPListener); ok {
			file, err = tcp.File()
		}
	}
	if err == nil && cfg.Backlog > 0 {
		err = unix.Listen(int(file.Fd()), cfg.Backlog)
	}
	return file, err
}

func listenUnix(ctx context.Context, cfg *config.Socket) (*os.File, error) {
	if err := safepath.Remove(cfg.Address); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listener, err := safepath.Listen(ctx, cfg.Address)
	if err != nil {
		return nil, err
	}
	defer listener.Close() // likewise
	change, uid, gid := false, 0, 0
	if owner := cfg.Owner; owner != nil && owner.UID != os.Geteuid() {
		change, uid, gid = true, owner.UID, owner.GID
	}
	if err := safepath.OwnSocket(cfg.Address, change, uid, gid, os.FileMode(cfg.Mode)); err != nil {
		return nil, err
	}
	return listener.File()
}
