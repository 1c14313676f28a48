package config

// Output determines whether and how the output of programs is copied to the container's own
// output.
type Output string

// The values of toskose_output.
const (
	OutputNone     Output = "" // written "none": no copy
	OutputPrefixed Output = "prefixed"
	OutputJSON     Output = "json"
)

// output reads toskose_output.
func (s *scope) output(fallback Output) Output {
	text, ok := s.text("toskose_output")
	switch {
	case !ok:
		return fallback
	case text == "none":
		return OutputNone
	case text == string(OutputPrefixed), text == string(OutputJSON):
		return Output(text)
	}
	s.wrong("toskose_output", "none, prefixed or json")
	return fallback
}

// copies reads a program's own toskose_output, and warns of duplicate lines.
func (s *scope) copies(p *Program) {
	p.Output = s.output(s.config.Supervisord.Output)
	if p.Output == OutputNone {
		return
	}
	for key, l := range map[string]Log{"stdout_logfile": p.Stdout, "stderr_logfile": p.Stderr} {
		if l.Kind == LogFile && (l.Path == "/dev/stdout" || l.Path == "/dev/stderr") {
			s.warn(key, "%s is the container's output, and toskose_output copies to it, too: each line appears twice", key)
		}
	}
}

// TLS names the files for TLS of an [inet_http_server]. They are read when the unit starts, and
// again when they change.
type TLS struct {
	Cert     string // toskose_tls_cert: the certificate and those between it and the root, PEM
	Key      string // toskose_tls_key: its private key, PEM
	ClientCA string // toskose_tls_client_ca: authorities of clients' certificates, PEM; empty: clients need none
}

// tls reads the keys of TLS. It does not open the files: a configuration may be
// checked on a machine without its secrets.
func (s *scope) tls() *TLS {
	t := TLS{}
	set := false
	for key, to := range map[string]*string{
		"toskose_tls_cert": &t.Cert, "toskose_tls_key": &t.Key, "toskose_tls_client_ca": &t.ClientCA,
	} {
		text, ok := s.text(key)
		if _, given := s.written(key); !given {
			continue
		}
		set = true
		switch {
		case ok && text == "":
			s.problem(key, "%s is empty", key)
		case ok:
			*to = s.path(text)
		}
	}
	if !set {
		return nil
	}
	for _, key := range []string{"toskose_tls_cert", "toskose_tls_key"} {
		if _, given := s.written(key); !given {
			s.problem(key, "lacks %s, which TLS needs", key)
		}
	}
	return &t
}
