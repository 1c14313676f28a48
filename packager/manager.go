package packager

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"

	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/tosca"
)

// manager plans the manager's image and service.
func (p *planner) manager() {
	cfg := p.plan.Config.Manager
	t := newTree(p.archive)
	model, err := tosca.Encode(p.public())
	if err != nil {
		p.problems = append(p.problems, err)
	}
	t.data(path.Join(ManagerFolder, "app.json"), model)
	public, err := config.Encode(p.plan.Config)
	if err != nil {
		p.problems = append(p.problems, err)
	}
	t.data(path.Join(ManagerFolder, "toskose.yml"), public)
	digests, err := json.MarshalIndent(p.plan.Digests, "", "  ")
	if err != nil {
		p.problems = append(p.problems, err)
	}
	t.data(DigestsPath, append(digests, '\n'))
	base, err := cfg.Docker.Base("")
	if err != nil {
		p.report("manager.docker.base_tag: needs a base_image")
	}
	if cfg.ClientCA != "" {
		t.data(ClientCAPath, []byte(cfg.ClientCA))
		if !p.opts.TLS {
			p.report("manager.client_ca: users show their certificates by TLS only: package with --tls")
		}
	}
	s := Service{
		Name: cfg.Alias, Image: cfg.Docker.Image(), User: ManagerUser, IsManager: true, StopGrace: stopGrace(nil),
		UnitPort: cfg.Port, UnitPasswd: ManagerPassword, Health: []string{ManagerPath, "health"},
		Ports: []Port{{Container: cfg.Port, Host: cfg.Port, Protocol: "tcp"}},
		Env: map[string]string{
			"TOSKOSE_MANAGER_PORT":          strconv.Itoa(cfg.Port),
			"TOSKOSE_APP_MODE":              cfg.Mode,
			"TOSKOSE_MANAGER_USER":          cfg.User,
			"TOSKOSE_MANAGER_PASSWORD_FILE": path.Join(SecretsPath, ManagerPassword),
			"TOSKOSE_MANAGER_USERS_FILE":    path.Join(SecretsPath, ManagerUsers),
			"SECRET_KEY_FILE":               path.Join(SecretsPath, ManagerSecretKey),
			"TOSKOSE_SECRETS":               SecretsPath,
		},
	}
	p.plan.Secrets = append(p.plan.Secrets,
		Secret{Name: ManagerPassword, Given: cfg.Password}, Secret{Name: ManagerSecretKey, Given: cfg.SecretKey},
		Secret{Name: ManagerUsers, Begin: `{"users": []}`})
	for _, secret := range p.plan.Secrets {
		if !secret.Application && secret.TLS == nil {
			s.Secrets = append(s.Secrets, secret.Name)
		}
	}
	p.secure(&s, s.Name, LocalName, "127.0.0.1", "::1")
	if cfg.ClientCA != "" {
		s.Env["TOSKOSE_MANAGER_CLIENT_CA"] = ClientCAPath
	}
	if files := p.unitTLS(s.Name); files != nil {
		p.plan.Secrets = append(p.plan.Secrets, Secret{Name: TLSAuthority, TLS: &TLS{}})
		s.Env["TOSKOSE_TLS_CA"], s.Env["TOSKOSE_TLS_CERT"], s.Env["TOSKOSE_TLS_KEY"] = files.Authority, files.Cert, files.Key
		s.Env["TOSKOSE_MANAGER_TLS_CERT"], s.Env["TOSKOSE_MANAGER_TLS_KEY"] = files.Cert, files.Key
	}
	slices.Sort(s.Secrets)
	p.plan.Services = append(p.plan.Services, s)
	p.plan.Images = append(p.plan.Images, Image{
		Name: s.Image, Base: base, Labels: p.labels(""), Files: t.sorted(),
		Health: s.Health, RegistryPassword: cfg.Docker.RegistryPassword,
	})
	p.checkImageNames()
}

func (p *planner) checkImageNames() {
	seen := map[string]bool{}
	for _, i := range p.plan.Images {
		names := []string{i.Name}
		if i.Dockerfile != "" && !i.Alone() {
			names = append(names, i.Base)
		}
		for _, name := range names {
			if seen[name] {
				p.report("image %q: two containers would have this image; name them apart by docker.name or docker.tag", name)
			}
			seen[name] = true
		}
	}
}
