package config

import (
	"errors"
	"io/fs"
	"path"

	"github.com/toskose/toskose/spec"
)

// ContainerFile is the document of the container. It is in the folder of the main file, and may be absent.
const ContainerFile = "container.json"

// readContainer reads the document of the container, if there is one.
func (p *parser) readContainer() {
	file := path.Join(path.Dir(p.file), ContainerFile)
	data, err := fs.ReadFile(p.o.FS, inFS(file))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		p.report.problem(file, 0, "cannot be read: %s", reason(err))
		return
	}
	p.report.files = append(p.report.files, file)
	p.digest.Write(data)
	c, err := spec.DecodeContainer(data)
	if err != nil {
		all := []error{err}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			all = joined.Unwrap()
		}
		for _, err := range all {
			p.report.problem(file, 0, "%v", err)
		}
		return
	}
	p.container = c
	for i := range c.Components {
		of := &c.Components[i]
		p.config.Components = append(p.config.Components, Component{Name: of.Name, Protocol: &of.Protocol, Files: of.Files})
	}
}

// describe sets the inputs that the container's document defines for an operation.
func (s *scope) describe(p *Program) {
	of := s.container.Program(p.Component, p.Operation)
	if of == nil {
		return
	}
	for _, key := range []string{"toskose_inputs", "toskose_secret_inputs", "toskose_secret_environment"} {
		if _, set := s.sec.keys[key]; set {
			s.problem(key, "%s cannot be combined with %s, which has operation %s, too", key, ContainerFile, p.Operation)
		}
	}
	p.Inputs, p.SecretInputs, p.SecretEnv = of.Inputs, of.SecretInputs, of.SecretEnvironment
}
