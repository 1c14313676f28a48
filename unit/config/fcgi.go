package config

import (
	"net"
	"path"
	"strings"
)

// Socket is the socket that an [fcgi-program:x] passes to its processes as standard input.
type Socket struct {
	Network string // tcp or unix
	Address string // HOST:PORT or an absolute path
	Mode    uint32 // of unix: its permission bits
	Owner   *User  // of unix; nil: the unit's own
	Backlog int    // 0: the most there can be
}

// String returns the address as configured.
func (s *Socket) String() string { return s.Network + "://" + s.Address }

const fcgiPrefix = "fcgi-program:"

// programSection returns the section of a program and its name, if it is one.
func programSection(sec *section) (name string, ok bool) {
	if name, ok = strings.CutPrefix(sec.name, "program:"); !ok {
		name, ok = strings.CutPrefix(sec.name, fcgiPrefix)
	}
	return name, ok
}

// sectionOf returns the section that defines a program.
func (p *parser) sectionOf(program *Program) *section {
	if program.Socket != nil {
		return p.doc.sections[fcgiPrefix+program.Section]
	}
	return p.doc.sections["program:"+program.Section]
}

// socket reads the keys of an [fcgi-program:x], whose processes run as a user.
func (s *scope) socket(user *User) *Socket {
	socket := &Socket{Network: "tcp"}
	text, ok := s.text("socket")
	if _, set := s.written("socket"); !set {
		s.problem("socket", "lacks socket")
	}
	if _, set := s.written("socket_backlog"); set {
		socket.Backlog = s.number("socket_backlog", 1, 1, 65535)
	}
	owner, mode := s.user("socket_owner"), uint32(s.octal("socket_mode", 0o700))
	if !ok {
		return socket
	}
	if file, isPath := strings.CutPrefix(text, "unix://"); isPath {
		if !path.IsAbs(file) {
			s.wrong("socket", "an absolute path")
		}
		socket.Network, socket.Address, socket.Mode, socket.Owner = "unix", path.Clean(file), mode, owner
		if owner == nil {
			socket.Owner = user
		}
		return socket
	}
	for _, key := range []string{"socket_owner", "socket_mode"} {
		if _, set := s.written(key); set {
			s.problem(key, "%s is for a unix socket only", key)
		}
	}
	address, isTCP := strings.CutPrefix(text, "tcp://")
	host, port, err := net.SplitHostPort(address)
	if !isTCP || err != nil || host == "" || !isPort(port) {
		s.wrong("socket", "tcp://HOST:PORT or unix:///PATH")
		return socket
	}
	socket.Address = net.JoinHostPort(strings.ToLower(host), port)
	return socket
}
